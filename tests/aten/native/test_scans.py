"""Native scans against NumPy: every dtype, dim and layout, NaN, and the order of equal elements."""

import numpy as np
import pytest

import aten
from aten import _native
from aten.op import registry
from aten.tensor import from_numpy

SIZES = ((5,), (17, 3), (3, 17), (2, 9, 70), (600, 2), (1, 1))


def data(dtype, sizes):
    x = (np.random.default_rng(3).standard_normal(sizes) * 2).astype(dtype)
    if x.dtype.kind == "f" and x.size > 4:
        x.reshape(-1)[x.size // 2] = np.nan
    return x


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("dtype", ("float32", "float64", "float16", "int64", "int32", "int8", "uint8", "bool"))
def test_running_extremes(dtype, sizes):
    x = data(dtype, sizes)
    for dim in range(len(sizes)):
        for name, ufunc in (("cummax", np.maximum), ("cummin", np.minimum)):
            values, places = registry[name](from_numpy(np.asfortranarray(x)), dim)
            extreme = ufunc.accumulate(x, axis=dim)
            index = np.arange(sizes[dim]).reshape([-1] + [1] * (len(sizes) - 1 - dim))
            last = np.maximum.accumulate(np.where((x == extreme) | (x != x), index, 0), axis=dim)
            assert np.array_equal(values.numpy(), extreme, equal_nan=x.dtype.kind == "f")
            assert np.array_equal(places.numpy(), last)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("dtype", ("float32", "float64", "int64", "int32", "int8", "bool"))
def test_running_sums_and_products(dtype, sizes):
    x = data(dtype, sizes)
    wide = x.astype(np.int64 if x.dtype.kind in "bi" else np.float64)
    for dim in range(len(sizes)):
        for name, function in (("cumsum", np.cumsum), ("cumprod", np.cumprod)):
            mine = registry[name](from_numpy(x), dim).numpy()
            assert mine.dtype == (np.int64 if x.dtype.kind in "bi" else x.dtype)
            assert np.allclose(mine, function(wide, axis=dim), rtol=2e-5, atol=1e-4, equal_nan=True)
        if x.dtype.kind == "f":
            mine = registry["logcumsumexp"](from_numpy(x), dim).numpy()
            with np.errstate(invalid="ignore"):
                expected = np.logaddexp.accumulate(wide, axis=dim)
            assert np.allclose(mine, expected, rtol=1e-5, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("level", (3, 4))
@pytest.mark.parametrize("dtype", ("int64", "int32", "int16", "int8", "uint8", "bool"))
def test_running_sums_of_integers_are_exact_and_wrap_around(dtype, level):
    rng = np.random.default_rng(0)
    _native._use_kernels(level)
    try:
        for sizes in (*SIZES, (3, 15), (5, 16), (2, 8), (1000,), (7, 13, 5), (4, 70, 521)):
            if dtype == "bool":
                x = rng.integers(0, 2, sizes).astype(bool)
            else:
                x = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, sizes, dtype=dtype, endpoint=True)
            for dim in range(len(sizes)):
                for given in (x, np.asfortranarray(x)):
                    found = registry["cumsum"](from_numpy(given), dim).numpy()
                    assert found.dtype == np.int64 and np.array_equal(found, x.cumsum(dim, dtype=np.int64)), (sizes, dim)
    finally:
        _native._use_kernels(4)


def test_infinities_of_logcumsumexp():
    inf = float("inf")
    found = registry["logcumsumexp"](aten.tensor([-inf, -inf, 1.0, inf, 2.0]), 0).tolist()
    assert found == [-inf, -inf, 1.0, inf, inf]


def test_scans_stay_native_with_history():
    x = from_numpy(np.array([[1.0, 3.0, 2.0], [4.0, 4.5, 0.5]])).requires_grad_()
    _native.python_entries(True)
    values, places = x.cummax(1)
    total = values.sum() + x.cumprod(1).sum() + x.logcumsumexp(0).sum()
    assert _native.python_entries(True) == {} and places.tolist() == [[0, 1, 1], [0, 1, 1]]
    assert total.requires_grad and not places.requires_grad
    assert aten.autograd.gradcheck(lambda t: t.cummax(1)[0], (x,))


@pytest.mark.parametrize("dim", (0, 1))
@pytest.mark.parametrize("zeros", ((), ((3, 5),), ((3, 5), (3, 9), (0, 0))))
def test_the_gradient_of_products_of_many_elements(zeros, dim):
    rng = np.random.default_rng(0)
    x = 1 + 0.01 * rng.standard_normal((130, 130))
    for place in zeros:
        x[place] = 0
    g = rng.standard_normal(x.shape)
    t = from_numpy(x).requires_grad_()
    (found,) = aten.autograd.grad(registry["cumprod"](t, dim), t, from_numpy(g))
    for i, k in ((3, 5), (0, 0), (100, 9), (3, 100)):  # by differences, exact for products of what is linear in each element
        up, down = x.copy(), x.copy()
        up[i, k] += 0.5
        down[i, k] -= 0.5
        expected = ((np.cumprod(up, dim) - np.cumprod(down, dim)) * g).sum()
        np.testing.assert_allclose(found.numpy()[i, k], expected, rtol=1e-9, atol=1e-9)
