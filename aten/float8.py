"""Floats of eight bits: which dtypes they are, and what NumPy's casts to them do otherwise than PyTorch's."""

from typing import Any

import numpy as np


def is_float8(dtype: Any) -> bool:
    """Whether it is one of the floats of eight bits, which few ops compute with."""
    return dtype.is_floating_point and dtype.itemsize == 1


def saturated(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """`x` as it is cast to `dtype`: what float8_e4m3fn cannot hold, infinities too, becomes 448, its greatest number;
    float8_e8m0fnu has powers of two alone, of magnitudes."""
    if x.dtype.kind == "c":
        return x
    if dtype.name == "float8_e8m0fnu":
        codes = powers(x)
        return np.where(codes == 255, np.nan, np.ldexp(1.0, codes.astype(np.int64) - 127))
    return np.clip(x.astype(np.float64), -448.0, 448.0) if dtype.name == "float8_e4m3fn" else x


def powers(x: np.ndarray) -> np.ndarray:
    """Magnitudes as powers of two: the nearest, ties up; the exponents that float8_e8m0fnu keeps (255: NaN)."""
    bits = np.abs(x.astype(np.float32)).view(np.uint32)
    exponent, half, more = bits >> 23, (bits >> 22) & 1, (bits & 0x3FFFFF) != 0
    return np.where(exponent == 255, 255, exponent + (half & (more | (exponent > 0))))
