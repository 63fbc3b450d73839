"""Loops of NumPy for the elementwise ops whose meaning no single function of NumPy has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def sign(x: np.ndarray, out: np.ndarray) -> None:
    if x.dtype.kind == "b":
        out[...] = x
    elif x.dtype.kind == "f":
        np.sign(x, out=out)
        np.copyto(out, 0, where=np.isnan(x))
    else:
        np.sign(x, out=out)


def absolute(x: np.ndarray, out: np.ndarray) -> None:
    if x.dtype.kind == "b":
        out[...] = x
    else:
        np.abs(x, out=out)


def round_to_even(x: np.ndarray, out: np.ndarray) -> None:
    np.rint(x, out=out) if x.dtype.kind in "fc" else np.copyto(out, x)


# Powers of complex numbers by one number that are closer, and at 0 and infinities right, in other words.
_COMPLEX_POWERS: dict[complex, Any] = {0.5: np.sqrt, -0.5: lambda x: 1 / np.sqrt(x), -1: lambda x: 1 / x, -2: lambda x: 1 / (x * x)}


def power(x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    if out.dtype.kind in "iu":
        negative, odd = y < 0, (y & 1) == 1
        inverse = np.where(x == 1, 1, np.where(x == -1, np.where(odd, -1, 1), 0)) if out.dtype.kind == "i" else 0
        np.power(x, np.where(negative, np.zeros((), y.dtype), y), out=out)  # (which may be x or y)
        np.copyto(out, np.broadcast_to(inverse, out.shape).astype(out.dtype), where=negative)
    elif out.dtype.kind == "b":
        out[...] = x | ~y
    elif out.dtype.kind == "c" and not np.ndim(y) and complex(y) in _COMPLEX_POWERS:
        out[...] = _COMPLEX_POWERS[complex(y)](x)
    else:
        np.power(x, y, out=out)


def _remainder(x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    """Of the sign of the divisor; a zero keeps the sign of x, as in the native loop (NumPy's takes that of y)."""
    if out.dtype.kind != "f":
        np.remainder(x, y, out=out)
        return
    r = np.fmod(x, y)
    out[...] = np.where((r != 0) & ((r < 0) != (y < 0)), r + y, r)


def nonzero_divisor(function: Callable[..., Any]) -> Callable[..., Any]:
    def kernel(x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        if out.size and y.dtype.kind in "iu" and not np.all(y):
            raise RuntimeError("ZeroDivisionError")
        function(x, y, out=out)

    return kernel


def _floor_divide(x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    np.floor_divide(x, y, out=out)
    if out.dtype.kind == "f":
        np.divide(x, y, out=out, where=np.broadcast_to(y == 0, out.shape))


def _shift(left: bool) -> Callable[..., Any]:
    def kernel(x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        bits = 8 * x.dtype.itemsize
        wide = (y < 0) | (y >= bits)
        if left:
            out[...] = np.where(wide, np.zeros((), x.dtype), np.left_shift(x, np.where(wide, np.zeros((), y.dtype), y)))
        else:
            out[...] = (
                np.right_shift(x, np.where(wide, np.array(bits - 1, y.dtype), y))
                if x.dtype.kind == "i"
                else np.where(wide, np.zeros((), x.dtype), np.right_shift(x, np.where(wide, np.zeros((), y.dtype), y)))
            )

    return kernel


fmod, remainder, floor_divide = map(nonzero_divisor, (np.fmod, _remainder, _floor_divide))
left_shift, right_shift = _shift(True), _shift(False)
