"""What PyTorch refuses though a definition could compute it (classes and texts: its 2.13)."""

import numpy as np
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


SHARING = {
    "in place": lambda x: x[1:].add_(x[:-1]),
    "in place, scaled": lambda x: x[1:].sub_(x[:-1], alpha=2),
    "the first of all": lambda x: x.div_(x[-1]),
    "another order": lambda x: x[:4].view(2, 2).add_(x[:4].view(2, 2).t()),
    "a copy": lambda x: x[1:].copy_(x[:-1]),
    "items": lambda x: x.__setitem__(slice(1, None), x[:-1]),
    "items by places": lambda x: x.__setitem__(weft.tensor([0, 1, 2]), x[2:5]),
    "items by their index": lambda x: x.index_copy_(0, weft.tensor([0, 1, 2]), x[2:5]),
    "three operands": lambda x: x[1:].addcmul_(x[:-1], x[1:]),
    "out=": lambda x: weft.exp(x[1:], out=x[:-1]),
    "out= of a list": lambda x: weft.cat([x[:2], x[2:4]], out=x[:4]),
    "out= of a scan": lambda x: weft.cumsum(x[1:], 0, out=x[:-1]),
}


@pytest.mark.parametrize("how", SHARING)
def test_what_is_written_is_not_read_otherwise(how):
    for call in (SHARING[how], weft.compile(SHARING[how])):
        x = weft.arange(6.0)
        text = "some elements of the input tensor and the written-to tensor refer to a single memory location"
        raises(RuntimeError, text, lambda call=call, x=x: call(x))
        assert x.tolist() == [0, 1, 2, 3, 4, 5]


def test_what_is_written_may_be_read_as_it_lies_and_next_to_it():
    def program(x):
        x.mul_(x)
        x[:3].add_(x[3:])
        x[::2].add_(x[1::2])
        x[1] = x[2]
        weft.add(x, 1, out=x)
        return x

    for call in (program, weft.compile(program, fullgraph=True)):
        assert call(weft.arange(6.0)).tolist() == [27, 39, 39, 10, 42, 26]


def test_a_tensor_that_scales_itself_in_place_has_no_gradient():
    def program(x):
        y = x * 1
        y.mul_(y)
        return y.sum()

    for call in (program, weft.compile(program)):
        x = weft.tensor([2.0, 3.0], requires_grad=True)
        raises(RuntimeError, "has been modified by an inplace operation", lambda call=call, x=x: call(x).backward())


@pytest.mark.parametrize("value", [np.ones(3), np.array(2.0), [1, 2, 3], (1, 2, 3), None, "a", range(3), object])
def test_items_are_tensors_and_numbers(value):
    kind = type(value).__name__
    for key in (slice(None), 0, weft.tensor([True, False, True]), weft.tensor([0, 1, 2])):
        function = lambda x, key=key: x.__setitem__(key, value)
        for call in (function, weft.compile(function)):
            raises(TypeError, f"can't assign a (numpy.)?{kind} to a weft.FloatTensor", lambda call=call: call(weft.zeros(3)))


TENSORS_ALONE = "maximum minimum fmax fmin atan2 arctan2 hypot nextafter logical_and logical_or logical_xor".split()


@pytest.mark.parametrize("name", TENSORS_ALONE)
def test_some_operands_are_tensors_alone(name):
    op = getattr(weft, name)
    raises(TypeError, "must be Tensor, not int", lambda: op(weft.ones(2), 2))
    raises(TypeError, "must be Tensor, not int", lambda: op(2, weft.ones(2)))
    raises(TypeError, "must be Tensor, not int", lambda: weft.compile(op)(weft.ones(2), 2))
    assert op(weft.ones(2), weft.tensor(2)).shape == (2,)


def test_bounds_are_all_numbers_or_all_tensors():
    text = r"invalid combination of arguments - got \(Tensor, min=int, max=Tensor\)"
    for call in (lambda x: x.clamp(1, weft.ones(2)), weft.compile(lambda x: x.clamp(1, weft.ones(2)))):
        raises(TypeError, text, lambda call=call: call(weft.ones(2)))


def test_what_elements_of_a_batch_have_no_single_value_for_is_a_runtime_error():
    for function in (lambda v: v.sum().item(), lambda v: v if v.sum() > 0 else -v):
        with pytest.raises(RuntimeError, match="vmap: It looks like you're") as raised:
            weft.vmap(function)(weft.ones(2, 3))
        assert raised.type is RuntimeError


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge", "greater", "not_equal", "fmod", "copysign"])
def test_a_number_does_not_stand_first(name):
    """Of those alone that PyTorch has no overload for; `2 < x` and `2 % x` are other calls."""
    x = weft.tensor([1.0, 2.0, 3.0])
    raises(TypeError, r"\(\): argument 'input' \(position 1\) must be Tensor, not int", lambda: getattr(weft, name)(2, x))
    raises(TypeError, "must be Tensor, not int", lambda: weft.vmap(getattr(weft, name), (None, 0))(2, x))
    assert getattr(weft, name)(x, 2).shape == (3,)
    assert (2 < x).tolist() == [False, False, True] == weft.compile(lambda x: 2 < x)(x).tolist()


F = weft.nn.functional
WINDOWS = [
    (lambda: F.max_pool1d(weft.ones(0, 1, 49), 2, 50, -1), r"max_pool1d\(\) padding must be non-negative, but got -1"),
    (lambda: F.max_pool1d(weft.ones(1, 1, 49), 2, 50, -1, return_indices=True), "pad must be non-negative, but got pad: -1"),
    (lambda: F.avg_pool1d(weft.ones(1, 1, 49), 2, 50, -1), "pad must be non-negative, but got pad: -1"),
    (lambda: F.max_pool2d(weft.ones(1, 1, 9, 9), 2, 5, -1), "pad must be non-negative, but got pad: -1"),
    (lambda: F.avg_pool2d(weft.ones(1, 1, 9, 9), 2, 5, (0, -1)), "pad must be non-negative, but got pad: -1"),
    (lambda: F.avg_pool3d(weft.ones(0, 1, 9, 9, 9), 2, 5, -1), "pad must be non-negative, but got pad: -1"),
    (lambda: F.max_pool1d(weft.ones(1, 1, 49), 2, 50, 2), r"max_pool1d\(\) padding should be at most half of kernel size"),
    (lambda: F.max_pool1d(weft.ones(1, 1, 49), 2, 0), r"max_pool1d\(\) stride must be greater than zero, but got 0"),
    (lambda: F.max_pool2d(weft.ones(1, 1, 9, 9), 2, 0), "stride should not be zero"),
    (lambda: F.avg_pool2d(weft.ones(1, 1, 9, 9), (0, 2), 1), "kernel size should be greater than zero, but got kH: 0 kW: 2"),
    (lambda: F.avg_pool1d(weft.ones(1, 1, 9), 0, 1), "kernel size should be greater than zero, but got kH: 1 kW: 0"),
    (lambda: F.max_pool3d(weft.ones(1, 1, 9, 9, 9), -1), "kernel size should be greater than zero, but got kT: -1 kH: -1 kW: -1"),
]


@pytest.mark.parametrize("case", range(len(WINDOWS)))
def test_windows_that_are_none(case):
    raises(RuntimeError, WINDOWS[case][1], WINDOWS[case][0])


def test_indices_of_32_bits_where_64_are_asked_for():
    x, i = weft.ones(3), weft.tensor([1], dtype=weft.int32)
    raises(RuntimeError, r"take\(\): Expected a long tensor for index, but got Int", lambda: x.take(i))
    raises(RuntimeError, r"put_\(\): Expected a long tensor for index, but got Int", lambda: x.put_(i, weft.ones(1)))
    raises(RuntimeError, r"index_copy_\(\): Expected a long tensor for index", lambda: x.index_copy(0, i, weft.ones(1)))
    raises(RuntimeError, "dtype of indices should be Long but got Int", lambda: weft.take_along_dim(x, i, 0))
    raises(IndexError, r"index_fill_\(\): Expected dtype int64 for index", lambda: x.index_fill(0, i, 1))
    assert x.gather(0, i).tolist() == [1] == x.index_select(0, i).tolist()


def test_a_value_to_fill_with_fits():
    whole, mask = weft.ones(2, dtype=weft.int64), weft.tensor(True)
    overflow = "value cannot be converted to type .* without overflow"
    raises(RuntimeError, overflow, lambda: whole.masked_fill(mask, weft.tensor(1j)))
    raises(RuntimeError, overflow, lambda: weft.ones(2).masked_fill_(mask, weft.tensor(1j)))
    raises(RuntimeError, overflow, lambda: whole.to(weft.uint8).masked_fill(mask, weft.tensor(300)))
    raises(RuntimeError, overflow, lambda: weft.vmap(whole.masked_fill)(weft.ones(3, dtype=weft.bool), weft.full((3,), 1j)))
    assert weft.ones(2).masked_fill(mask, weft.tensor(2 + 0j)).tolist() == [2, 2]


@pytest.mark.parametrize(
    ("dtype", "ends", "text"),
    [
        ("uint8", (0, 300), "to - 1 is out of bounds for unsigned char"),
        ("int8", (-129, 3), "from is out of bounds for signed char"),
        ("bool", (5,), "to - 1 is out of bounds for bool"),
        ("float16", (0, 65600), "to - 1 is out of bounds for c10::Half"),
        ("int16", (70_000,), "to - 1 is out of bounds for short int"),
    ],
)
def test_random_integers_are_those_of_the_dtype(dtype, ends, text):
    for f in (lambda x: x.random_(*ends), weft.compile(lambda x: x.random_(*ends))):
        x = weft.zeros(3, dtype=getattr(weft, dtype))
        with pytest.raises(RuntimeError, match=text):
            f(x)
        assert not x.any()
    assert weft.zeros(1000, dtype=weft.uint8).random_(0, 256).max() > 200
    with pytest.warns(UserWarning, match=r"to - 1 is out of bounds \[-\(2\^24\), 2\^24\]"):
        weft.zeros(2).random_(0, 2**40)
    for other in (weft.complex64, weft.float8_e5m2):
        with pytest.raises(NotImplementedError, match="random_kernel_cpu"):
            weft.zeros(2, dtype=other).random_()
    for other in (weft.int32, weft.bool, weft.float8_e4m3fn):
        with pytest.raises(NotImplementedError, match="check_uniform_bounds"):
            weft.zeros(2, dtype=other).uniform_()


@pytest.mark.parametrize(
    ("dtype", "ends", "text"),
    [
        ("float32", (0, float("inf")), "to is out of bounds for float"),
        ("float16", (-70_000, 0), "from is out of bounds for c10::Half"),
        ("float32", (-3e38, 3e38), "to-from <= std::numeric_limits<Float>::max"),
        ("float64", (2, 1), r"uniform_ expects to return a \[from, to\) range"),
    ],
)
def test_ends_of_uniform_numbers_are_numbers_of_the_dtype(dtype, ends, text):
    with pytest.raises(RuntimeError, match=text):
        weft.zeros(3, dtype=getattr(weft, dtype)).uniform_(*ends)


def test_gradient_and_reflections_look_at_their_arguments():
    y, a = weft.arange(20.0).reshape(5, 4), weft.randn(3, 2)
    for order in (0, 3):
        with pytest.raises(RuntimeError, match="torch.gradient only supports edge_order=1 and edge_order=2."):
            weft.gradient(y, edge_order=order)
    with pytest.raises(RuntimeError, match="dim 0 appears multiple times in the list of dims"):
        weft.gradient(y, dim=(0, -2))
    with pytest.raises(IndexError, match="Dimension out of range"):
        weft.gradient(y, dim=5)
    with pytest.raises(RuntimeError, match="tau dtype Float does not match input dtype Double"):
        weft.linalg.householder_product(a.double(), weft.ones(2))
    with pytest.raises(RuntimeError, match="Expected input and other to have the same dtype"):
        weft.ormqr(a, weft.ones(2), weft.ones(3, 2).double())
