"""What PyTorch refuses though a definition could compute it (classes and texts: its 2.13)."""

import pytest

import aten
import weft


def raises(kind, text, call):
    with pytest.raises(kind, match=text):
        call()


def test_an_order_of_a_norm_has_no_gradient():
    x, p = weft.tensor([1.0, 2.0, 3.0], requires_grad=True), weft.tensor(3.0, requires_grad=True)
    raises(TypeError, "argument 'ord' .* must be Number, not Tensor", lambda: x.norm(p))
    assert x.norm(weft.tensor(3.0)).item() == x.norm(3.0).item()


@pytest.mark.parametrize("dtype,name", [(aten.float32, "Float"), (aten.int32, "Int")])
def test_float_power_in_place_needs_a_double(dtype, name):
    text = f"the base given to float_power_ has dtype {name} but the operation's result requires dtype Double"
    raises(RuntimeError, text, lambda: weft.ones(3, dtype=dtype).float_power_(2))
    raises(RuntimeError, text, lambda: weft.compile(lambda x: x.float_power_(2))(weft.ones(3, dtype=dtype)))


def test_float_power_in_place_of_what_it_takes():
    assert weft.tensor([2.0, 3.0], dtype=aten.float64).float_power_(2).tolist() == [4, 9]
    x = weft.ones(3, dtype=aten.float64)
    raises(RuntimeError, "dtype Double but .* requires dtype ComplexDouble", lambda: x.float_power_(2j))


def test_a_diagonal_is_filled_with_a_number():
    x = weft.ones(2, 2)
    text = r"fill_diagonal_\(\): argument 'fill_value' \(position 1\) must be Number, not str"
    raises(TypeError, text, lambda: x.fill_diagonal_("a"))
    raises(TypeError, "must be Number, not Tensor", lambda: x.fill_diagonal_(weft.ones(2)))
    assert x.fill_diagonal_(weft.tensor(3.0)).tolist() == [[3, 1], [1, 3]]


def test_heaviside_has_no_derivative():
    x, values = weft.tensor([1.0, 0.0, -3.0], requires_grad=True), weft.full((3,), 0.5, requires_grad=True)
    step = weft.heaviside(x, values)
    assert step.requires_grad and step.tolist() == [1, 0.5, 0]
    text = "derivative for aten::heaviside is not implemented"
    raises(RuntimeError, text, step.sum().backward)
    raises(RuntimeError, text, lambda: weft.func.jvp(weft.heaviside, (x, values), (x, x)))
    assert weft.compile(weft.heaviside)(x.detach(), values.detach()).tolist() == [1, 0.5, 0]


@pytest.mark.parametrize("dtype", [aten.float32, aten.int16, aten.bool])
def test_counts_of_repeats_are_of_32_or_64_bits(dtype):
    counts = weft.tensor([1, 0]).to(dtype)
    for call in (lambda: weft.repeat_interleave(counts), lambda: weft.repeat_interleave(weft.ones(2), counts)):
        raises(NotImplementedError, "counts of int64 or int32", call)


def test_whether_gradients_are_required_is_a_bool_compiled_too():
    function = lambda x: x.requires_grad_("x")
    for call in (function, weft.compile(function)):
        raises(TypeError, "must be bool, not str", lambda call=call: call(weft.zeros(2)))


def test_mapped_tensors_are_expandable_to_the_first():
    x = weft.zeros(2)
    with pytest.raises(RuntimeError, match="cannot be expanded"):
        x.map_(weft.zeros(3, 2), lambda a, b: b)
    assert x.map_(weft.ones(1), lambda a, b: b).tolist() == [1.0, 1.0]
