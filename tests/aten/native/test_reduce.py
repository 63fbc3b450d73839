"""Reductions of rows and columns: short rows side by side, strips of columns, NaN, halves, one order of summation."""

import itertools

import numpy as np
import pytest

import aten
from aten import _native
from aten import dtype as dtypes

rng = np.random.default_rng(1)
LENGTHS = (1, 3, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 200, 4097)


def array(sizes, dtype="float32"):
    x = aten.from_numpy(rng.uniform(-1, 1, sizes)).to(getattr(dtypes, dtype))
    return x, np.asarray(x.to(dtypes.float64))


def tree(values):
    """The sum of at most one chunk in the order that kernels.h states."""
    lanes = np.zeros(64, values.dtype)
    for start in range(0, len(values), 64):
        part = values[start : start + 64]
        lanes[: len(part)] += part
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = lanes[:half] + lanes[half:]
    return lanes[0]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("n", LENGTHS)
def test_rows(dtype, n):
    tolerance = {"float32": 1e-5, "float64": 1e-12}.get(dtype, 3e-2)
    x, y = array((37, n), dtype)
    wide, wider = array((37, 2 * n), dtype)
    for a, b in ((x, y), (wide[:, :n], wider[:, :n]), (wide[:, ::2], wider[:, ::2]), (x.reshape([37, 1, n]), y[:, None])):
        np.testing.assert_allclose(np.asarray(a.sum(-1).double()), b.sum(-1), rtol=tolerance, atol=tolerance * n**0.5)
        np.testing.assert_array_equal(np.asarray(a.amax(-1).double()), b.max(-1))
        np.testing.assert_array_equal(np.asarray(a.amin(-1).double()), b.min(-1))


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("m", (1, 5, 16, 32, 47, 600))
def test_columns(dtype, m):
    tolerance = {"float32": 1e-5, "float64": 1e-12}.get(dtype, 3e-2)
    for n in (2, 15, 16, 17, 64, 67, 130, 1000):
        x, y = array((n, m), dtype)
        np.testing.assert_allclose(np.asarray(x.sum(0).double()), y.sum(0), rtol=tolerance, atol=tolerance * n**0.5)
        np.testing.assert_array_equal(np.asarray(x.amax(0).double()), y.max(0))
        np.testing.assert_array_equal(np.asarray(x.amin(0).double()), y.min(0))


@pytest.mark.parametrize("n", LENGTHS[:-1])
def test_the_order_of_a_sum_is_that_of_its_length(n):
    for dtype in (np.float32, np.float64):
        y = rng.uniform(-1, 1, (19, n)).astype(dtype)
        x = aten.from_numpy(y)
        np.testing.assert_array_equal(np.asarray(x.sum(1)), [tree(row) for row in y])
        assert x[3].sum().item() == tree(y[3])


@pytest.mark.parametrize("sizes, dim", [((40, 5), 1), ((40, 70), 1), ((40, 5000), 1), ((40, 5), 0), ((3000, 40), 0)])
def test_nan_is_the_extreme_of_its_row_alone(sizes, dim):
    for dtype, at in itertools.product(("float32", "float64", "bfloat16"), ((0, 0), (17, 3), (39, sizes[1] - 1))):
        x, y = array(sizes, dtype)
        y[at] = np.nan
        x = aten.from_numpy(y).to(x.dtype)
        np.testing.assert_array_equal(np.asarray(x.amax(dim).double()), y.max(dim))
        np.testing.assert_array_equal(np.asarray(x.amin(dim).double()), y.min(dim))


def test_threads_change_nothing():
    x = array((300, 900))[0]
    before, results = _native.get_num_threads(), []
    try:
        for threads in (1, 2):
            _native.set_num_threads(threads)
            results.append([np.asarray(t) for t in (x.sum(0), x.sum(1), x.amax(0), x.reshape([30, 10, 900]).mean((0, 2)))])
    finally:
        _native.set_num_threads(before)
    for one, two in zip(*results):
        np.testing.assert_array_equal(one, two)


def test_a_dtype_that_says_nothing_new_makes_no_other_sum():
    """The order of a sum does not hang on how it is asked for."""
    x = _native.from_numpy(np.random.default_rng(0).normal(size=(50, 4)).astype("f4"))
    for dim in (0, 1, None):
        assert np.array_equal(x.sum(dim).numpy(), x.sum(dim, dtype=x.dtype).numpy())
        assert np.array_equal(x.mean(dim).numpy(), x.mean(dim, dtype=x.dtype).numpy())


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "bool"])
def test_kept_dims_that_lie_in_another_order_are_reduced_as_they_lie(dtype):
    x, y = array((6, 40, 30, 3), dtype)
    tolerance = 3e-2 if dtype == "bfloat16" else 1e-4
    for axes in itertools.permutations(range(4)):
        shown, values = x.permute(list(axes)), y.transpose(axes)
        for dims in ([0], [1], [2], [3], [0, 2], [1, 3], [1, 2]):
            for keepdim in (False, True):
                found = shown.sum(dims, keepdim=keepdim)
                expected = values.sum(tuple(dims), keepdims=keepdim)
                assert found.is_contiguous() and tuple(found.shape) == expected.shape
                np.testing.assert_allclose(np.asarray(found.double()), expected, rtol=tolerance, atol=1e-3)
            np.testing.assert_array_equal(np.asarray(shown.amax(dims).double()), values.max(tuple(dims)))


def test_a_sum_of_channels_innermost_is_a_sum_of_columns():
    image, _ = array((1, 64, 64, 2))
    moved = image.permute([0, 3, 1, 2])
    assert moved.sum(2).tolist() == image.sum(1).permute([0, 2, 1]).tolist()
    expanded = image[:, :, :1].expand(1, 64, 64, 2).permute([0, 3, 2, 1])
    np.testing.assert_allclose(np.asarray(expanded.sum(2)), np.asarray(expanded).sum(2), rtol=1e-5)
