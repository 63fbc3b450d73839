"""Products of which one side is narrow: few columns, short rows, a column of results, one element between vectors; integers."""

import ml_dtypes
import numpy as np
import pytest

import weft
from aten._native import from_numpy, matmul_into

FLOATS = [np.float32, np.float64, ml_dtypes.bfloat16]


def product(a, b, bias=None, alpha=1.0, beta=0.0, out=None):
    out = np.full((a.shape[0], b.shape[1]), 3, a.dtype) if out is None else out
    matmul_into(from_numpy(out), from_numpy(a), from_numpy(b), None if bias is None else from_numpy(bias), alpha, beta)
    return out


def random(shape, dtype, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("k", [1, 20, 400, 3100, 7777])
@pytest.mark.parametrize("n", [2, 5, 8, 13, 16])
def test_few_columns_are_those_of_many(dtype, k, n):
    row, wide = random((1, k), dtype), random((k, 70), dtype, 1)
    np.testing.assert_array_equal(product(row, wide[:, :n].copy()), product(row, wide)[:, :n])
    np.testing.assert_array_equal(product(row, wide[:, 3 : 3 + n]), product(row, wide)[:, 3 : 3 + n])  # memory goes on, and ends


def test_few_columns_see_nothing_but_their_own():
    memory = np.full((5000, 24), np.nan, np.float32)
    memory[:, 4:9] = random((5000, 5), np.float32)
    row = random((1, 5000), np.float32, 1)
    np.testing.assert_array_equal(product(row, memory[:, 4:9]), product(row, memory[:, 4:9].copy()))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [1, 3, 7, 8, 10, 15, 16])
@pytest.mark.parametrize("m", [1, 15, 16, 40, 1030])
def test_short_rows_add_their_products_in_halves(dtype, k, m):
    a, x = random((m, k), dtype), random((k, 1), dtype, 1)
    terms = np.zeros((m, 32), dtype)
    terms[:, :k] = a * x[:, 0]  # one product a chain: rounded once
    while terms.shape[1] > 1:
        terms = terms[:, : terms.shape[1] // 2] + terms[:, terms.shape[1] // 2 :]
    np.testing.assert_array_equal(product(a, x), terms)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("bias, alpha, beta", [(False, 1.0, 0.0), (True, 1.0, 0.0), (True, 0.5, 2.0)])
def test_a_column_of_results_is_a_row_of_them(dtype, bias, alpha, beta):
    a, x, more = random((1100, 9), dtype), random((9, 1), dtype, 1), random((1,), dtype, 2)
    old = random((1100, 1), dtype, 3)
    column = product(a, x, more if bias else None, alpha, beta, old.copy())
    row = product(x.T.copy(), a.T.copy(), np.repeat(more, 1100) if bias else None, alpha, beta, old.T.copy())
    rtol = 2e-2 if a.itemsize == 2 else 1e-5
    np.testing.assert_allclose(column.T.astype(np.float64), row.astype(np.float64), rtol=rtol, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [2, 5, 8, 9])
def test_a_column_times_a_narrow_row(dtype, n):
    for m in (1, 2, 3, 50):
        column, row = random((m, 2), dtype)[:, :1], random((1, n * 2), dtype, 1)[:, ::2]
        np.testing.assert_array_equal(product(column, row), column * row)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("high", [9, 2**30])
def test_batches_of_integers_by_doubles_and_beyond_them(dtype, high):
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-high, high, s).astype(dtype) for s in ((6, 30, 41), (6, 41, 20)))
    b[0, 0, 0] = np.iinfo(dtype).min if high > 9 else 0
    out = np.empty((6, 30, 20), dtype)
    matmul_into(from_numpy(out), from_numpy(a), from_numpy(b))
    np.testing.assert_array_equal(out, np.einsum("bik,bkj->bij", a, b, dtype=dtype))
    matmul_into(from_numpy(out), from_numpy(a[:1]), from_numpy(b.transpose(0, 2, 1).copy().transpose(0, 2, 1)))
    np.testing.assert_array_equal(out, np.einsum("bik,bkj->bij", a[:1].repeat(6, 0), b, dtype=dtype))


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int32, np.int64])
def test_vectors_of_integers(dtype):
    info = np.iinfo(dtype)
    x, y = (np.random.default_rng(i).integers(info.min, info.max, 10001, dtype, endpoint=True) for i in range(2))
    for a, b in ((x, y), (x[:-1:2], y[1::2])):
        expected = np.einsum("i,i->", a, b, dtype=dtype)
        assert weft.dot(from_numpy(a), from_numpy(b)).item() == expected
    m = x[:10000].reshape(500, 20)
    np.testing.assert_array_equal(weft.mv(from_numpy(m), from_numpy(y[:20])).numpy(), np.einsum("ij,j->i", m, y[:20], dtype=dtype))
