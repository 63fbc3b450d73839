"""Complex numbers by loops of vectors: NumPy's bits of quotients, exponentials close to the exact ones, and
C's where a part is not finite."""

import numpy as np
import pytest

from aten.op import registry
from aten.tensor import from_numpy

ODD = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e30, -1e-30]


def numbers(dtype, seed, n=3000):
    rng = np.random.default_rng(seed)
    z = (rng.standard_normal(n) + 1j * rng.standard_normal(n)).astype(dtype)
    pairs = np.array([complex(a, b) for a in ODD for b in ODD]).astype(dtype)
    z[: len(pairs)] = pairs if seed % 2 else pairs[::-1]
    return z


def same(a, b):
    for part in ("real", "imag"):
        np.testing.assert_array_equal(getattr(a, part), getattr(b, part))
        known = ~np.isnan(getattr(a, part))
        np.testing.assert_array_equal(np.signbit(getattr(a, part)[known]), np.signbit(getattr(b, part)[known]))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_quotients_have_the_bits_of_numpy(dtype):
    x, y = numbers(dtype, 0), numbers(dtype, 1)
    div = registry["div"]
    with np.errstate(all="ignore"):
        expected = x / y
        by_one, of_every_second = x / y[1000], x[::2] / y[1::2]
    same(np.asarray(div(from_numpy(x), from_numpy(y))), expected)
    same(np.asarray(div(from_numpy(x), complex(y[1000]))), by_one)
    same(np.asarray(div(from_numpy(x)[::2], from_numpy(y)[1::2])), of_every_second)
    inplace = from_numpy(x.copy())
    same(np.asarray(div.inplace(inplace, from_numpy(y))), expected)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_exponentials(dtype):
    rng = np.random.default_rng(0)
    z = (rng.uniform(-80, 80, 5000) + 1j * rng.uniform(-50, 50, 5000)).astype(dtype)
    exact = np.exp(z.astype(np.clongdouble))
    for shown, wanted in ((z, exact), (z[::3], exact[::3])):
        found = np.asarray(registry["exp"](from_numpy(shown)))
        eps = np.finfo(dtype).eps
        assert (np.abs(found - wanted) <= 3 * eps * np.abs(wanted)).all()


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_exponentials_of_what_is_not_finite(dtype):
    z = numbers(dtype, 1, 81)
    with np.errstate(all="ignore"):
        expected = np.exp(z)
    for found in (np.asarray(registry["exp"](from_numpy(z))), np.asarray(registry["exp"](from_numpy(np.repeat(z, 9))))[::9]):
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    far = np.array([89.5 + 1.5707j, 700 + 1j, 709.9 + 1.57079j, -200 + 2j]).astype(dtype)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(np.asarray(registry["exp"](from_numpy(far))), np.exp(far), rtol=1e-5)
