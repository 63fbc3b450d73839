"""libdevice on the host, for Triton's interpreter, which has no CUDA: its functions by NumPy's and Python's."""

from __future__ import annotations

import math

import numpy as np
import triton.language as tl
from triton.language.extra import libdevice
from triton.runtime.interpreter import TensorHandle


def _erfinv(x: float) -> float:
    """Newton's method on erf, from a start in log(1 - x**2) (Winitzki 2008)."""
    if not -1 < x < 1:
        return math.copysign(math.inf, x) if abs(x) == 1 else math.nan
    log, a = math.log1p(-x * x), 0.147
    t = 2 / (math.pi * a) + log / 2
    y = math.copysign(math.sqrt(math.sqrt(t * t - log / a) - t), x)
    for _ in range(4):
        missing = math.erf(y) - x if abs(x) < 0.5 else math.copysign(1, x) * (1 - abs(x) - math.erfc(abs(y)))
        y -= missing / (2 / math.sqrt(math.pi) * math.exp(-y * y))
    return y


def _lgamma(x: float) -> float:
    return math.inf if math.isinf(x) or (x <= 0 and x == math.floor(x)) else math.lgamma(x)


FUNCTIONS = {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan, "atanh": np.arctanh,
    "atan2": np.arctan2, "copysign": np.copysign, "cosh": np.cosh, "erfc": np.vectorize(math.erfc, [float]),
    "erfinv": np.vectorize(_erfinv, [float]), "expm1": np.expm1, "fmod": np.fmod, "hypot": np.hypot,
    "lgamma": np.vectorize(_lgamma, [float]), "log10": np.log10, "log1p": np.log1p, "nextafter": np.nextafter, "pow": np.power,
    "rint": np.rint, "sinh": np.sinh, "tan": np.tan, "tanh": np.tanh, "trunc": np.trunc,
}  # fmt: skip


def _lifted(function):
    def call(*args):
        args = [a if isinstance(a, tl.tensor) else tl.full([1, 1], a, args[0].dtype) for a in args]
        scalar = args[0].type.scalar
        values = np.asarray(function(*(a.handle.data for a in args)), dtype=args[0].handle.data.dtype)
        kind = tl.block_type(scalar, list(values.shape)) if values.ndim else scalar
        return tl.tensor(TensorHandle(values, scalar), kind)

    return call


def install() -> None:
    """Replace the functions of `triton.language.extra.libdevice` in this process."""
    for name, function in FUNCTIONS.items():
        setattr(libdevice, name, _lifted(function))
