"""The native path of an op equals its general path: values, dtype, layout, history and gradients."""

import itertools
import math

import numpy as np
import pytest

import aten
from aten import _native
from aten import dtype as dtypes
from aten.op import registry
from tests.aten.native.oracle import general

rng = np.random.default_rng(0)
FLOATS = ("float32", "float64", "bfloat16", "float16")
ALL = (*FLOATS, "int64", "int32", "uint8", "bool")
FUNCTIONS = {n: arity for n, arity in _native.pointwise_rows() if n in registry}


def make(sizes, dtype="float32", layout="plain", low=-2.0, high=3.0):
    """A tensor of random values; `layout`: plain, transposed, or strided (every second element)."""
    if layout == "transposed":
        return make(sizes[::-1], dtype, low=low, high=high).permute(list(range(len(sizes)))[::-1]).detach()
    if layout == "strided":
        return make((*sizes[:-1], 2 * sizes[-1]), dtype, low=low, high=high)[..., ::2].detach()
    values = rng.uniform(low, high, sizes)
    return aten.from_numpy(np.asarray(values)).to(getattr(dtypes, dtype))


def same(a, b, tolerance=0.0):
    if isinstance(a, (tuple, list)):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y, tolerance)
        return
    assert (a.dtype, tuple(a.shape), a.stride()) == (b.dtype, tuple(b.shape), b.stride())
    wide = np.complex128 if a.is_complex() else np.float64
    x, y = (np.asarray(t.detach()).astype(wide) for t in (a, b))
    np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def agree(name, args, kwargs=None, tolerance=0.0):
    """Both paths give the same, or raise the same class of error with the same words."""
    op, kwargs = registry[name], kwargs or {}
    try:
        expected = general(op, args, kwargs)
    except Exception as error:
        with pytest.raises(type(error)) as raised:
            op(*args, **kwargs)
        assert str(raised.value) == str(error)
        return
    same(op(*args, **kwargs), expected, tolerance)


def tolerance_of(dtype):
    return {"float32": 4e-6, "float64": 1e-13, "bfloat16": 2e-2, "float16": 4e-3}.get(dtype, 0.0)


@pytest.mark.parametrize("name", [n for n, arity in FUNCTIONS.items() if arity == 1 and n != "gelu"])
def test_unary(name):
    low, high = {
        "acosh": (1.0, 3.0),
        "lgamma": (0.5, 3.0),
        "digamma": (0.5, 3.0),
        "erfinv": (-0.9, 0.9),
        "atanh": (-0.9, 0.9),
        "asin": (-1.0, 1.0),
        "acos": (-1.0, 1.0),
    }.get(name, (0.1, 3.0) if "log" in name or "sqrt" in name else (-2.0, 3.0))
    for dtype in ALL:
        for layout in ("plain", "transposed", "strided"):
            agree(name, (make((3, 5), dtype, layout, low, high),), tolerance=tolerance_of(dtype) or 4e-6)
    agree(name, (make((), "float32", low=low, high=high),), tolerance=4e-6)
    agree(name, (make((0, 2)),))


@pytest.mark.parametrize("name", [n for n, arity in FUNCTIONS.items() if arity == 2])
def test_binary(name):
    low, high = (0.5, 3.0) if name in ("pow", "fmod", "remainder", "floor_divide") else (-2.0, 3.0)
    for a, b in itertools.product(ALL, ALL):
        if "shift" in name and "int" not in a + b:
            continue
        agree(
            name,
            (make((3, 4), a, low=low, high=high), make((4,), b, low=max(low, 0.6), high=high)),
            tolerance=max(tolerance_of(a), tolerance_of(b), 4e-6 if "int" in a + b or "bool" in a + b else 0),
        )
    x = make((3, 4), low=low, high=high)
    for layout in ("plain", "transposed", "strided"):
        agree(name, (x, make((3, 4), "float32", layout, 0.5, 3.0)), tolerance=4e-6)
    for number in (2, 1.5, True, -1, 2**40):
        for dtype in ("float32", "int32", "bfloat16", "bool"):
            agree(name, (make((5,), dtype, low=1.0, high=3.0), number), tolerance=max(tolerance_of(dtype), 4e-6))
            agree(name, (number, make((5,), dtype, low=1.0, high=3.0)), tolerance=max(tolerance_of(dtype), 4e-6))
    agree(name, (x, make((), "float64", low=1.0)), tolerance=4e-6)
    agree(name, (x, make((2, 3))))  # sizes that do not broadcast


@pytest.mark.parametrize("name", ["add_", "sub_", "mul_", "div_", "bitwise_and_", "floor_divide_"])
def test_inplace_binary(name):
    for a, b in itertools.product(("float32", "int64", "bool", "bfloat16"), ("float32", "int64", "bool")):
        x, y = make((3, 4), a, low=1.0), make((4,), b, low=1.0)
        first, second = x.clone(), x.clone()
        try:
            general(registry[name], (first, y), {})
        except Exception as error:
            with pytest.raises(type(error)):
                registry[name](second, y)
            continue
        assert registry[name](second, y) is second
        assert second._version == first._version == 1
        same(second, first, tolerance=max(tolerance_of(a), tolerance_of(b)))
    x = aten.arange(6.0)
    with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor refer to a single memory"):
        registry[name](x[1:], x[:-1])
    assert x.tolist() == [0, 1, 2, 3, 4, 5]
    x[::2].add_(x[1::2])  # (with gaps: whether they meet is not asked)
    assert x.tolist() == [1, 1, 5, 3, 9, 5]


REDUCED = [
    ((2, 3, 4), None),
    ((2, 3, 4), 1),
    ((2, 3, 4), -1),
    ((2, 3, 4), 0),
    ((2, 3, 4), (0, 2)),
    ((2, 3, 4), (0, 1)),
    ((5,), 0),
    ((), None),
    ((), 0),
    ((1, 1), None),
    ((300, 70), 0),
    ((70, 300), 1),
    ((2, 3, 4, 5), (1, 3)),
    ((0, 3), 0),
    ((3, 0), 0),
]


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "amax", "amin", "any", "all"])
def test_reductions(name):
    for (sizes, dim), dtype, keepdim in itertools.product(
        REDUCED, ("float32", "float64", "bfloat16", "int32", "bool", "uint8"), (False, True)
    ):
        for layout in ("plain", "transposed"):
            x = make(sizes, dtype, layout, 0.5, 1.2)
            agree(
                name,
                (x,) if dim is None else (x, dim, keepdim),
                {"keepdim": keepdim} if dim is None else {},
                tolerance=max(20 * tolerance_of(dtype), 0),
            )
    agree(name, (make((2, 3)), 5))
    agree(name, (make((2, 3)), (0, 0)))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_arg_extremes(name):
    for dtype, layout in itertools.product(("float32", "float64", "int64", "uint8", "bfloat16", "bool"), ("plain", "transposed")):
        x = make((3, 4, 5), dtype, layout, 0.0, 6.0)
        for args in ((x,), (x, 1), (x, -1, True), (x, 0), (x, None, True), (x, 3)):
            agree(name, args)
    agree(name, (aten.tensor([1.0, float("nan"), 3.0, float("nan")]),))
    agree(name, (make(()),))
    agree(name, (make((0,)),))


def test_creation():
    for size in ((2, 3), (0,), (), (70000,)):
        for kwargs in (
            {},
            {"dtype": dtypes.int32},
            {"dtype": dtypes.bfloat16, "device": aten.device("cpu")},
            {"requires_grad": False},
        ):
            for name in ("zeros", "ones"):
                agree(name, (size,), kwargs)
                agree("new_" + name, (make((2,), "float64"), size), kwargs)
                agree(name + "_like", (make(size, "float64"),), kwargs)
            for value in (3, 2.5, True, -1, 300):
                agree("full", (size, value), kwargs)
                agree("full_like", (make(size, "float64"), value), kwargs)
            assert registry["empty"](size, **kwargs).shape == size
    agree("zeros", (2, 3))
    agree("ones", (-1,))
    agree("zeros", (2,), {"requires_grad": True})
    agree("full", ((2,), 300), {"dtype": dtypes.uint8})
    agree("full", ((2,), 2.5), {"dtype": dtypes.int64})
    for args in ((5,), (2, 7), (1, 10, 3), (3, 3), (0,), (5, 1), (10, 0, -3), (1.0, 2.0, 0.5), (3, 9, 0)):
        for kwargs in ({}, {"dtype": dtypes.float32}, {"dtype": dtypes.int64}):
            agree("arange", args, kwargs)


def test_a_long_sum_is_the_same_for_any_number_of_threads():
    x = make((1_000_003,), low=0.0, high=1.0)
    before = _native.get_num_threads()
    try:
        _native.set_num_threads(1)
        one = x.sum().item()
        _native.set_num_threads(2)
        assert x.sum().item() == one
        assert abs(one - float(np.asarray(x).astype(np.float64).sum())) < 1
    finally:
        _native.set_num_threads(before)


VIEWS = [
    ("view", ((4, 6),)),
    ("view", (-1,)),
    ("view", (2, 2, -1)),
    ("view", ((5, 5),)),
    ("reshape", ((3, 8),)),
    ("reshape", (-1, 12)),
    ("permute", ((1, 0, 2),)),
    ("permute", (2, 0, 1)),
    ("permute", ((0, 0, 1),)),
    ("transpose", (0, -1)),
    ("transpose", (0, 3)),
    ("unsqueeze", (1,)),
    ("unsqueeze", (-1,)),
    ("unsqueeze", (7,)),
    ("squeeze", ()),
    ("squeeze", (0,)),
    ("squeeze", ((0, 1),)),
    ("expand", ((5, 2, 3, 4),)),
    ("expand", (2, 3, -1)),
    ("expand", ((2, 3, 5),)),
    ("flatten", ()),
    ("flatten", (1,)),
    ("flatten", (0, 1)),
    *(("diagonal", rest) for rest in ((), (1, 0, -1), (-2, 2, 1), (9,), (0, 1, 1))),
    *(("unfold", rest) for rest in ((1, 2, 1), (-1, 2, 2), (0, 9, 1), (0, 1, 0))),
    ("select", (1, 2)),
    ("select", (-1, -1)),
    ("select", (0, 2)),
    ("slice", (1, 0, 2)),
    ("slice", (2, 1, None, 2)),
    ("slice", (0, 5, 2)),
    ("narrow", (1, 1, 2)),
    ("narrow", (1, 2, 2)),
    ("split", (2, 1)),
    ("split", ([1, 2], 1)),
    ("split", ([1, 1], 1)),
    ("chunk", (3, 2)),
    ("chunk", (2, 1)),
    ("unbind", ()),
    ("unbind", (-1,)),
    *(
        ("as_strided", rest)
        for rest in (((2, 2), (1, 2)), ((3,), (0,), 1), ((), ()), ((2, 0), (9, 9)), ((30,), (1,)), ((2,), (-1,)), ((2,), (1,), -1))
    ),
    ("alias", ()),
    ("clone", ()),
    ("contiguous", ()),
    ("t", ()),
]


@pytest.mark.parametrize("name, args", VIEWS)
def test_views(name, args):
    for layout in ("plain", "transposed", "strided"):
        x = make((2, 3, 4), "float32", layout)
        agree(name, (x, *args))
    agree(name, (make((1, 3)), *args))
    agree(name, (make(()), *args))
    x = make((2, 3, 4)).requires_grad_()
    try:
        expected = general(registry[name], (x, *args), {})
    except (RuntimeError, IndexError):
        return
    for a, b in zip(*[r if isinstance(r, tuple) else (r,) for r in (registry[name](x, *args), expected)]):
        if a is x:
            continue
        assert a.grad_fn.name() == b.grad_fn.name() or name in ("split", "chunk", "unbind")
        weights = make(tuple(a.shape))
        (ga,), (gb,) = (aten.autograd.grad(t, (x,), (weights,)) for t in (a, b))
        same(ga.contiguous(), gb.contiguous())
        if a._view_of is not None:
            assert a._base is b._base and a._view_of[1:] == b._view_of[1:]


def test_views_of_complex_numbers():
    for real, of_pairs in (("float32", "complex64"), ("float64", "complex128")):
        for layout in ("plain", "transposed", "strided"):
            z = make((2, 3, 4), of_pairs, layout)
            agree("view_as_real", (z,))
            agree("view_as_complex", (make((3, 4, 2), real, layout),))
            agree("as_strided", (z, (2, 2), (1, 3), 1))
        pairs = make((3, 4, 2), real)
        for odd in (
            pairs.transpose(0, 1),
            pairs[:, 1:],
            pairs.flatten()[1:-1].view(-1, 2),
            pairs.flatten(1)[:, 1:3],
            pairs[..., :1],
            pairs[0, 0, 0],
        ):
            agree("view_as_complex", (odd,))
        z = registry["view_as_complex"](pairs)
        assert z.data_ptr() == pairs.data_ptr() and z._view_of[0] is pairs
        z.mul_(2)
        assert pairs._version == z._version == 1
        leaf = pairs.clone().requires_grad_()
        registry["view_as_complex"](leaf).abs().sum().backward()
        np.testing.assert_allclose(np.asarray(leaf.grad), np.asarray(pairs / pairs.norm(dim=-1, keepdim=True)), rtol=1e-5)
    agree("view_as_real", (make((2,)),))
    agree("view_as_complex", (make((2,)).to(aten.dtype.int64),))


KEYS = [
    0,
    -1,
    slice(1, 3),
    slice(None),
    slice(None, None, 2),
    None,
    Ellipsis,
    (0, 1),
    (slice(None), 2),
    (..., 1),
    (None, ..., None),
    (1, ..., slice(0, 2)),
    (slice(5, 1),),
    (slice(-2, None), None, 0),
    7,
    (0, 0, 0, 0),
    ([0, 1],),
    slice(None, None, -1),
    True,
]


@pytest.mark.parametrize("key", KEYS)
def test_getitem(key):
    for layout in ("plain", "transposed"):
        agree("getitem", (make((4, 3, 5), "float32", layout), key))


@pytest.mark.parametrize(
    "a, b",
    [
        ((3, 4), (4, 5)),
        ((2, 3, 4), (4, 5)),
        ((2, 3, 4), (2, 4, 5)),
        ((1, 3, 4), (6, 4, 5)),
        ((4,), (4,)),
        ((3, 4), (4,)),
        ((4,), (4, 5)),
        ((2, 1, 3, 4), (5, 4, 2)),
        ((3, 4), (5, 6)),
        ((0, 4), (4, 5)),
        ((3, 0), (0, 2)),
    ],
)
def test_matmul(a, b):
    for left, right in itertools.product(("plain", "transposed"), repeat=2):
        x, y = make(a, "float32", left), make(b, "float32", right)
        agree("matmul", (x, y), tolerance=2e-6)
    agree("matmul", (make(a, "int64"), make(b, "int64")))
    agree("matmul", (make(a, "float64"), make(b, "float32")))
    x, y = make(a, "float64").requires_grad_(), make(b, "float64").requires_grad_()
    if a[-1] == b[-2 if len(b) > 1 else 0]:
        ours, theirs = (
            x @ y,
            general(registry["matmul"], (x.detach().requires_grad_(), y.detach().requires_grad_()), {}),
        )
        assert ours.shape == theirs.shape
        if x.numel() and y.numel():
            assert aten.autograd.gradcheck(lambda p, q: p @ q, (x, y))
            assert aten.autograd.gradgradcheck(lambda p, q: p @ q, (x, y))


@pytest.mark.parametrize("sizes", [(3, 4), (2, 3, 4), (4,), (3, 5)])
def test_linear(sizes):
    w, b = make((6, 4)), make((6,))
    for layout in ("plain", "transposed"):
        agree("linear", (make(sizes, "float32", layout), w, b), tolerance=2e-6)
        agree("linear", (make(sizes, "float32", layout), w), tolerance=2e-6)
    agree("linear", (make(sizes), w), {"bias": b}, tolerance=2e-6)
    if sizes[-1] == 4:
        inputs = tuple(make(s, "float64").requires_grad_() for s in (sizes, (6, 4), (6,)))
        assert aten.autograd.gradcheck(registry["linear"], inputs)
        assert aten.autograd.gradgradcheck(registry["linear"], inputs)


def test_rows():
    for dtype in FLOATS:
        x = make((3, 7, 65), dtype)
        for name, dim in itertools.product(("softmax", "log_softmax"), (-1, 0, 1, 5)):
            agree(name, (x, dim), tolerance=tolerance_of(dtype) * 3)
            agree(name, (x.transpose(0, 2), dim), tolerance=tolerance_of(dtype) * 3)
        w, b = make((65,), dtype), make((65,), dtype)
        for args in ((x, [65], w, b), (x, (65,)), (x, [7, 65]), (x, [65], None, b, 1e-3), (x, [64], w, b)):
            agree("layer_norm", args, tolerance=tolerance_of(dtype) * 5)
        for args in ((x, [65], w, 1e-6), (x, [65]), (x, [7, 65], None, 1e-6)):
            agree("rms_norm", args, tolerance=tolerance_of(dtype) * 5)
    agree("softmax", (make((2, 3), "int64"), -1))


def test_embedding_where_clamp():
    w, i = make((5, 3)), aten.tensor([[0, 4], [2, 2]])
    agree("embedding", (w, i))
    agree("embedding", (w, aten.tensor([5])))
    agree("embedding_backward", (make((2, 2, 3)), i, 5), tolerance=1e-6)
    c = make((3, 4)) > 0
    for a, b in (
        (make((3, 4)), make((4,))),
        (1.5, make((3, 4))),
        (make((3, 4), "int64"), 2.5),
        (make((3, 4)), make((2, 4))),
        (1, 2),
    ):
        agree("where", (c, a, b))
    for args in ((-1.0, 1), (None, 0.5), (0, None), (None, None), (2.0, 1.0)):
        for dtype in ("float32", "int64", "bfloat16", "bool"):
            agree("clamp", (make((3, 4), dtype), *args))
    for dtype in ("float32", "float64", "bfloat16", "int64"):
        agree("clamp", (make((3, 4), dtype), make((3, 4), dtype), make((3, 4), dtype)))
        agree("clamp", (make((3, 4), dtype), make((4,), dtype), make((3, 4), dtype)))
        agree("clamp", (make((3, 4), dtype), make((3, 4), dtype), 1))


def test_bounds_that_are_tensors_do_not_enter_python():
    x, low, high = (make((100, 70)) for _ in range(3))
    expected = high.minimum(low.maximum(x))
    before = sum(_native.python_entries().values())
    found = x.clamp(low, high)
    assert sum(_native.python_entries().values()) == before
    assert found.tolist() == expected.tolist() and not found.requires_grad
    assert x.clamp(low, high.requires_grad_()).requires_grad
    nan = aten.full((2,), math.nan)
    for args in ((nan, make((2,)), make((2,))), (make((2,)), nan, make((2,))), (make((2,)), make((2,)), nan)):
        assert args[0].clamp(*args[1:]).isnan().all()


def test_copies_and_fills():
    for source, target in itertools.product(ALL, ALL):
        agree("to", (make((3, 4), source, low=0.0), getattr(dtypes, target)))
        out = make((3, 4), target)
        expected = make((3, 4), source, low=0.0)
        assert out.copy_(expected).tolist() == expected.to(getattr(dtypes, target)).tolist() and out._version == 1
    x = make((3, 4))
    assert x.fill_(2).tolist() == [[2.0] * 4] * 3 and x.t().zero_().sum().item() == 0 and x._version == 2


def test_gradients_of_elementwise_ops():
    x, y = make((3, 4), "float64", low=0.5).requires_grad_(), make((4,), "float64", low=0.5).requires_grad_()
    for name in ("add", "sub", "mul", "div", "pow", "maximum", "atan2"):
        assert aten.autograd.gradcheck(registry[name], (x, y))
        assert registry[name](x, y).grad_fn.name() == f"{name.capitalize()}Backward0"
    for name in ("exp", "log", "tanh", "sigmoid", "sqrt", "sum", "mean", "relu", "erf"):
        assert aten.autograd.gradcheck(registry[name], (x,))
        assert aten.autograd.gradgradcheck(registry[name], (x,))
    assert aten.autograd.gradcheck(lambda t: t.softmax(-1), (x,)) and aten.autograd.gradcheck(lambda t: t.log_softmax(-1), (x,))
    w = make((4,), "float64").requires_grad_()
    assert aten.autograd.gradcheck(lambda t, u, v: registry["layer_norm"](t, [4], u, v), (x, w, y))
    mixed = make((3,)).requires_grad_() * make((3,), "float64")
    assert mixed.dtype is dtypes.float64 and mixed.grad_fn is not None


def test_calls_that_stay_native_are_not_counted():
    x = make((4, 4)).requires_grad_()
    _native.python_entries(True)
    y = (x @ x + 1).relu().reshape(2, 8).softmax(-1).sum(dim=0, keepdim=True)
    assert y.shape == (1, 8) and _native.python_entries() == {}
    before = _native.replay_after(0)
    y.detach().histc(4)
    _native.replay_after(before)
    assert _native.python_entries(True) == {"histc": 1}
    assert _native.python_entries() == {}


def test_a_cast_that_is_recorded_changes_no_bit():
    """With history the general path casts; then it takes the same kernel as a call without."""
    x, y = make((64, 5), "float64"), make((64, 5), "float32")
    for name in ("atan2", "hypot", "add", "mul"):
        plain = registry[name](x, y)
        recorded = registry[name](x.clone().requires_grad_(), y)
        assert recorded.requires_grad
        np.testing.assert_array_equal(np.asarray(recorded.detach()), np.asarray(plain))
