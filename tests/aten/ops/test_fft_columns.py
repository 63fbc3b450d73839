"""Transforms along dims that are not the last: some side by side, in rows whose number their block divides or does not."""

import numpy as np
import pytest

import weft

rng = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("sizes", [(12, 16), (3, 8, 48), (2, 30, 40), (5, 7, 16), (16, 4, 5), (8, 17)])
def test_transforms_of_columns(sizes, dtype):
    x = (rng.standard_normal(sizes) + 1j * rng.standard_normal(sizes)).astype(dtype)
    tolerance = 1e-4 if dtype == np.complex64 else 1e-11
    for dim in range(len(sizes)):
        for ours, numpys in ((weft.fft.fft, np.fft.fft), (weft.fft.ifft, np.fft.ifft)):
            np.testing.assert_allclose(
                ours(weft.from_numpy(x), dim=dim).numpy(), numpys(x, axis=dim), rtol=tolerance, atol=tolerance
            )
