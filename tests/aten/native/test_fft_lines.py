"""Transforms of sixteen lines at a time, of fewer, along other dims, and of sizes with every radix, against NumPy's."""

import numpy as np
import pytest

import weft

_SIZES = [(20, 512), (33, 24), (16, 40), (17, 7), (3, 16, 1000), (16, 2), (16, 1), (40, 8), (2, 64, 64), (16, 22), (16, 4096)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sizes", _SIZES, ids=str)
def test_transforms(sizes, dtype):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(sizes).astype(dtype)
    z = (x + 1j * rng.standard_normal(sizes)).astype(np.result_type(dtype, np.complex64))
    real, complex_ = weft.from_numpy(x), weft.from_numpy(z)

    def check(found, wanted):
        np.testing.assert_allclose(found.numpy(), wanted, rtol=0, atol=100 * np.finfo(dtype).eps * np.abs(wanted).max())

    for name in ("fft", "ifft", "fft2"):
        check(getattr(weft.fft, name)(complex_), getattr(np.fft, name)(z))
    for name in ("rfft", "rfft2"):
        check(getattr(weft.fft, name)(real), getattr(np.fft, name)(x))
    check(weft.fft.fft(complex_, dim=0), np.fft.fft(z, axis=0))
    check(weft.fft.irfft(weft.fft.rfft(real), sizes[-1]), x)
