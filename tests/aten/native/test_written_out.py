"""Calls with `out=`, and in place, answered natively: the same results, written where they are asked for, without Python."""

import numpy as np
import pytest

import weft
from aten import _native
from aten.op import registry

X = weft.arange(24.0).reshape(4, 6) / 7 - 1
Y = weft.linspace(0.5, 2, 24).reshape(4, 6)

CALLS = {
    "add": (weft.add, (X, Y), {}),
    "add of a row": (weft.add, (X, Y[1]), {}),
    "add of a number": (weft.add, (X, 2), {}),
    "add with alpha": (weft.add, (X, Y), {"alpha": 2}),
    "sub of columns": (weft.sub, (X, Y[:, :1]), {"alpha": 3}),
    "exp": (weft.exp, (X,), {}),
    "exp of columns": (weft.exp, (X.t(),), {}),
    "sin of ints": (weft.sin, (weft.arange(6),), {}),
    "lt": (weft.lt, (X, Y), {}),
    "isnan": (weft.isnan, (X,), {}),
    "pow": (weft.pow, (2.0, X), {}),
    "half by a number": (weft.mul, (X.half(), 1.1), {}),
    "int and float": (weft.mul, (weft.arange(6), Y), {}),
    "where": (weft.where, (X > 0, X, Y), {}),
    "where of a number": (weft.where, (X > 0, X, 1.0), {}),
    "clamp": (weft.clamp, (X, 0, 1), {}),
    "clamp by tensors": (weft.clamp, (X, -Y, Y), {}),
    "mm": (weft.mm, (X, Y.t()), {}),
    "matmul": (weft.matmul, (X, Y[0]), {}),
    "sum": (weft.sum, (X, 0), {}),
    "amax": (weft.amax, (X, 1), {}),
    "mean": (weft.mean, (X, 1, True), {}),
    "any": (weft.any, (X > 0, 0), {}),
    "argmax": (weft.argmax, (X, 1), {}),
    "cumsum": (weft.cumsum, (X, 0), {}),
    "cat": (weft.cat, ([X, Y],), {}),
    "stack": (weft.stack, ([X, Y], -1), {}),
    "index_select": (weft.index_select, (X, 0, weft.tensor([2, 0])), {}),
    "gather": (weft.gather, (X, 0, weft.tensor([[2, 0]])), {}),
    "softmax": (weft.softmax, (X, 1), {}),
    "full": (weft.full, ((2, 3), 1.5), {}),
    "max": (weft.max, (X, 1), {}),
    "sort": (weft.sort, (X, 0), {"descending": True}),
    "topk": (weft.topk, (X, 2), {}),
    "complex": (weft.mul, (X + 1j, Y + 0j), {}),
}


def as_list(result):
    return list(result) if isinstance(result, tuple) else [result]


def empty_like(value, layout):
    if layout == "every second":
        return weft.full([*value.shape, 2], 9, dtype=value.dtype)[..., 1]
    if layout == "backwards":
        return weft.full(list(value.shape)[::-1], 9, dtype=value.dtype).permute(*range(value.ndim)[::-1])
    return weft.full(value.shape, 9, dtype=value.dtype)


@pytest.mark.parametrize("layout", ["dense", "every second", "backwards"])
@pytest.mark.parametrize("name", CALLS)
def test_the_results_are_written_into_what_is_given(name, layout):
    op, args, kwargs = CALLS[name]
    wanted = op(*args, **kwargs)
    targets = [empty_like(value, layout) for value in as_list(wanted)]
    before = [t._version for t in targets]
    wanted_is_complex = targets[0].is_complex()  # (whose products a rule leaves)
    out = tuple(targets) if isinstance(wanted, tuple) else targets[0]
    _native.python_entries(True)
    got = op(*args, **kwargs, out=out)
    assert not _native.has_rule(op) or wanted_is_complex or op.name not in _native.python_entries()
    assert type(got) is type(wanted)
    for value, target, result, version in zip(as_list(wanted), targets, as_list(got), before):
        assert result is target
        assert np.array_equal(target.numpy(), value.numpy(), equal_nan=not value.is_complex())
        assert target._version == version + 1


@pytest.mark.parametrize("name", CALLS)
def test_what_is_written_into_may_be_an_argument(name):
    op, args, kwargs = CALLS[name]
    wanted = op(*args, **kwargs)
    if isinstance(wanted, tuple):
        return
    for i, arg in enumerate(args):
        if isinstance(arg, weft.Tensor) and arg.dtype == wanted.dtype and arg.shape == wanted.shape:
            own = arg.clone()
            assert op(*args[:i], own, *args[i + 1 :], **kwargs, out=own) is own
            assert np.array_equal(own.numpy(), wanted.numpy())


def test_large_tensors_are_written_into_at_once():
    a, b = weft.randn(300, 1000), weft.randn(300, 1000)
    out = weft.empty(300, 1000)
    assert weft.add(a, b, out=out).data_ptr() == out.data_ptr() and weft.equal(out, a + b)
    assert weft.equal(weft.sub(a, b, alpha=3, out=out), a - 3 * b)
    assert weft.equal(weft.exp(a.t(), out=out.t()), a.t().exp())
    wanted = weft.atan2(a, b[0])
    assert weft.equal(weft.atan2(a, b[0], out=a), wanted)


def test_arguments_that_show_a_part_of_it_are_refused_where_they_are_read_meanwhile():
    x = weft.arange(6.0)
    for op, *others in [(weft.exp,), (weft.add, x[:5]), (weft.where, x[:5] > 0, x[:5])]:
        args = [*others, x[:5]] if op is weft.where else [x[:5], *others]
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            op(*args, out=x[1:])
    y = weft.arange(6.0)
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        weft.lt(y, 3, out=y.view(weft.bool)[:6])


def test_what_lies_in_another_order_in_the_same_memory_is_refused_or_read_first():
    x = weft.arange(9.0).reshape(3, 3)
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        weft.add(x, 1, out=x.t())
    x = weft.arange(16.0).reshape(4, 4)
    wanted = x[::2, ::2] + 1
    weft.add(x[::2, ::2], 1, out=x[:2, ::3])  # (whether what has gaps overlaps is not asked)
    assert weft.equal(x[:2, ::3], wanted)


def test_what_forbids_a_write_forbids_it():
    fixed = np.arange(3.0)
    fixed.flags.writeable = False
    with pytest.raises(RuntimeError, match="read-only"):
        weft.exp(weft.ones(3, dtype=weft.float64), out=weft.from_numpy(fixed))
    with pytest.raises(RuntimeError, match="more than one element"):
        weft.exp(weft.ones(3), out=weft.ones(1).expand(3))
    for x, out in [(weft.ones(3, requires_grad=True), weft.ones(3)), (weft.ones(3), weft.ones(3, requires_grad=True))]:
        with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
            weft.exp(x, out=out)
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        weft.cat([weft.ones(3, requires_grad=True)], out=weft.ones(3))
    x = weft.ones(3, requires_grad=True)
    y = weft.ones(3)
    z = (x * y).sum()
    weft.exp(weft.ones(3), out=y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()
    with weft.no_grad():
        assert weft.exp(weft.zeros(3), out=x) is x and x.tolist() == [1, 1, 1]


def test_other_sizes_and_dtypes():
    empty = weft.empty(0)
    assert weft.add(weft.ones(2, 3), 1, out=empty) is empty and empty.tolist() == [[2, 2, 2], [2, 2, 2]]
    with pytest.warns(UserWarning, match="was resized"):
        weft.add(weft.ones(2, 3), 1, out=weft.ones(5))
    doubles = weft.zeros(3, dtype=weft.float64)
    assert weft.exp(weft.zeros(3), out=doubles).tolist() == [1, 1, 1]
    with pytest.raises(RuntimeError, match="can't be cast"):
        weft.exp(weft.zeros(3), out=weft.zeros(3, dtype=weft.int64))
    wide = weft.zeros((), dtype=weft.float32)
    weft.sum(weft.full((4096,), 1.001, dtype=weft.float16), 0, out=wide)  # (added up in what it is written into)
    assert wide.item() == weft.full((4096,), 1.001, dtype=weft.float16).float().sum().item()


def test_numbers_are_drawn_once():
    weft.manual_seed(3)
    wanted = [weft.rand(4), weft.rand(4)]
    weft.manual_seed(3)
    assert weft.equal(weft.rand(4, out=weft.empty(4)), wanted[0]) and weft.equal(weft.rand(4), wanted[1])


def test_none_is_no_target():
    assert weft.exp(weft.zeros(2), out=None).tolist() == [1, 1]
    assert weft.add(weft.zeros(2), 1, alpha=2, out=None).tolist() == [2, 2]


IN_PLACE = {
    "scatter_": lambda x: x.scatter_(1, weft.tensor([[0, 5], [2, 2]]), weft.full((2, 2), 7).to(x.dtype)),
    "scatter_add_": lambda x: x.scatter_add_(1, weft.tensor([[0, 0], [2, 2]]), weft.ones(2, 2).to(x.dtype)),
    "index_add_": lambda x: x.index_add_(0, weft.tensor([1, 1]), weft.ones(2, 6).to(x.dtype)),
    "masked_fill_": lambda x: x.masked_fill_(X > 0, 3),
    "masked_fill_ of a row": lambda x: x.masked_fill_(X[1] > -0.1, weft.tensor(2).to(x.dtype)),
    "masked_scatter_": lambda x: x.masked_scatter_(X > 0, weft.arange(24).to(x.dtype)),
    "cumsum_": lambda x: x.cumsum_(1),
    "cumprod_": lambda x: x.cumprod_(0),
}


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64, weft.float16, weft.int64, weft.uint8], ids=str)
@pytest.mark.parametrize("layout", ["dense", "every second", "backwards"])
@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name, layout, dtype):
    write = IN_PLACE[name]
    function = getattr(weft, name.split("_ ")[0].rstrip("_")) if name != "masked_fill_ of a row" else weft.masked_fill
    start = (X * 3).abs().round().to(dtype)
    kept = start.clone()
    recorded = start.double().clone().requires_grad_() * 1
    write(recorded)  # with history: another way
    x = empty_like(start, layout)
    x.copy_(start)
    version = x._version
    _native.python_entries(True)
    assert write(x) is x and x._version == version + 1
    left = (name == "masked_scatter_" and layout != "dense") or (name in ("cumsum_", "cumprod_") and dtype is weft.uint8)
    assert left or function.name + "_" not in _native.python_entries()
    assert weft.equal(start, kept)
    assert weft.equal(x, recorded.detach().to(dtype))


def test_in_place_where_an_argument_shows_the_same_memory():
    x = weft.arange(6.0)
    assert x.scatter_(0, weft.tensor([0, 1]), x.flip(0)).tolist() == [5, 4, 2, 3, 4, 5]
    with pytest.raises(RuntimeError, match="single memory location"):
        x.scatter_(0, weft.tensor([0, 1]), x)
    with pytest.raises(RuntimeError, match="single memory location"):
        x.masked_fill_(x.view(weft.bool)[:6], 1.0)
    y = weft.arange(6.0)
    weft.scatter(y, 0, weft.tensor([1, 2, 3]), y, out=y)
    assert y.tolist() == [0, 0, 1, 2, 4, 5]


def test_in_place_refusals():
    with pytest.raises(RuntimeError, match="leaf Variable"):
        weft.ones(3, requires_grad=True).masked_fill_(weft.tensor([True, False, True]), 1.0)
    with pytest.raises(RuntimeError, match="more than one element"):
        weft.ones(1).expand(3).cumsum_(0)
    x = weft.ones(3)
    with pytest.raises(IndexError, match="out of bounds"):
        x.index_add_(0, weft.tensor([5]), weft.ones(1))
    with pytest.raises(RuntimeError, match="overflow"):
        weft.ones(3, dtype=weft.uint8).masked_fill_(weft.tensor([True, False, True]), 300)
    assert weft.ones(3, dtype=weft.int64).masked_fill_(weft.tensor([True, False, True]), 2.5).tolist() == [2, 1, 2]
    y = weft.ones(3, requires_grad=True)
    z = weft.zeros(3)
    z.masked_fill_(weft.tensor([True, False, True]), (y * 2).sum()).sum().backward()
    assert y.grad.tolist() == [4, 4, 4]


def test_resized_memory_stays_that_of_its_other_views():
    whole = weft.zeros(10)
    part = whole[2:2]
    weft.add(weft.ones(3), 1, out=part)
    assert whole.tolist() == [0, 0, 2, 2, 2, 0, 0, 0, 0, 0]
    assert (part._base is whole, part.storage_offset(), whole._version) == (True, 2, 1)
    small = weft.ones(2, 5)
    flat = small.view(-1)
    with pytest.warns(UserWarning, match="was resized"):
        weft.mul(weft.ones(4, 3).t(), 3, out=small)
    assert (small.shape, small.stride(), flat.tolist()) == ((3, 4), (1, 3), [3] * 10)
    assert small.untyped_storage().data_ptr() == flat.untyped_storage().data_ptr()
    with pytest.warns(UserWarning), pytest.raises(RuntimeError, match="not resizable"):
        weft.add(weft.ones(3), 1, out=weft.from_numpy(np.ones(2, np.float32)))


def test_what_is_given_must_be_as_many_tensors():
    for out in ([weft.ones(3)], (weft.ones(3),), (weft.ones(3), weft.ones(3))):
        with pytest.raises(TypeError, match=rf"exp\(\): argument 'out' must be Tensor, not {type(out).__name__}"):
            weft.exp(weft.ones(3), out=out)
    with pytest.raises(TypeError, match="expected tuple of 2 elements but got 1"):
        weft.sort(weft.ones(3), out=(weft.ones(3),))


def test_dtypes_that_ops_do_not_cast_to():
    doubles = weft.zeros(2, 3, dtype=weft.float64)
    for op in (weft.abs, weft.neg, weft.floor, weft.sign, weft.round):
        with pytest.raises(RuntimeError, match="Found dtype Double but expected Float"):
            op(weft.ones(2, 3), out=doubles)
    with pytest.raises(RuntimeError, match="nan_to_num: dtype of out: Double should be same as input: Float"):
        weft.nan_to_num(weft.ones(2, 3), out=doubles)
    with pytest.raises(RuntimeError, match="isneginf does not support non-boolean outputs"):
        weft.isneginf(weft.ones(2, 3), out=doubles)
    assert weft.max(weft.ones(2, 3), weft.full((2, 3), 2.0), out=doubles).tolist() == [[2, 2, 2], [2, 2, 2]]
    assert weft.max(weft.ones(2, 3), out=weft.zeros((), dtype=weft.float64)).item() == 1
    assert weft.any(weft.ones(2, 3, dtype=weft.uint8), 1, out=weft.zeros(2, dtype=weft.bool)).tolist() == [True, True]
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype"):
        weft.max(weft.ones(2, 3), 1, out=(doubles[:, 0], weft.zeros(2, dtype=weft.int64)))


def test_what_an_op_in_place_writes_is_the_result_of_an_op():
    add = registry["add_"]
    assert add.functional is registry["add"] and registry["add"].functional is None
    for other in (3, None, weft.ones(2)):
        with pytest.raises(TypeError, match="functional"):
            add.functional = other
    assert add.functional is registry["add"]
