"""cummax and cummin against one step at a time: NaN stays, of equal elements the last, zeros keep their sign."""

import itertools

import numpy as np
import pytest

import weft


def one_by_one(x, dim, better):
    values, indices = np.empty_like(x), np.empty(x.shape, np.int64)
    rows, v, k = (np.moveaxis(a, dim, 0) for a in (x, values, indices))
    for i in range(len(rows)):
        take = True if i == 0 else better(rows[i], v[i - 1]) | (rows[i] != rows[i])
        v[i], k[i] = np.where(take, rows[i], v[max(i - 1, 0)]), np.where(take, i, k[max(i - 1, 0)])
    return values, indices


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8", "bool"])
@pytest.mark.parametrize("name, better", [("cummax", np.greater_equal), ("cummin", np.less_equal)])
def test_running_extremes(name, better, dtype):
    rng = np.random.default_rng(0)
    for shape, seed in itertools.product(((7,), (4, 5), (3, 4, 5), (3, 0, 2), (1, 6)), range(3)):
        x = rng.integers(-2, 3, shape).astype(dtype)
        if x.dtype.kind == "f" and x.size and seed:
            x.flat[rng.integers(0, x.size, 3)] = -0.0
            x.flat[rng.integers(0, x.size, 2)] = np.nan
        for dim in range(-x.ndim, x.ndim):
            values, indices = getattr(weft, name)(weft.from_numpy(x.copy()), dim)
            expected, places = one_by_one(x, dim, better)
            np.testing.assert_array_equal(indices.numpy(), places)
            assert values.numpy().tobytes() == expected.tobytes()
