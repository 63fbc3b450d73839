"""searchsorted beside NumPy: both sides, NaN, infinities, rows of their own, lengths around what is searched together."""

import numpy as np
import pytest

import weft


def sample(rng: np.random.Generator, dtype: str, *sizes: int) -> np.ndarray:
    a = rng.integers(-6, 7, sizes).astype(dtype)
    if dtype.startswith("float"):
        for value, share in ((np.nan, 0.15), (np.inf, 0.1), (-np.inf, 0.1), (-0.0, 0.1)):
            a[rng.random(sizes) < share] = value
    return a


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_beside_numpy(dtype):
    rng = np.random.default_rng(3)
    for _ in range(400):
        n, m, height = rng.integers(0, 40), rng.integers(0, 40), rng.integers(1, 4)
        rows, values = np.sort(sample(rng, dtype, height, n), -1), sample(rng, dtype, height, m)
        for side in ("left", "right"):
            expected = np.stack([np.searchsorted(row, value, side) for row, value in zip(rows, values)])
            found = weft.searchsorted(weft.from_numpy(rows), weft.from_numpy(values), side=side)
            assert np.array_equal(found.numpy(), expected)
            alone = weft.searchsorted(weft.from_numpy(rows[0]), weft.from_numpy(values), right=side == "right", out_int32=True)
            assert alone.dtype is weft.int32 and np.array_equal(alone.numpy(), np.searchsorted(rows[0], values, side))


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8"])
def test_isin_of_many(dtype):
    rng = np.random.default_rng(5)
    x, tests = rng.integers(0, 200, 3000).astype(dtype), rng.integers(0, 100, 500).astype(dtype)
    found = weft.isin(weft.from_numpy(x).reshape(50, 60), weft.from_numpy(tests))
    assert np.array_equal(found.numpy(), np.isin(x, tests).reshape(50, 60))
