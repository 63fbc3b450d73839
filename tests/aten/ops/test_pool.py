"""Pooling into as many parts as asked, eager and in one graph, against its definition."""

import numpy as np
import pytest

import weft


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("out", [1, 2, 3, 5, 7, 9])
def test_adaptive_max_pool2d(out, dynamic):
    x = np.random.default_rng(0).normal(size=(2, 3, 7, 9)).astype("f4")
    pool = lambda t: weft.nn.functional.adaptive_max_pool2d(t, out, return_indices=True)
    for f in (pool, weft.compile(pool, fullgraph=True, dynamic=dynamic)):
        values, places = (t.numpy() for t in f(weft.from_numpy(x)))
        for i in range(out):
            for j in range(out):
                rows = slice(i * 7 // out, -(-(i + 1) * 7 // out))
                columns = slice(j * 9 // out, -(-(j + 1) * 9 // out))
                part = x[:, :, rows, columns]
                np.testing.assert_array_equal(values[:, :, i, j], part.max((2, 3)))
        flat = x.reshape(2, 3, -1)
        np.testing.assert_array_equal(np.take_along_axis(flat, places.reshape(2, 3, -1), 2), values.reshape(2, 3, -1))
