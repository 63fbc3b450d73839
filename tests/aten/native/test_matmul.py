"""Matrix products of tensors against NumPy: dtypes, layouts, batches, scaling, integers that wrap."""

import ml_dtypes
import numpy as np
import pytest

from aten import _native
from aten._native import from_numpy, matmul_into

FLOATS = {np.float32: 1e-6, np.float64: 1e-14, ml_dtypes.bfloat16: 8e-3, np.float16: 1e-3}
INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


def random(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    return rng.standard_normal(shape).astype(dtype)


def close(out, a, b, eps, extra=0.0):
    a, b = a.astype(np.float64), b.astype(np.float64)
    expected, scale = a @ b + extra, np.abs(a) @ np.abs(b) + np.abs(extra) + 1e-30
    return np.all(np.abs(out.astype(np.float64) - expected) <= eps * scale)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("m, n, k", [(1, 1, 1), (1, 70, 33), (40, 1, 33), (37, 45, 500), (3, 4, 0)])
def test_floats(dtype, m, n, k):
    a, b, out = random((m, k), dtype), random((k, n), dtype, 1), np.full((m, n), 7, dtype)
    matmul_into(from_numpy(out), from_numpy(a), from_numpy(b))
    assert close(out, a, b, FLOATS[dtype])


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_any_strides_read_and_written(dtype):
    a, b = random((24, 30), dtype)[::2, ::3], random((50, 20), dtype, 1)[5:35:3, ::-1].copy()[:, ::2]
    memory = np.zeros((30, 40), dtype)
    out = memory[3:27:2, 2:32:3]
    matmul_into(from_numpy(out), from_numpy(a), from_numpy(b))
    np.testing.assert_allclose(out, a @ b, rtol=1e-4, atol=1e-4)
    out[:] = 0
    assert not memory.any()


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_wrap(dtype):
    a, b, out = random((2, 5, 40), dtype), random((2, 40, 7), dtype, 1), np.empty((2, 5, 7), dtype)
    matmul_into(from_numpy(out), from_numpy(a), from_numpy(b))
    np.testing.assert_array_equal(out, np.einsum("bik,bkj->bij", a, b, dtype=dtype))


@pytest.mark.parametrize("a_batch, b_batch", [((3, 4), (3, 4)), ((3, 1), (1, 4)), ((1, 1), (3, 4))])
def test_batch_sizes_of_one_are_repeated(a_batch, b_batch):
    a, b = random((*a_batch, 9, 8), np.float32), random((*b_batch, 8, 5), np.float32, 1)
    out = np.empty((3, 4, 9, 5), np.float32)
    matmul_into(from_numpy(out), from_numpy(a), from_numpy(b))
    np.testing.assert_allclose(out, a @ b, rtol=1e-5, atol=1e-5)


def test_many_batch_dimensions():
    a, b = random((2, 1, 2, 3, 1, 2, 2, 1, 5, 4), np.float32), random((2, 2, 1, 3, 2, 2, 2, 1, 4, 6), np.float32, 1)
    out = np.empty(np.broadcast_shapes(a.shape[:-2], b.shape[:-2]) + (5, 6), np.float32)
    matmul_into(from_numpy(out), from_numpy(a), from_numpy(b))
    np.testing.assert_allclose(out, a @ b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", FLOATS)
def test_bias_alpha_beta(dtype):
    a, b, bias = random((6, 50), dtype), random((50, 37), dtype, 1), random(37, dtype, 2)
    out = random((6, 37), dtype, 3)
    extra = bias.astype(np.float64) - 0.5 * out.astype(np.float64)
    matmul_into(from_numpy(out), from_numpy(a), from_numpy(b), from_numpy(bias), alpha=2.0, beta=-0.5)
    assert close(out, 2 * a.astype(np.float64), b, FLOATS[dtype], extra)


def test_integers_alpha_beta():
    a, b, old = random((6, 5), np.int64) % 100, random((5, 7), np.int64, 1) % 100, random((6, 7), np.int64, 3) % 100
    out = old.copy()
    matmul_into(from_numpy(out), from_numpy(a), from_numpy(b), alpha=-2, beta=3)
    np.testing.assert_array_equal(out, -2 * (a @ b) + 3 * old)


def test_old_values_are_not_read_unless_asked():
    a, b, out = random((5, 4), np.float32), random((4, 20), np.float32), np.full((5, 20), np.nan, np.float32)
    matmul_into(from_numpy(out), from_numpy(a), from_numpy(b), beta=0.0)
    assert np.isfinite(out).all()


@pytest.mark.parametrize("shape", [(150, 300, 500), (1, 3000, 40)])
def test_threads_do_not_change_a_bit(shape):
    m, n, k = shape
    a, b = from_numpy(random((m, k), np.float32)), from_numpy(random((k, n), np.float32, 1))
    outs, before = [], _native.get_num_threads()
    try:
        for threads in (1, 2, 3):
            _native.set_num_threads(threads)
            outs.append(np.empty((m, n), np.float32))
            matmul_into(from_numpy(outs[-1]), a, b)
    finally:
        _native.set_num_threads(before)
    assert all((out == outs[0]).all() for out in outs)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n, k", [(70, 33), (300, 500), (32, 16)])
def test_rows_do_not_change_with_the_number_of_them(n, k, dtype, turned):
    """Whichever tiles make them, and whether the first of a panel packs it."""
    whole, b = random((300, k), dtype), random((k, n), dtype, 1)
    expected = np.empty((300, n), dtype)
    matmul_into(from_numpy(expected), from_numpy(whole), from_numpy(b))
    assert close(expected, whole, b, FLOATS[dtype])
    before = _native.get_num_threads()
    try:
        for threads in (1, 3):
            _native.set_num_threads(threads)
            for m in (5, 13, 16, 28, 29, 32, 43, 57, 100, 225):
                a = np.asfortranarray(whole[:m]) if turned else whole[:m]
                room = np.full((m + 1, n + 3), 7, dtype)
                out = from_numpy(room)[:m, :n]
                matmul_into(out, from_numpy(a), from_numpy(b))
                assert (room[:m, :n] == expected[:m]).all() and (room[m] == 7).all() and (room[:, n:] == 7).all()
    finally:
        _native.set_num_threads(before)


def test_what_does_not_fit_is_refused():
    def tensor(*shape, dtype=np.float32):
        return from_numpy(np.zeros(shape, dtype))

    with pytest.raises(RuntimeError, match="sizes do not fit"):
        matmul_into(tensor(2, 2), tensor(2, 3), tensor(4, 2))
    with pytest.raises(RuntimeError, match="one dtype"):
        matmul_into(tensor(2, 2), tensor(2, 3), tensor(3, 2, dtype=np.float64))
    with pytest.raises(RuntimeError, match="bool"):
        matmul_into(*[tensor(2, 2, dtype=bool)] * 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("m, n, k", [(2, 2, 1), (3, 5, 16), (16, 8, 7), (16, 16, 16), (4, 4, 4), (5, 17, 3), (17, 3, 3)])
def test_small_products_are_those_of_larger_ones(dtype, m, n, k):
    """Of few elements nothing is packed: the same sums, in the same order, from any strides, into any."""
    a, b, bias = random((m + 40, k), dtype), random((k, n), dtype, 1), random((n,), dtype, 2)
    for scaled in [{}, {"bias": from_numpy(bias), "alpha": 0.5}]:
        larger = np.empty((m + 40, n), dtype)
        matmul_into(from_numpy(larger), from_numpy(a), from_numpy(b), **scaled)
        for x in (a[:m].copy(), np.asfortranarray(a[:m]), a[: 2 * m].repeat(2, 1)[:m, ::2]):
            for y in (b, np.asfortranarray(b), b.repeat(2, 0)[::2]):
                for out in (np.full((m, n), 7, dtype), np.full((n, m), 7, dtype).T, np.full((m, 2 * n), 7, dtype)[:, ::2]):
                    matmul_into(from_numpy(out), from_numpy(x), from_numpy(y), **scaled)
                    assert np.array_equal(out, larger[:m])


VECTORS = [((3, 4), (4,)), ((4,), (4, 5)), ((2, 3, 4), (4,)), ((4,), (2, 4, 5)), ((0, 4), (4,)), ((3, 0), (0,)), ((0,), (0, 5))]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "float16"])
@pytest.mark.parametrize("sizes", VECTORS)
def test_a_vector_is_a_row_or_a_column_and_stays_native(sizes, dtype):
    rng = np.random.default_rng(0)
    a, b = ((rng.standard_normal(n) * 5).astype(dtype) for n in sizes)
    rough = 1e-2 if dtype == "float16" else 1e-5
    for lay in (from_numpy, lambda x: from_numpy(np.repeat(x, 2, -1))[..., ::2]):
        _native.python_entries(True)
        out = lay(a) @ lay(b)
        assert _native.python_entries(True) == {} and out.is_contiguous()
        np.testing.assert_allclose(out.numpy(), a @ b, rtol=rough, atol=rough)
        if dtype == "float64":
            x, y = lay(a).requires_grad_(), lay(b).requires_grad_()
            product = x @ y
            np.testing.assert_array_equal(product.detach().numpy(), out.numpy())
            product.sum().backward()
            ones = np.ones(out.shape)
            if a.ndim == 1:
                left = b.sum(-1) if b.ndim == 2 else b.sum((0, -1))
                right = np.broadcast_to(a[:, None], b.shape)
            else:
                left = np.broadcast_to(b, a.shape)
                right = (a * ones[..., None]).sum(tuple(range(a.ndim - 1)))
            np.testing.assert_allclose(x.grad.numpy(), left, atol=1e-12)
            np.testing.assert_allclose(y.grad.numpy(), right, atol=1e-12)


def test_a_vector_of_another_length_is_refused_in_words():
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        from_numpy(np.ones((3, 4))) @ from_numpy(np.ones(5))
