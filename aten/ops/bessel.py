"""Bessel functions, the Hurwitz zeta function and incomplete gamma functions, by quadrature and series in float64."""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from aten.op import ops, registry
from aten.ops.pointwise import binary, unary
from aten.scalar import numerics
from aten.scalar.numerics import via

Array = np.ndarray


@functools.cache
def _gauss() -> tuple[Array, Array]:
    return np.polynomial.legendre.leggauss(100)


def _quadrature(function: Callable[[Array, Array], Array], x: Array, ends: Array) -> Array:
    """The integral of function(x, t) for t from 0 to `ends`, by 400 Gauss-Legendre points on 4 pieces."""
    nodes, weights = _gauss()
    total = np.zeros(x.shape)
    for piece in range(4):
        t = ends[..., None] * ((piece + (nodes + 1) / 2) / 4)
        total += (function(x[..., None], t) * weights).sum(-1) * ends / 8
    return total


def bessel_j(n: int, x: Array) -> Array:
    """Bessel's integral: the mean of cos(n t - x sin t)."""
    x = x.astype(np.float64)
    return _quadrature(lambda x, t: np.cos(n * t - x * np.sin(t)), x, np.full(x.shape, np.pi)) / np.pi


def bessel_y(n: int, x: Array) -> Array:
    """The second kind: -inf at 0, NaN below."""
    x = x.astype(np.float64)
    y = np.where(x > 0, x, 1.0)
    waves = _quadrature(lambda x, t: np.sin(x * np.sin(t) - n * t), y, np.full(x.shape, np.pi))
    sign = (-1) ** n
    decay = lambda x, t: (np.exp(n * t) + sign * np.exp(-n * t)) * np.exp(-x * np.sinh(t))
    tail = _quadrature(decay, y, np.arcsinh(750 / y))
    return np.where(x > 0, (waves - tail) / np.pi, np.where(x == 0, -np.inf, np.nan))


def bessel_k(n: int, x: Array, scaled: bool) -> Array:
    """The modified second kind (times exp(x) if scaled): +inf at 0, NaN below."""
    x = x.astype(np.float64)
    y = np.where(x > 0, x, 1.0)
    shift = 1.0 if scaled else 0.0
    found = _quadrature(lambda x, t: np.exp(-x * (np.cosh(t) - shift)) * np.cosh(n * t), y, np.arccosh(1 + 750 / y))
    return np.where(x > 0, found, np.where(x == 0, np.inf, np.nan))


def airy(x: Array) -> Array:
    """Ai(x): its power series for |x| < 5, else asymptotic series."""
    x = x.astype(np.float64)
    inner = np.clip(x, -5, 5)
    f = term_f = np.ones_like(inner)
    g = term_g = inner
    for k in range(1, 60):
        term_f = term_f * inner**3 / ((3 * k - 1) * (3 * k))
        term_g = term_g * inner**3 / ((3 * k) * (3 * k + 1))
        f, g = f + term_f, g + term_g
    series = 0.355028053887817239 * f - 0.258819403792806798 * g
    size = np.maximum(np.abs(x), 5)
    z = 2 / 3 * size**1.5
    u, falling, cosine, sine = 1.0, 0.0, 0.0, 0.0
    for k in range(12):
        falling = falling + (-1) ** k * u / z**k
        if k % 2 == 0:
            cosine = cosine + (-1) ** (k // 2) * u / z**k
        else:
            sine = sine + (-1) ** (k // 2) * u / z**k
        u = u * (6 * k + 1) * (6 * k + 3) * (6 * k + 5) / (216 * (k + 1) * (2 * k + 1))
    above = np.exp(-z) * falling / (2 * math.sqrt(math.pi) * size**0.25)
    below = (np.cos(z - np.pi / 4) * cosine + np.sin(z - np.pi / 4) * sine) / (math.sqrt(math.pi) * size**0.25)
    return np.where(np.abs(x) < 5, series, np.where(x > 0, above, below))


def zeta(s: Array, q: Array) -> Array:
    """Hurwitz: the sum of (q + k)**-s, by Euler and Maclaurin. NaN for s < 1."""
    s, q = np.broadcast_arrays(s.astype(np.float64), q.astype(np.float64))
    pole = (q <= 0) & (q == np.floor(q))
    undefined = (s < 1) | ((q <= 0) & ~pole & (s != np.floor(s)))
    fine = ~pole & (s > 1) & ~undefined
    exponent, a = np.where(fine, s, 2.0), np.where(fine, q, 1.0)
    total = np.zeros(a.shape)
    while True:
        low = (a < 15) & (a > -1e4)
        if not low.any():
            break
        total = np.where(low, total + np.power(a, -exponent), total)
        a = np.where(low, a + 1, a)
    total = total + a ** (1 - exponent) / (exponent - 1) + 0.5 * a**-exponent
    rising, power = exponent, a ** (-exponent - 1)
    for k, b in enumerate((1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)):
        total = total + b * rising * power / math.factorial(2 * k + 2)
        rising, power = rising * (exponent + 2 * k + 1) * (exponent + 2 * k + 2), power / (a * a)
    return np.where(fine, total, np.where(undefined, np.nan, np.inf))


def gamma_lower(a: Array, x: Array) -> Array:
    """The regularised lower incomplete gamma function: its series for x < a + 1, else 1 - a continued fraction."""
    a, x = np.broadcast_arrays(a.astype(np.float64), x.astype(np.float64))
    good = (a > 0) & (x > 0) & np.isfinite(x) & np.isfinite(a)
    p, y = np.where(good, a, 1.0), np.where(good, x, 1.0)
    front = np.exp(-y + p * np.log(y) - numerics.lgamma(p))
    small = np.where(y < p + 1, y, 0.5 * p)
    term = total = 1 / p
    for k in range(1, 600):
        term = term * small / (p + k)
        before, total = total, total + term
        if (before == total).all():  # so it stays: the terms fall
            break
    big = np.where(y < p + 1, p + 2, y)
    b = big + 1 - p
    c, d = np.full(b.shape, 1e300), 1 / b
    h, still = d, np.full(b.shape, True)
    for k in range(1, 300):
        an = -k * (k - p)
        b = b + 2
        d = 1 / (an * d + b)
        c = b + an / c
        step = d * c
        h = np.where(still, h * step, h)
        still = still & (np.abs(step - 1) > 1e-16)  # of each element alone: what it is does not depend on the others
        if not still.any():
            break
    found = np.where(y < p + 1, front * total, 1 - front * h)
    found = np.where((a == 0) & (x > 0) | np.isposinf(x) & (a >= 0), 1.0, np.where((x == 0) & (a > 0) | np.isposinf(a), 0.0, found))
    bad = (a < 0) | (x < 0) | np.isnan(a) | np.isnan(x) | ((a == 0) & (x == 0)) | (np.isposinf(a) & np.isposinf(x))
    return np.where(bad, np.nan, found)


def _unary(name: str, function: Callable[[Array], Array], doc: str, derivative: Any = None) -> None:
    unary(f"special_{name}", via(function), inplace=False, derivative=derivative, doc=doc)


def _over(t: Any, x: Any, at_zero: float) -> Any:
    """t / x, and at_zero where x is 0."""
    zero = ops.eq(x, 0)
    return ops.where(zero, at_zero, t / ops.where(zero, 1.0, x))


_ORDERS = {
    "bessel_j0": (lambda x: bessel_j(0, x), lambda t, x: -t * ops.special_bessel_j1(x)),
    "bessel_j1": (lambda x: bessel_j(1, x), lambda t, x, out: t * (ops.special_bessel_j0(x) - _over(out, x, 0.5))),
    "bessel_y0": (lambda x: bessel_y(0, x), lambda t, x: -t * ops.special_bessel_y1(x)),
    "bessel_y1": (lambda x: bessel_y(1, x), lambda t, x, out: t * (ops.special_bessel_y0(x) - out / x)),
    "modified_bessel_i1": (
        lambda x: numerics.bessel_i(1, x),
        lambda t, x, out: t * (ops.i0(x) - _over(out, x, 0.5)),
    ),
    "modified_bessel_k0": (lambda x: bessel_k(0, x, False), lambda t, x: -t * ops.special_modified_bessel_k1(x)),
    "modified_bessel_k1": (
        lambda x: bessel_k(1, x, False),
        lambda t, x, out: -t * (ops.special_modified_bessel_k0(x) + out / x),
    ),
    "scaled_modified_bessel_k0": (
        lambda x: bessel_k(0, x, True),
        lambda t, x, out: t * (out - ops.special_scaled_modified_bessel_k1(x)),
    ),
    "scaled_modified_bessel_k1": (
        lambda x: bessel_k(1, x, True),
        lambda t, x, out: t * (out - ops.special_scaled_modified_bessel_k0(x) - out / x),
    ),
}
for _name, (_function, _product) in _ORDERS.items():
    _unary(_name, _function, f"The Bessel function {_name.removeprefix('bessel_')} (Abramowitz & Stegun, chapter 9).", _product)
_unary("airy_ai", airy, "The Airy function Ai.")
_unary(
    "spherical_bessel_j0",
    lambda x: np.where(x == 0, 1.0, np.sin(x) / np.where(x == 0, 1.0, x)),
    "sin(x) / x.",
    lambda t, x, out: t * _over(x.cos() - out, x, 0.0),
)
binary(
    "special_zeta",
    via(zeta),
    promote="float",
    inplace=False,
    derivative=(None, lambda t, x, y: t * (-x * ops.special_zeta(x + 1, y))),
    doc="The Hurwitz zeta function.",
)


def _gamma_density(x: Any, y: Any) -> Any:
    return ((x - 1) * y.log() - y - x.lgamma()).exp()


binary(
    "igamma",
    via(gamma_lower),
    promote="float",
    derivative=(None, lambda t, x, y: t * _gamma_density(x, y)),
    doc="The regularised lower incomplete gamma function.",
)
binary(
    "igammac",
    via(lambda a, x: 1 - gamma_lower(a, x)),
    promote="float",
    derivative=(None, lambda t, x, y: -t * _gamma_density(x, y)),
    doc="The regularised upper incomplete gamma function.",
)
registry["special_gammainc"], registry["special_gammaincc"] = registry["igamma"], registry["igammac"]
