"""What NumPy's casts to floats of eight bits do otherwise than PyTorch's."""

import numpy as np


def saturated(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """`x` as it is cast to `dtype`: what float8_e4m3fn cannot hold, infinities too, becomes 448, its greatest number."""
    if dtype.name != "float8_e4m3fn" or x.dtype.kind == "c":
        return x
    return np.clip(x.astype(np.float64), -448.0, 448.0)
