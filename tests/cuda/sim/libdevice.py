"""NVIDIA's libdevice on the host: its functions by NumPy's and Python's, for Triton's interpreter, which has none.

They are those that weft's kernels name, and the common ones of whoever writes kernels by hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

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


def _gamma(x: float) -> float:
    if x == math.inf or math.isnan(x):
        return x
    if x == 0:
        return math.copysign(math.inf, x)
    if x == -math.inf or x == math.floor(x) < 0:
        return math.nan
    return math.gamma(x) if x < 171.7 else math.inf


def _i1(x: float) -> float:
    """The modified Bessel function I1: its series, of terms with one sign; for large x the mean of exp(x cos t) cos t."""
    if abs(x) < 30:
        terms = [(abs(x) / 2) ** (2 * k + 1) / (math.factorial(k) * math.factorial(k + 1)) for k in range(80)]
        return math.copysign(math.fsum(terms), x)
    if not math.isfinite(x):
        return x
    cosines = np.cos(np.arange(1024) * (math.tau / 1024))
    return float(np.mean(np.exp(x * cosines) * cosines))


def _each(f: Callable[..., float]) -> Callable[..., np.ndarray]:
    return np.vectorize(f, [float])


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "ceil": np.ceil,
    "copysign": np.copysign,
    "cos": np.cos,
    "cosh": np.cosh,
    "cyl_bessel_i0": np.i0,
    "cyl_bessel_i1": _each(_i1),
    "div_rn": np.divide,
    "erf": _each(math.erf),
    "erfc": _each(math.erfc),
    "erfinv": _each(_erfinv),
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "fabs": np.abs,
    "fast_dividef": np.divide,
    "fast_expf": np.exp,
    "fdim": lambda a, b: np.maximum(a - b, 0),
    "floor": np.floor,
    "fma": lambda a, b, c: a * b + c,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "fmod": np.fmod,
    "hypot": np.hypot,
    "ldexp": lambda a, b: np.ldexp(a, b.astype(int)),
    "lgamma": _each(_lgamma),
    "llrint": np.rint,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "nearbyint": np.rint,
    "nextafter": np.nextafter,
    "pow": np.power,
    "rcp_rn": np.reciprocal,
    "rint": np.rint,
    "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "rsqrt_rn": lambda x: 1 / np.sqrt(x),
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "sqrt_rn": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
    "tgamma": _each(_gamma),
    "trunc": np.trunc,
}
PREDICATES: dict[str, Callable[..., Any]] = {
    "finitef": np.isfinite, "isfinited": np.isfinite, "isinf": np.isinf, "isnan": np.isnan, "signbit": np.signbit
}  # fmt: skip


def _lifted(function: Callable[..., Any], result: Any = None) -> Callable[..., Any]:
    """On the interpreter's tensors; numbers among the arguments are of the first tensor's type."""

    def call(*args: Any, _semantic: Any = None) -> Any:
        first = next(a for a in args if isinstance(a, tl.tensor))
        dtype = first.handle.data.dtype
        with np.errstate(all="ignore"):
            values = np.asarray(function(*(a.handle.data if isinstance(a, tl.tensor) else dtype.type(a) for a in args)))
        scalar = result or first.type.scalar
        values = values.astype(np.int32 if result else dtype)
        kind = tl.block_type(scalar, list(values.shape)) if first.type.is_block() else scalar
        return tl.tensor(TensorHandle(values, scalar), kind)

    return call


_CALLS = {name: _lifted(f) for name, f in FUNCTIONS.items()} | {name: _lifted(f, tl.int32) for name, f in PREDICATES.items()}


def patch(set_attr: Callable[[Any, str, Any], None] = setattr) -> None:
    """Puts them into `triton.language.extra.libdevice`."""
    for name, call in _CALLS.items():
        if hasattr(libdevice, name):
            set_attr(libdevice, name, call)
