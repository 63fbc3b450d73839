"""Answers at edges, as PyTorch 2.13 gives them."""

import subprocess
import sys

import pytest

import weft

inf, nan = float("inf"), float("nan")
F = weft.nn.functional

VALUES = [
    ("F.softmax(weft.tensor(-inf), 0)", [nan]),
    ("F.softmax(weft.tensor(3.0), 0)", [1.0]),
    ("F.log_softmax(weft.tensor(inf), 0)", [nan]),
    ("weft.angle(weft.tensor([-0.0, -1.0, nan]))", [0.0, 3.1415927410125732, nan]),
    ("weft.ones(2).add(1, 2)", [3.0, 3.0]),
    ("weft.sub(weft.ones(2), 1, 2)", [-1.0, -1.0]),
    ("weft.rsub(weft.ones(2), 1, 2)", [-1.0, -1.0]),
    ("weft.tensor([nan, -nan, inf]).to(weft.float8_e5m2).view(weft.uint8)", [127, 255, 124]),
    ("weft.ones(0).norm(1)", [0.0]),
    ("weft.ones(0, 3).norm(inf, dim=1)", []),
    ("weft.full((2,), 1.5, out=weft.empty(0, dtype=weft.int64))", [1, 1]),
    ("weft.linspace(0, 1, 3, out=weft.empty(0, dtype=weft.uint8))", [0, 0, 1]),
    ("weft.eye(1, out=weft.empty(0, dtype=weft.bool))", [1]),
    ("weft.sum(weft.ones(2), 0, out=weft.empty(0, dtype=weft.float64))", [2.0]),
    ("weft.any(weft.ones(2), 0, out=weft.empty(0, dtype=weft.uint8))", [1]),
]

ERRORS = [
    ("weft.ones(0).norm(inf)", RuntimeError, "cannot compute the inf norm on an empty tensor"),
    ("weft.ones(3, 0).norm(inf, dim=1)", RuntimeError, "cannot compute the inf norm on the dimension 1"),
    ("weft.ones(0).norm(-1)", RuntimeError, "cannot compute the -1 norm"),
    ("weft.argmax(weft.ones(2), out=weft.empty(0))", RuntimeError, "Expected out tensor to have dtype Long"),
    ("weft.mm(weft.ones(2, 2), weft.ones(2, 2), out=weft.empty(0, dtype=weft.float64))", RuntimeError, "Expected out tensor"),
    ("weft.any(weft.ones(2), 0, out=weft.empty(0))", RuntimeError, "only supports bool tensor for result"),
    ("weft.heaviside(weft.ones(1, requires_grad=True), weft.ones(1)).backward()", RuntimeError, "derivative for aten::heaviside"),
    ("weft.igamma(weft.ones(1, requires_grad=True), weft.ones(1)).backward()", NotImplementedError, "for .igamma: input. is not"),
]


def run(program):
    return eval(program, {"weft": weft, "F": F, "inf": inf, "nan": nan})


@pytest.mark.parametrize("program, wanted", VALUES)
def test_values(program, wanted):
    made = run(program).reshape(-1).double()
    weft.testing.assert_close(made, weft.tensor(wanted, dtype=weft.float64), equal_nan=True)


@pytest.mark.parametrize("program, error, text", ERRORS)
def test_errors(program, error, text):
    with pytest.raises(error, match=text) as caught:
        run(program)
    assert caught.type is error


@pytest.mark.parametrize("program, error, text", [row for row in ERRORS if "out=" in row[0]])
def test_errors_of_compiled_calls(program, error, text):
    with pytest.raises(error, match=text):
        weft.compile(lambda: run(program), backend="aot_eager")()
    f = weft.compile(lambda x, out: weft.mm(x, x, out=out), backend="aot_eager")
    with pytest.raises(RuntimeError, match="Expected out tensor"):
        f(weft.ones(2, 2), weft.ones(2, 2, dtype=weft.float64))


@pytest.mark.parametrize("program", ["x.polygamma(1)", "x.diag().slogdet()[1]", "weft.autograd.grad(x.digamma().sum(), x)[0]"])
def test_methods_whose_families_are_loaded_on_demand(program):
    code = f"import weft\nx = weft.full((1,), 2.5, requires_grad=True)\nprint(round({program}.item(), 4))"
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(made.stdout) == (0.9163 if "slogdet" in program else 0.4904)


def told_plain_and_compiled(f, *args):
    """What f answers, and answers when it is compiled, which is the same."""
    answers = []
    for run in (f, weft.compile(f, backend="aot_eager"), weft.compile(f)):
        given = [a.detach().clone().requires_grad_(a.requires_grad) for a in args]
        found = run(*given)
        if found.requires_grad:
            found.sum().backward()
            found = given[0].grad
        answers.append((found.dtype, tuple(found.shape), found.stride(), repr(found.tolist())))
    assert answers[0] == answers[1] == answers[2]
    return found.tolist()


def test_numbers_over_complex_tensors_are_multiples_of_reciprocals():
    over = lambda x: 2 / x
    assert repr(told_plain_and_compiled(over, weft.tensor([0j, 1j]))) == "[(nan+nanj), -2j]"


@pytest.mark.parametrize("name", ["max", "min"])
def test_the_gradient_of_an_extreme_of_all_is_shared_by_its_nans(name):
    x = weft.tensor([1.0, nan, 3.0, nan], requires_grad=True)
    assert told_plain_and_compiled(lambda x: getattr(x, name)(), x) == [0, 0.5, 0, 0.5]
    x = weft.tensor([[2.0, 2.0], [2.0, 2.0]], requires_grad=True)
    assert told_plain_and_compiled(lambda x: getattr(x, name)(), x) == [[0.25, 0.25]] * 2
    twice = lambda x: getattr(x * x, name)()
    assert weft.autograd.gradcheck(twice, weft.randn(3, 2, dtype=weft.float64, requires_grad=True))
    assert weft.autograd.gradgradcheck(twice, weft.randn(3, 2, dtype=weft.float64, requires_grad=True))


@pytest.mark.filterwarnings("ignore:std and var")
@pytest.mark.parametrize("correction", [3, 4])
def test_the_slope_of_a_variance_of_too_few_elements(correction):
    x = weft.tensor([1.0, 2.0, 3.0], requires_grad=True)
    assert repr(told_plain_and_compiled(lambda x: x.var(correction=correction), x)) == repr([inf, nan, inf])
    assert repr(told_plain_and_compiled(lambda x: weft.var_mean(x, correction=correction)[0], x)) == repr([inf, nan, inf])
    assert repr(told_plain_and_compiled(lambda x: x.std(correction=correction), x)) == repr([nan] * 3)
    assert weft.var(x, correction=correction, keepdim=True).tolist() == [inf]


def test_copies_of_pieces_into_given_tensors_answer_nothing():
    outs = [weft.empty(2), weft.empty(2)]
    assert weft.unbind_copy(weft.arange(4.0).reshape(2, 2), out=outs) is None and outs[1].tolist() == [2, 3]
    assert weft.split_copy(weft.arange(4.0), 2, out=outs) is None and outs[1].tolist() == [2, 3]


@pytest.mark.parametrize("dtype", [weft.int64, weft.bool])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_of_nothing_takes_integers(name, dtype):
    assert told_plain_and_compiled(lambda x: getattr(weft, name)(x, -1), weft.empty(2, 0, dtype=dtype)) == [[], []]
    with pytest.raises(NotImplementedError, match="not implemented for"):
        getattr(weft, name)(weft.ones(2, dtype=dtype), 0)


def test_layouts_of_powers_of_a_number_and_of_coordinates():
    x = weft.arange(6.0).reshape(2, 3).t()
    for of_number in (lambda x: 2**x, lambda x: weft.pow(2.5, x), lambda x: 2 ** x.long()):
        told_plain_and_compiled(of_number, x)
        assert of_number(x).stride() == (2, 1)
    assert (x**2).stride() == (2 - x).stride() == (2 % x).stride() == (1, 3)
    for coordinates in (weft.nonzero, weft.argwhere, weft.compile(weft.nonzero), weft.compile(weft.nonzero, fullgraph=True)):
        for given in (x, x > 0, x.contiguous() > 0):
            found = coordinates(given)
            assert found.stride() == (1, 5) and found.tolist() == [[0, 1], [1, 0], [1, 1], [2, 0], [2, 1]]


def test_alpha_counts_in_the_dtype_of_the_sum():
    truth, numbers = weft.tensor([True, False]), weft.arange(2)
    found = [weft.add(truth, other, alpha=2) for other in (1, 1.5, True, truth, 1j)]
    assert [x.tolist() for x in found] == [[3, 2], [4.0, 3.0], [True, True], [True, False], [1 + 2j, 2j]]
    assert [x.dtype for x in found] == [weft.int64, weft.float32, weft.bool, weft.bool, weft.complex64]
    assert weft.add(numbers, 1.5, alpha=2.5).tolist() == [3.75, 4.75]
    for other in (True, truth):
        with pytest.raises(RuntimeError, match="Subtraction, the `-` operator, with a bool tensor"):
            weft.sub(numbers, other, alpha=2)


@pytest.mark.parametrize("value", [-2.5, -1.0, -0.5, 256.0])
def test_floats_below_zero_are_no_bytes(value):
    x = weft.zeros(2, dtype=weft.uint8)
    for fill in (
        lambda: weft.full((1,), value, dtype=weft.uint8),
        lambda: x.masked_fill(x == 0, value),
        lambda: weft.full_like(x, value),
        lambda: weft.tensor(value, dtype=weft.uint8),
        lambda: weft.addcmul(x, x, x, value=value),
    ):
        with pytest.raises(RuntimeError, match="value cannot be converted to type uint8_t without overflow"):
            fill()
    assert weft.full((1,), -1, dtype=weft.uint8).tolist() == [255]


def test_a_factor_of_integers_is_one():
    x = weft.arange(3)
    assert weft.addcmul(x, x, x, value=1.5).tolist() == x.clone().addcmul_(x, x, value=1.9).tolist() == [0, 2, 6]
    assert weft.addcmul(x, x, x, value=2.0).dtype is weft.int64
    assert weft.addcmul(x.float(), x, x, value=1.5).tolist() == [0, 2.5, 8]


def test_to_a_format_that_the_dims_have_already_is_the_tensor():
    x = weft.arange(64.0).reshape(2, 2, 4, 4)
    parts = x[:, :, :3], x.to(memory_format=weft.channels_last)[:, :, 1:]
    for part, kept, other in zip(parts, (weft.contiguous_format, weft.channels_last), (weft.channels_last, weft.contiguous_format)):
        assert part.to(memory_format=kept) is part and part.to(weft.float32, memory_format=kept) is part
        assert part.to(memory_format=other).is_contiguous(memory_format=other)
        assert part.double().to(weft.float32, memory_format=kept).is_contiguous(memory_format=kept)


def test_the_classes_of_errors_of_indices_out_of_range():
    x, out_of_range = weft.ones(3, 2), weft.tensor([9])
    for run in (lambda f: f, weft.compile):
        with pytest.raises(IndexError, match="index out of range in self"):
            run(lambda x, i: x.index_select(0, i))(x, out_of_range)
        with pytest.raises(RuntimeError, match="INDICES element is out of DATA bounds, id=9 axis_dim=2"):
            run(lambda x, i: x.index_select(1, i))(x, out_of_range)
        with pytest.raises(RuntimeError, match="embedding_bag: Expected idx"):
            run(lambda x, i: F.embedding_bag(i, x, weft.tensor([0])))(x, out_of_range)


@pytest.mark.parametrize("dtype", [weft.float32, weft.bool])
def test_places_of_nothing_lie_as_places_do(dtype):
    x = weft.zeros(3, 2, dtype=dtype)
    for f in (lambda x: x.nonzero(), weft.compile(lambda x: x.nonzero(), fullgraph=True)):
        assert f(x).shape == (0, 2) and f(x).stride() == (1, 0)
