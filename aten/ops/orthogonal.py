"""Orthogonal polynomials of special functions, by their three-term recurrences."""

from typing import Any

import numpy as np

from aten.op import op
from aten.ops.pointwise import pointwise_meta


def _polynomial(name: str, first: Any, step: Any, shifted: bool = False) -> None:
    """`first(x)` is the polynomial of degree 1; `step(k, x, p, q)` that of degree k + 1 from degrees k (p) and k - 1 (q)."""

    @op(
        f"special_{name}(Tensor input, Tensor n) -> Tensor",
        tags=["library", "scalars", "function_only"],
        promote="float",
    )
    def rule(input: Any, n: Any) -> Any:
        return pointwise_meta(input, n)

    rule.__doc__ = f"`{name}` of degree n; 0 for n < 0."

    @rule.kernel
    def _(out, x, n):
        x, degree = np.broadcast_arrays(x, np.trunc(n))
        t = (2 * x - 1 if shifted else x).astype(np.float64)
        before, now = np.ones_like(t), first(t)
        result = np.where(degree == 0, before, np.where(degree == 1, now, 0.0))
        for k in range(1, int(degree.max(initial=0))):
            before, now = now, step(k, t, now, before)
            result = np.where(degree == k + 1, now, result)
        out[...] = result


def _chebyshev(k: int, x: Any, p: Any, q: Any) -> Any:
    return 2 * x * p - q


for _prefix, _shifted in (("", False), ("shifted_", True)):
    _polynomial(f"{_prefix}chebyshev_polynomial_t", lambda x: x, _chebyshev, _shifted)
    _polynomial(f"{_prefix}chebyshev_polynomial_u", lambda x: 2 * x, _chebyshev, _shifted)
    _polynomial(f"{_prefix}chebyshev_polynomial_v", lambda x: 2 * x - 1, _chebyshev, _shifted)
    _polynomial(f"{_prefix}chebyshev_polynomial_w", lambda x: 2 * x + 1, _chebyshev, _shifted)
_polynomial("hermite_polynomial_h", lambda x: 2 * x, lambda k, x, p, q: 2 * x * p - 2 * k * q)
_polynomial("hermite_polynomial_he", lambda x: x, lambda k, x, p, q: x * p - k * q)
_polynomial("laguerre_polynomial_l", lambda x: 1 - x, lambda k, x, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1))
_polynomial("legendre_polynomial_p", lambda x: x, lambda k, x, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1))
