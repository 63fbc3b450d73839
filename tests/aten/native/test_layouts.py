"""Copies and elementwise loops over tensors of any layout: results are those of NumPy, bit for bit."""

import itertools

import numpy as np
import pytest

import weft

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
