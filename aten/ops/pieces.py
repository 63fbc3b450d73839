"""NumPy's reductions in pieces: one call of them cannot be interrupted, and an expanded array may have any number of elements."""

from __future__ import annotations

from typing import Any

import numpy as np

PIECE = 1 << 25  # elements: a tenth of a second


def reduce_into(out: np.ndarray, ufunc: np.ufunc, x: np.ndarray, axes: tuple[int, ...] | None, keepdims: bool) -> None:
    """out = ufunc.reduce(x, axes), in the dtype of `out`."""
    if x.size <= PIECE:
        ufunc.reduce(x, axis=axes, keepdims=keepdims, dtype=out.dtype, out=out)
        return
    np.copyto(out, reduction(ufunc, x, axes, out.dtype).reshape(out.shape))


def reduction(ufunc: np.ufunc, x: np.ndarray, axes: tuple[int, ...] | None = None, dtype: Any = None) -> np.ndarray:
    """ufunc.reduce(x, axes) with the reduced dimensions kept, in `dtype` (that of x)."""
    return _reduced(ufunc, x, tuple(range(x.ndim)) if axes is None else axes, dtype or x.dtype)


def _reduced(ufunc: np.ufunc, x: np.ndarray, axes: tuple[int, ...], dtype: Any) -> np.ndarray:
    longest = max(axes, key=lambda d: x.shape[d], default=None)
    if x.size <= PIECE or longest is None or x.shape[longest] < 2:
        return ufunc.reduce(x, axis=axes, keepdims=True, dtype=dtype)
    n = x.shape[longest]
    step = max(1, PIECE // (x.size // n))
    parts = (x[(slice(None),) * longest + (slice(i, i + step),)] for i in range(0, n, step))
    total = _reduced(ufunc, next(parts), axes, dtype)
    for part in parts:
        total = ufunc(total, _reduced(ufunc, part, axes, dtype))
    return total
