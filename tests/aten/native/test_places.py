"""Reading and writing by index tensors natively is what NumPy does with the same keys; errors are those of the general path."""

import numpy as np
import pytest

import aten
from aten import _native
from aten.op import registry
from aten.ops.getitem import _split
from aten.ops.index_tensors import expand_bools
from aten.tensor import from_numpy

DTYPES = ("float32", "float64", "float16", "int8", "int64", "bool", "complex128")


def random_key(rng, sizes):
    key, d = [], 0
    while d < len(sizes):
        n = sizes[d]
        kind = rng.integers(0, 7)
        if kind == 0:
            key.append(int(rng.integers(-n, n)))
        elif kind in (1, 2):
            key.append(rng.integers(-n, n, [(), (3,), (2, 3), (1, 3)][rng.integers(0, 4)]))
        elif kind == 3:
            key.append(rng.random(n) < 0.6)
        elif kind == 4:
            key.append(slice(0, None, 2))
        else:
            key.append(slice(None))
        d += 1
        if rng.random() < 0.15:
            break
    return tuple(from_numpy(np.asarray(k)) if isinstance(k, np.ndarray) else k for k in key)


def by_numpy(x, key):
    """(the array that the basic part of the key views, the NumPy index of the rest)"""
    view, tensors = _split(x, key)
    if tensors is None:
        return view.numpy(), ...
    return view.numpy(), tuple(np.s_[:] if i is None else i.numpy() for i in expand_bools(view, tensors))


@pytest.mark.parametrize("seed", range(8))
def test_getitem_and_setitem_are_numpys(seed):
    rng = np.random.default_rng(seed)
    for _ in range(60):
        sizes = tuple(rng.integers(1, 5, rng.integers(1, 5)))
        x = from_numpy((rng.standard_normal(sizes) * 5).astype(rng.choice(DTYPES[:5])))
        x = x if rng.random() < 0.5 else x.permute(list(range(len(sizes)))[::-1])
        key = random_key(rng, tuple(x.shape))
        try:
            array, index = by_numpy(x, key)
            expected = array[index]
        except IndexError:  # masks and indices that do not broadcast together
            with pytest.raises((IndexError, RuntimeError)):
                x[key]
            continue
        assert x[key].numpy().tolist() == expected.tolist()
        mine, theirs = x.clone(), x.clone()
        mine[key] = 7
        array, index = by_numpy(theirs, key)
        array[index] = 7
        assert mine.tolist() == theirs.tolist()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", (0, 1, -1))
def test_sums_and_moves_along_a_dim(dtype, dim):
    rng = np.random.default_rng(1)
    x, source = ((rng.standard_normal((4, 5, 6)) * 3).astype(dtype) for _ in range(2))
    at = rng.integers(0, x.shape[dim], 9)
    places = rng.integers(0, x.shape[dim], (3, 4, 2))
    grid = list(np.ogrid[:3, :4, :2])
    grid[dim] = places
    taken = registry["gather"](from_numpy(x), dim, from_numpy(places))
    assert taken.tolist() == x[tuple(grid)].tolist()
    assert registry["index_select"](from_numpy(x), dim, from_numpy(at)).tolist() == np.take(x, at, dim).tolist()
    if dtype == "bool":
        return
    wide = np.float64 if dtype == "float16" else dtype
    sums = x.astype(wide)
    np.add.at(sums, tuple(grid), source[:3, :4, :2].astype(wide))
    mine = registry["scatter_add"](from_numpy(x), dim, from_numpy(places), from_numpy(source))
    assert np.allclose(mine.numpy(), sums, rtol=2e-3 if dtype == "float16" else 1e-6)
    slices = np.moveaxis(x.astype(wide), dim, 0).copy()
    added = np.take(source, at % x.shape[dim], dim)
    np.add.at(slices, (at,), np.moveaxis(added, dim, 0).astype(wide))
    mine = registry["index_add"](from_numpy(x), dim, from_numpy(at), from_numpy(added))
    assert np.allclose(mine.numpy(), np.moveaxis(slices, 0, dim), rtol=2e-3 if dtype == "float16" else 1e-5)


def test_plain_calls_stay_native_and_are_differentiated():
    x = from_numpy(np.arange(12.0).reshape(3, 4)).requires_grad_()
    at, mask = from_numpy(np.array([2, 0, 2])), from_numpy(np.arange(12).reshape(3, 4) % 3 == 0)
    _native.python_entries(True)
    total = (x[at] * 2).sum() + x[mask].sum() + x[:, at].sum() + x.index_select(0, at).sum() + x.gather(0, at.reshape(1, 3)).sum()
    y = x.detach().clone()
    y[mask] = 1.0
    y[at] = from_numpy(np.ones(4))
    y.index_put_((at,), from_numpy(np.ones(4)))
    assert _native.python_entries(True) == {}
    total.backward()
    expected = np.zeros((3, 4))
    np.add.at(expected, [2, 0, 2], 2.0)
    expected += mask.numpy()
    np.add.at(expected, (slice(None), [2, 0, 2]), 1.0)
    np.add.at(expected, [2, 0, 2], 1.0)
    for column, row in enumerate((2, 0, 2)):
        expected[row, column] += 1
    assert x.grad.tolist() == expected.tolist()


def test_a_saved_index_that_was_written_is_noticed():
    x, at = from_numpy(np.arange(3.0)).requires_grad_(), from_numpy(np.array([0, 2]))
    y = x[at].sum()
    at[0] = 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


@pytest.mark.parametrize("sizes", ((3, 0), (0, 3)))
def test_indices_of_nothing_are_checked(sizes):
    x = aten.zeros(*sizes)
    with pytest.raises(IndexError, match="out of bounds"):
        x[from_numpy(np.array([5]))]
    assert tuple(x[from_numpy(np.zeros(0, np.int64))].shape) == (0, sizes[1])


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "complex128"])
@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_an_index_of_every_element_is_numpys_however_it_lies(dtype, dim):
    rng = np.random.default_rng(3)
    x = (rng.standard_normal((7, 3, 11)) * 9).astype(dtype)
    kept = [min(n, 5) if d != dim % 3 else 300 for d, n in enumerate(x.shape)]
    at = rng.integers(0, x.shape[dim], kept)
    part = x[tuple(slice(n) if d != dim % 3 else slice(None) for d, n in enumerate(kept))]
    turned = lambda a: from_numpy(np.ascontiguousarray(a.T)).permute(2, 1, 0)
    spread = lambda a: from_numpy(np.repeat(a, 2, -1))[..., ::2]
    for lay in (from_numpy, turned, spread):
        for lay_index in (from_numpy, turned, spread):
            found = registry["gather"](lay(x), dim, lay_index(at))
            np.testing.assert_array_equal(found.numpy(), np.take_along_axis(part, at, dim))
            src = (rng.standard_normal(kept) * 9).astype(dtype)
            expected = x.astype("f4") if dtype == "float16" else x.copy()  # halves are summed in float32
            np.add.at(expected, tuple(at if d == dim % 3 else i for d, i in enumerate(np.indices(kept))), src)
            added = registry["scatter_add"](lay(x), dim, lay_index(at), lay(src)).numpy()
            np.testing.assert_allclose(added, expected, rtol=2e-3 if dtype == "float16" else 1e-5, atol=1e-2)
    at[(-1,) * 3] = x.shape[dim]
    for lay in (from_numpy, turned, spread):
        with pytest.raises(RuntimeError, match="out of bounds"):
            registry["gather"](from_numpy(x), dim, lay(at))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32"])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_an_index_that_is_the_same_along_other_dims_moves_blocks(dtype, dim):
    rng, sizes = np.random.default_rng(dim), (6, 5, 40)
    x, src = (from_numpy(rng.integers(-3, 4, sizes)).to(getattr(aten.dtype, dtype)) for _ in range(2))
    given = {f"along {dim}": [d == dim for d in range(3)], "along two": [d in (dim, 2) for d in range(3)]}
    for kept in given.values():
        at = from_numpy(rng.integers(0, sizes[dim], [n if k else 1 for n, k in zip(sizes, kept)])).expand(list(sizes))
        dense = at.clone()
        for turned in (lambda t: t, lambda t: t.transpose(1, 2).contiguous().transpose(1, 2)):
            args = turned(x), dim, at
            assert aten.equal(registry["gather"](*args), registry["gather"](x, dim, dense))
            for name in ("scatter", "scatter_add"):
                assert aten.equal(registry[name](*args, turned(src)), registry[name](x, dim, dense, src))
            for how in ("sum", "prod", "mean", "amax", "amin"):
                for own in (True, False):
                    found = registry["scatter_reduce"](*args, turned(src), how, include_self=own)
                    assert aten.equal(found, registry["scatter_reduce"](x, dim, dense, src, how, include_self=own)), how


def test_halves_are_combined_natively():
    x = from_numpy(np.arange(12.0).reshape(3, 4)).to(aten.dtype.bfloat16).requires_grad_()
    at, scattered = from_numpy(np.array([2, 0, 2])), registry["scatter_reduce"]
    _native.python_entries(True)
    x[at].sum().backward()
    x.detach().clone().index_put_([at], x.detach(), accumulate=True)
    entered = _native.python_entries(True)
    assert entered == {} and x.grad.tolist() == [[1] * 4, [0] * 4, [2] * 4]
    given = x.detach(), at.reshape(3, 1).expand([3, 4]), x.detach() + 256
    out = aten.empty([3, 4], dtype=x.dtype)
    assert scattered.native_fn(out, given[0], 0, given[1], given[2], "sum", True) is None
    wide = scattered(given[0].float(), 0, given[1], given[2].float(), "sum")
    assert aten.equal(out, wide.to(x.dtype))  # rounded once


def test_flat_positions_count_from_the_end_once():
    x = from_numpy(np.arange(6.0).reshape(2, 3))
    assert x.take(from_numpy(np.array([-6, -1, 5]))).tolist() == [0, 5, 5]
    for bad in (-7, 6):
        with pytest.raises(IndexError):
            x.take(from_numpy(np.array([bad])))
        with pytest.raises(IndexError):
            x.clone().put_(from_numpy(np.array([bad])), from_numpy(np.array([1.0])))


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("count", [(3, 7), (40, 130)])
def test_rows_of_tables_and_their_gradients(dtype, count):
    rng = np.random.default_rng(0)
    table = from_numpy(rng.standard_normal((50, 70))).to(getattr(aten.dtype, dtype)).requires_grad_()
    at = rng.integers(0, 50, count)
    for index in (from_numpy(at), from_numpy(at.astype(np.int32))):
        rows = registry["embedding"](table, index)
        plain = table.detach().to(aten.dtype.float64).numpy()
        np.testing.assert_array_equal(rows.detach().to(aten.dtype.float64).numpy(), plain[at])
        g = rng.standard_normal((*count, 70))
        (found,) = aten.autograd.grad(rows, table, from_numpy(g).to(table.dtype))
        expected = np.zeros((50, 70))
        np.add.at(expected, at.reshape(-1), g.reshape(-1, 70))
        tolerance = {"float32": 1e-4, "float64": 1e-12, "bfloat16": 0.3}[dtype]
        np.testing.assert_allclose(found.to(aten.dtype.float64).numpy(), expected, rtol=tolerance, atol=tolerance)
    at[1, 1] = 50
    with pytest.raises(IndexError):
        registry["embedding"](table, from_numpy(at))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
def test_places_of_what_is_not_zero_are_found_natively(dtype):
    values = np.arange(24).reshape(4, 6) % 5 - 2.0
    values[0, 0] = np.nan if dtype in ("float32", "bfloat16") else 3
    x = from_numpy(values).to(getattr(aten.dtype, dtype))
    _native.python_entries(True)
    found = [registry["nonzero"](t) for t in (x, x.t(), x[:0])]
    assert _native.python_entries(True) == {}
    for places, a in zip(found, (values, values.T, values[:0])):
        np.testing.assert_array_equal(places.numpy(), np.argwhere(a))
