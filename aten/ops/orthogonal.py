"""Orthogonal polynomials of special functions: three-term recurrences, and Chebyshev's as functions of angles inside of [-1, 1]."""

from collections.abc import Callable
from typing import Any

import numpy as np

from aten.op import op
from aten.ops.pointwise import pointwise_meta

Array = np.ndarray
_WHOLE = 2.0**63  # degrees beyond, as NaN, are none that a 64-bit integer holds


def _polynomial(
    name: str, first: Any, step: Any, closed: Callable[..., tuple[Array, Array]] | None = None, shifted: bool = False
) -> None:
    """`first(x)` is the polynomial of degree 1; `step(k, x, p, q)` that of degree k + 1 from degrees k (p) and k - 1 (q);
    `closed(x, n)` says where no recurrence is needed, and what the values are there."""

    @op(
        f"special_{name}(Tensor input, Tensor n) -> Tensor",
        tags=["library", "scalars", "function_only", "constant"],
        promote="float",
    )
    def rule(input: Any, n: Any) -> Any:
        return pointwise_meta(input, n)

    rule.__doc__ = f"`{name}` of degree n; 0 for n < 0."

    @rule.kernel
    def _(out, x, n):
        x, n = np.broadcast_arrays(x.astype(np.float64), n)
        with np.errstate(all="ignore"):
            degree = np.where(np.abs(n) < _WHOLE, np.trunc(n), -1.0)
            t = x + x - 1 if shifted else x
            result = np.where(degree == 0, np.ones_like(t), np.where(degree == 1, first(t), np.zeros_like(t)))
            left = degree > 1
            if closed is not None:
                known, values = closed(t, degree)
                result, left = np.where(left & known, values, result), left & ~known
            result[left] = _recurrence(t[left], degree[left], first, step, np.finfo(out.dtype).max)
        out[...] = result


MOST_TERMS = 1 << 20


def _recurrence(x: Array, degree: Array, first: Any, step: Any, most: float) -> Array:
    """The polynomials of degrees above 1, until all are known or have left the range of the result's numbers (`most`): what is
    beyond it is infinite, from which NaN follows, and stays. Raises RuntimeError beyond `MOST_TERMS` (some ten seconds)."""
    before, now, result = np.ones_like(x), first(x), np.full_like(x, np.nan)
    for k in range(1, int(degree.max(initial=0))):
        if k > MOST_TERMS:
            raise RuntimeError(f"a polynomial of degree {int(degree.max())} takes more than {MOST_TERMS} terms")
        before, now = now, step(k, x, now, before)
        now = np.where(np.abs(now) > most, np.copysign(np.inf, now), now)
        result = np.where(degree == k + 1, now, result)
        if k % 64 == 0 and (np.isnan(now) | (degree <= k + 1)).all():
            break
    return result


def _chebyshev(k: int, x: Any, p: Any, q: Any) -> Any:
    return (x + x) * p - q


def _odd(n: Array) -> Array:
    return np.where(n % 2 == 0, 1, -1)


def _angles(least: int, inside: Any, at_one: Any, at_minus_one: Any) -> Callable[..., tuple[Array, Array]]:
    """Known are the ends of [-1, 1], and what lies between for degrees above `least`."""

    def closed(x: Array, n: Array) -> tuple[Array, Array]:
        end, between = np.abs(x) == 1, (np.abs(x) < 1) & (n > least)
        values = inside(n, np.arccos(np.where(between, x, 0)))
        return end | between, np.where(end, np.where(x > 0, at_one(n), at_minus_one(n)), values)

    return closed


for _prefix, _shifted, _least in (("", False, (6, 8, 8, 8)), ("shifted_", True, (6, 6, 6, 4))):
    _polynomial(
        f"{_prefix}chebyshev_polynomial_t",
        lambda x: x,
        _chebyshev,
        _angles(_least[0], lambda n, a: np.cos(n * a), np.ones_like, _odd),
        _shifted,
    )
    _polynomial(
        f"{_prefix}chebyshev_polynomial_u",
        lambda x: x + x,
        _chebyshev,
        _angles(_least[1], lambda n, a: np.sin((n + 1) * a) / np.sin(a), lambda n: n + 1, lambda n: _odd(n) * (n + 1)),
        _shifted,
    )
    _polynomial(
        f"{_prefix}chebyshev_polynomial_v",
        lambda x: x + x - 1,
        _chebyshev,
        _angles(_least[2], lambda n, a: np.cos((n + 0.5) * a) / np.cos(a / 2), np.ones_like, lambda n: _odd(n) * (n + n + 1)),
        _shifted,
    )
    _polynomial(
        f"{_prefix}chebyshev_polynomial_w",
        lambda x: x + x + 1,
        _chebyshev,
        _angles(_least[3], lambda n, a: np.sin((n + 0.5) * a) / np.sin(a / 2), lambda n: n + n + 1, _odd),
        _shifted,
    )


def _at_one(x: Array, n: Array) -> tuple[Array, Array]:
    return np.abs(x) == 1, np.where(x > 0, 1, _odd(n))


_polynomial("hermite_polynomial_h", lambda x: x + x, lambda k, x, p, q: (x + x) * p - 2 * k * q)
_polynomial("hermite_polynomial_he", lambda x: x, lambda k, x, p, q: x * p - k * q)
_polynomial(
    "laguerre_polynomial_l",
    lambda x: 1 - x,
    lambda k, x, p, q: ((k + k + (1 - x)) * p - k * q) / (k + 1),
    lambda x, n: (x == 0, np.ones_like(x)),
)
_polynomial("legendre_polynomial_p", lambda x: x, lambda k, x, p, q: ((k + k + 1) * x * p - k * q) / (k + 1), _at_one)
