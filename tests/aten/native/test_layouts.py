"""Copies and elementwise loops over tensors of any layout: results are those of NumPy, bit for bit."""

import itertools

import numpy as np
import pytest

import weft
from aten import _native

DTYPES = [weft.bool, weft.uint8, weft.int16, weft.bfloat16, weft.float16, weft.int32, weft.float32, weft.int64, weft.float64]
SIZES = {
    2: [(70, 300), (16, 64), (33, 17), (3, 700), (700, 3), (2, 2000)],
    3: [(9, 37, 21), (3, 40, 33), (40, 33, 4)],
    4: [(5, 3, 19, 23), (4, 16, 7, 2)],
}


def numbers(*sizes, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).integers(-100, 100, sizes).astype(dtype)


def tensor(*sizes, dtype=weft.float32, seed=0):
    return weft.from_numpy(numbers(*sizes, seed=seed)).to(dtype)


def off_alignment(array, shift):
    """The same values in memory that begins `shift` bytes past a multiple of 64."""
    room = np.zeros(array.nbytes + 192, np.uint8)
    start = -room.ctypes.data % 64 + shift
    moved = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    moved[...] = array
    return weft.from_numpy(moved)


def equal(result, expected):
    return np.array_equal(result.float().numpy() if result.dtype in (weft.bfloat16, weft.float16) else result.numpy(), expected)


def values(t):
    return t.float().numpy() if t.dtype in (weft.bfloat16, weft.float16) else t.numpy()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("ndim", [2, 3, 4])
def test_contiguous_of_every_permutation(dtype, ndim):
    for sizes in SIZES[ndim]:
        x = tensor(*sizes, dtype=dtype)
        for order in itertools.permutations(range(ndim)):
            result = x.permute(order).contiguous()
            assert result.is_contiguous() and equal(result, values(x).transpose(order)), (sizes, order)


@pytest.mark.parametrize("shift", [4, 16, 60])
def test_sources_that_do_not_begin_on_a_cache_line(shift):
    a = numbers(130, 270)
    assert equal(off_alignment(a, shift).T.contiguous(), a.T)
    target = off_alignment(np.zeros((270, 130), np.float32), shift)
    target.copy_(weft.from_numpy(a).T)
    assert equal(target, a.T)


def test_copy_into_a_part_keeps_the_rest():
    a, out = numbers(40, 300), np.full((310, 50), 7, np.float32)
    target = weft.from_numpy(out.copy())
    target[5:305, 3:43].copy_(weft.from_numpy(a).T)
    out[5:305, 3:43] = a.T
    assert equal(target, out)


@pytest.mark.parametrize("source", DTYPES, ids=str)
@pytest.mark.parametrize("target", DTYPES, ids=str)
def test_casts_of_a_transpose(source, target):
    x = weft.from_numpy(np.abs(numbers(67, 131))).to(source)
    dense, across = x.to(target), weft.empty(131, 67, dtype=target)
    across.copy_(x.T)
    assert equal(across, values(dense).T)


@pytest.mark.parametrize("sizes", [(70, 300), (5, 1000), (1000, 5), (257, 16), (64, 1)])
def test_elementwise_loops_over_mixed_layouts(sizes):
    a, b, c = numbers(*sizes), numbers(*sizes[::-1], seed=1), numbers(sizes[1], seed=2)
    x, y, z = map(weft.from_numpy, (a, b, c))
    assert equal(x + y.T, a + b.T)
    assert equal(y.T - x, b.T - a)
    assert equal(x.T * y, a.T * b)
    assert equal(x * z + y.T, a * c + b.T)
    assert equal(weft.where(x > 0, y.T, z), np.where(a > 0, b.T, c))
    assert equal(weft.where(y.T > 0, x, 1.0), np.where(b.T > 0, a, np.float32(1)))
    assert equal(x == y.T, a == b.T)
    target = x.clone()
    target.add_(y.T)
    assert equal(target, a + b.T)


@pytest.mark.parametrize("dtype", [weft.uint8, weft.int16, weft.float32, weft.float64], ids=str)
@pytest.mark.parametrize("step", [2, 3, 5])
def test_sources_that_skip_items(dtype, step):
    x = tensor(61, 1201, dtype=dtype)
    assert equal(x[:, ::step].contiguous(), values(x)[:, ::step])
    assert equal(x[:, 1::step] + x[:, 1::step], values(x)[:, 1::step] + values(x)[:, 1::step])
    assert equal(x.T[::step].contiguous(), values(x).T[::step])
    assert equal(x.T[:, ::step].contiguous(), values(x).T[:, ::step])
    flat = tensor(5003, dtype=dtype)
    assert equal(flat[::step] * 1, values(flat)[::step])


def test_expanded_sources():
    row, column = tensor(1, 90), tensor(70, 1)
    assert equal(row.expand(70, 90).contiguous(), np.broadcast_to(values(row), (70, 90)))
    assert equal(column.expand(70, 90).contiguous(), np.broadcast_to(values(column), (70, 90)))
    assert equal(column.expand(70, 90).T.contiguous(), np.broadcast_to(values(column), (70, 90)).T)
    assert equal(column.T + tensor(90, 70), values(column).T + values(tensor(90, 70)))


def test_empty_and_scalar_tensors():
    assert weft.empty(0, 5).T.contiguous().shape == (5, 0)
    assert weft.empty(7, 0, 3).permute(2, 0, 1).contiguous().shape == (3, 7, 0)
    assert weft.tensor(3.0).contiguous().item() == 3.0


@pytest.mark.parametrize("threads", [1, 2])
def test_large_copies_on_threads(threads):
    before = weft.get_num_threads()
    weft.set_num_threads(threads)
    try:
        a, b = numbers(700, 900), numbers(900, 700, seed=1)
        assert equal(weft.from_numpy(a).T.contiguous(), a.T)
        assert equal(weft.from_numpy(a).T + weft.from_numpy(b), a.T + b)
        x = numbers(3, 50, 60, 70)
        assert equal(weft.from_numpy(x).permute(0, 3, 1, 2).contiguous(), x.transpose(0, 3, 1, 2))
    finally:
        weft.set_num_threads(before)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_flips(dtype):
    for dims in ([0], [1], [2], [0, 2], [-1, 1], []):
        x = tensor(7, 9, 83, dtype=dtype)
        assert equal(x.flip(dims), np.flip(values(x), tuple(dims)))
    x = tensor(70, 300, dtype=dtype)
    assert equal(x.flip(0), np.flip(values(x), 0)) and equal(x.T.flip(0), np.flip(values(x).T, 0))
    assert weft.empty(0, 3, dtype=dtype).flip(0).shape == (0, 3)


def test_rolls():
    x = tensor(13, 40, 6)
    for shifts, dims in ((3, 0), (-5, 1), (47, 1), (2, -1), ([1], [0]), (0, 0)):
        assert equal(x.roll(shifts, dims), np.roll(values(x), shifts, dims))
    assert equal(x.roll(17), np.roll(values(x), 17))
    assert equal(x.roll([1, 2], [0, 2]), np.roll(values(x), [1, 2], [0, 2]))
    assert equal(x.transpose(0, 1).roll(2, 0), np.roll(values(x).swapaxes(0, 1), 2, 0))


def test_gradients_of_flip_roll_and_gather():
    x, weight = tensor(4, 5).requires_grad_(), tensor(4, 5, seed=3)
    (x.flip(1) * weight).sum().backward()
    assert equal(x.grad, values(weight)[:, ::-1])
    x.grad = None
    (x.roll(2, 1) * weight).sum().backward()
    assert equal(x.grad, np.roll(values(weight), -2, 1))
    x.grad = None
    index = weft.from_numpy(np.argsort(numbers(4, 5, seed=4), 1))
    (x.gather(1, index) * weight).sum().backward()
    expected = np.zeros((4, 5), np.float32)
    np.put_along_axis(expected, index.numpy(), values(weight), 1)
    assert equal(x.grad, expected)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_gather_and_scatter(dtype, dim):
    x = tensor(6, 11, 20, dtype=dtype)
    index = np.argsort(numbers(6, 11, 20, seed=5), axis=dim)
    at = weft.from_numpy(index)
    assert equal(x.gather(dim, at), np.take_along_axis(values(x), index, dim))
    swapped = x.transpose(0, 2)
    there = np.ascontiguousarray(index.swapaxes(0, 2))
    expected = np.take_along_axis(values(x), index, dim)
    assert equal(swapped.gather(2 - dim, weft.from_numpy(there)), expected.swapaxes(0, 2))
    expected = values(x).copy()
    np.put_along_axis(expected, index, values(x)[::-1], dim)
    assert equal(x.scatter(dim, at, x.flip(0)), expected)
    with pytest.raises((RuntimeError, IndexError)):
        x.gather(dim, at + 100)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("dtype", [weft.float32, weft.float64, weft.bfloat16, weft.float16], ids=str)
@pytest.mark.parametrize("window", [(2,), (3, 1, 1), (3, 2, 1), (2, 3), (3, 2, 1, 2), (1,)], ids=str)
def test_pools_equal_their_definition(n, dtype, window):
    x = tensor(*(2, 3, 7, 9, 12)[: 2 + n], dtype=dtype)
    F = weft.nn.functional
    larger = getattr(F, f"max_pool{n}d")
    values_, _ = larger(x, *window, return_indices=True)  # the general path
    assert equal(larger(x, *window), values(values_))
    if len(window) < 4:
        mean = getattr(F, f"avg_pool{n}d")
        definition = mean(x.clone().requires_grad_(), *window).detach()
        assert np.allclose(values(mean(x, *window)), values(definition), rtol=1e-6)


def test_pools_keep_nans_and_pad_with_nothing():
    x = weft.tensor([[[[1.0, float("nan"), -3.0, -4.0], [-5.0, -6.0, -7.0, -8.0]]]])
    result = weft.nn.functional.max_pool2d(x, 2).numpy()
    assert np.isnan(result[0, 0, 0, 0]) and result[0, 0, 0, 1] == -3
    padded = weft.nn.functional.max_pool2d(-weft.ones(1, 1, 2, 2), 2, 2, 1)
    assert equal(padded, -np.ones((1, 1, 2, 2), np.float32))


@pytest.mark.parametrize("width", [1, 2, 3, 16, 31, 32, 33])
@pytest.mark.parametrize("dtype", [weft.float32, weft.float16, weft.float64, weft.int64, weft.bool], ids=str)
def test_short_rows_are_laid_out_for_many_at_a_time(width, dtype):
    def of(*sizes, seed=0):
        return tensor(*sizes, seed=seed) > 0 if dtype is weft.bool else tensor(*sizes, dtype=dtype, seed=seed)

    for sizes in ((5, 300, width), (700, width), (3, 4, 5, width)):
        row, column, one = of(width, seed=1), of(*sizes[:-1], 1, seed=2), of(*[1] * len(sizes), seed=3)
        plane, lines = of(*sizes[1:], seed=4), of(*sizes[:-1], 2 * width, seed=5)[..., ::2]
        for other in (row, column, one, plane, lines, of(sizes[0], *[1] * (len(sizes) - 1), seed=6)):
            x = of(*sizes)
            expected = np.broadcast_to(values(x), sizes) == np.broadcast_to(values(other), sizes)
            assert np.array_equal((x == other).numpy(), expected) and np.array_equal((other == x).numpy(), expected)
            picked = np.where(expected, values(x), values(other))
            assert np.array_equal(values(weft.where(x == other, x, other)), picked)
            both = column == row
            assert np.array_equal(both.numpy(), np.broadcast_to(values(column), sizes) == np.broadcast_to(values(row), sizes))


def test_flips_of_any_layout_are_native_and_keep_it():
    x = weft.from_numpy(numbers(2, 3, 4, 5))
    for t in (x, x.permute(0, 2, 3, 1), x[..., ::2], x.transpose(0, 3)[1:], x[:0]):
        for dims in ([0], [1, 2], [-1, 0], [0, 1, 2, 3], []):
            _native.python_entries(True)
            found = t.flip(dims)
            assert _native.python_entries(True) == {}
            assert np.array_equal(found.numpy(), np.flip(t.numpy(), dims))
            assert found.stride() == weft.empty_like(t).stride()


@pytest.mark.parametrize("dtype", [weft.float32, weft.bfloat16, weft.uint8, weft.complex128], ids=str)
def test_long_runs_are_joined_one_after_the_other(dtype):
    """And short ones, turned ones and none by loops."""
    of = lambda *sizes, seed=0: weft.from_numpy(np.random.default_rng(seed).integers(0, 99, sizes)).to(dtype)
    for sizes in ((300, 600), (600, 300, 400), (300, 0, 500), (300, 3)):
        parts = [of(70, n, seed=n) for n in sizes]
        expected = np.concatenate([values(p) for p in parts], 1)
        assert equal(weft.cat(parts, 1), expected)
        assert equal(weft.cat([p.t().contiguous().t() for p in parts], 1), expected)
        assert equal(weft.cat([p.reshape(7, 10, -1) for p in parts], 2), expected.reshape(7, 10, -1))
    assert equal(weft.cat([of(3, 50, 40), of(3, 20, 40)], 1), np.concatenate([values(of(3, 50, 40)), values(of(3, 20, 40))], 1))
