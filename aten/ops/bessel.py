"""Bessel functions, the Hurwitz zeta function and incomplete gamma functions, by quadrature and series in float64."""

import functools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from aten import _native
from aten.op import composite, ops, registry
from aten.ops.pointwise import binary, unary
from aten.scalar import numerics
from aten.scalar.numerics import via
from aten.scalar.unpatched import math
from aten.tensor import from_numpy

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


_NEAR, _FAR = 2.0, 50.0  # below, power series; above, asymptotic ones; between, polynomials
_PIECE, _DEGREE = 3.0, 26  # their widths and degree: 0, where Y and K are singular, is far enough from the first for 16 digits
_EULER = 0.57721566490153286061


@functools.cache
def _polynomials(function: Callable[[Array], Array]) -> Array:
    """Chebyshev coefficients of a function between _NEAR and _FAR, a column for each piece."""
    angles = (np.arange(_DEGREE + 1) + 0.5) * (np.pi / (_DEGREE + 1))
    places = np.arange(_NEAR, _FAR, _PIECE) + (np.cos(angles)[:, None] + 1) * (_PIECE / 2)
    found = np.cos(np.arange(_DEGREE + 1)[:, None] * angles) @ function(places) * (2 / (_DEGREE + 1))
    found[0] /= 2
    return found


def _between(function: Callable[[Array], Array], x: Array) -> Array:
    """A function of _NEAR <= x < _FAR, which is integrated once a process at the places that say what its polynomials are."""
    found = np.empty_like(x)
    _native.chebyshev_by_pieces(from_numpy(_polynomials(function)), from_numpy(x), from_numpy(found), _NEAR, _PIECE)
    return found


def _by_size(x: Array, near: Any, between: Any, far: Any) -> Array:
    """Of x > 0, three functions of the elements of each kind; NaN of others."""
    found = np.full(x.shape, np.nan)
    for where, function in (((x > 0) & (x < _NEAR), near), ((x >= _NEAR) & (x < _FAR), between), (x >= _FAR, far)):
        if where.any():
            found[where] = function(x[where])
    return found


def _far_wave(n: int, x: Array, kind: str) -> Array:
    """J or Y of x >= _FAR by Hankel's expansion: two series in 1 / x by the sine and cosine of x - (2n + 1) pi / 4."""
    with np.errstate(invalid="ignore"):
        sine, cosine = np.where(np.isinf(x), 0.0, np.sin(x)), np.where(np.isinf(x), 0.0, np.cos(x))
    root = math.sqrt(0.5)
    c, s = ((cosine + sine) * root, (sine - cosine) * root) if n == 0 else ((sine - cosine) * root, -(sine + cosine) * root)
    term, parts = np.ones_like(x), [np.zeros_like(x), np.zeros_like(x)]
    for k in range(20):
        parts[k % 2] = parts[k % 2] + (-1) ** (k // 2) * term
        term = term * (4 * n * n - (2 * k + 1) ** 2) / (8 * (k + 1) * x)
    p, q = parts
    return np.sqrt(2 / (np.pi * x)) * (p * c - q * s if kind == "j" else p * s + q * c)


def _near_series(n: int, x: Array, sign: int) -> tuple[Array, Array]:
    """Of 0 < x < _NEAR: J (sign -1) or I (1), and its series with term k times psi(k + 1) + psi(k + n + 1)."""
    quarter, term = sign * x * x / 4, np.ones_like(x)
    psi, psi_n = -_EULER, -_EULER + n
    total, weighted = np.zeros_like(x), np.zeros_like(x)
    for k in range(18):
        total, weighted = total + term, weighted + term * (psi + psi_n)
        term = term * quarter / ((k + 1) * (k + 1 + n))
        psi, psi_n = psi + 1 / (k + 1), psi_n + 1 / (k + 1 + n)
    power = (x / 2) ** n
    return total * power, weighted * power


@functools.cache
def _j_integral(n: int) -> Callable[[Array], Array]:
    """Bessel's integral, the mean of cos(n t - x sin t)."""
    return lambda x: _quadrature(lambda x, t: np.cos(n * t - x * np.sin(t)), x, np.full(x.shape, np.pi)) / np.pi


def bessel_j(n: int, x: Array) -> Array:
    """The first kind. Order n is as odd as n is."""
    x = x.astype(np.float64)
    size = np.abs(x)
    found = _by_size(
        size, lambda x: _near_series(n, x, -1)[0], lambda x: _between(_j_integral(n), x), lambda x: _far_wave(n, x, "j")
    )
    found = np.where(np.isfinite(x), np.where(x == 0, 0.0 if n else 1.0, found), np.nan)
    return np.copysign(1.0, x) * found if n else found


@functools.cache
def _y_integral(n: int) -> Callable[[Array], Array]:
    """The mean of sin(x sin t - n t), less an integral to infinity of what falls."""
    sign = (-1) ** n
    wave = lambda x, t: np.sin(x * np.sin(t) - n * t)
    decay = lambda x, t: (np.exp(n * t) + sign * np.exp(-n * t)) * np.exp(-x * np.sinh(t))
    return lambda x: (_quadrature(wave, x, np.full(x.shape, np.pi)) - _quadrature(decay, x, np.arcsinh(750 / x))) / np.pi


def bessel_y(n: int, x: Array) -> Array:
    """The second kind: -inf at 0, NaN below."""
    x = x.astype(np.float64)

    def series(x: Array) -> Array:
        j, weighted = _near_series(n, x, -1)
        with np.errstate(over="ignore"):
            return (2 * (np.log(x) - math.log(2)) * j - weighted - (2 / x if n else 0.0)) / np.pi

    found = _by_size(x, series, lambda x: _between(_y_integral(n), x), lambda x: _far_wave(n, x, "y"))
    return np.where(x == 0, -np.inf, np.where(np.isfinite(x), found, np.nan))


@functools.cache
def _k_integral(n: int) -> Callable[[Array], Array]:
    """exp(x) K(x)."""
    return lambda x: _quadrature(lambda x, t: np.exp(-x * (np.cosh(t) - 1)) * np.cosh(n * t), x, np.arccosh(1 + 750 / x))


def bessel_k(n: int, x: Array, scaled: bool) -> Array:
    """The modified second kind (times exp(x) if scaled): +inf at 0, 0 at inf, NaN below."""
    x = x.astype(np.float64)

    def series(x: Array) -> Array:
        i, weighted = _near_series(n, x, 1)
        half = weighted / 2
        with np.errstate(over="ignore"):
            found = 1 / x + (np.log(x) - math.log(2)) * i - half if n else half - (np.log(x) - math.log(2)) * i
        return found * np.exp(x)

    def far(x: Array) -> Array:
        term = total = np.ones_like(x)
        for k in range(1, 20):
            term = term * (4 * n * n - (2 * k - 1) ** 2) / (8 * k * x)
            total = total + term
        return total * np.sqrt(np.pi / 2 / x)

    found = _by_size(x, series, lambda x: _between(_k_integral(n), x), far)
    return np.where(x == 0, np.inf, found if scaled else found * np.exp(-np.abs(x)))


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
    found = np.where(np.abs(x) < 5, series, np.where(x > 0, above, below))
    return np.where(np.isfinite(x), found, np.nan)


def zeta(s: Array, q: Array) -> Array:
    """Hurwitz: the sum of (q + k)**-s, by Euler and Maclaurin. NaN for s < 1."""
    s, q = np.broadcast_arrays(s.astype(np.float64), q.astype(np.float64))
    pole = (q <= 0) & (q == np.floor(q))
    undefined = np.isnan(s) | (s < 1) | ((q <= 0) & ~pole & (s != np.floor(s))) | (q == np.inf)
    fine = ~pole & (s > 1) & ~undefined
    exponent, a = np.where(fine, s, 2.0), np.where(fine, q, 1.0)
    total, last = np.zeros(a.shape), np.full(a.shape, np.inf)
    while True:
        low = (a < 15) & (a > -1e4)
        if not low.any():
            break
        last = np.where(low, np.power(a, -exponent), last)
        total = np.where(low, total + last, total)
        a = np.where(low, a + 1, a)
    whole = np.where(np.abs(last) < np.finfo(np.float64).eps * np.abs(total), total, np.nan)  # what follows is lost in it
    total = total + a ** (1 - exponent) / (exponent - 1) + 0.5 * a**-exponent
    rising, power = exponent, a ** (-exponent - 1)
    for k, b in enumerate((1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)):
        total = total + b * rising * power / math.factorial(2 * k + 2)
        rising, power = rising * (exponent + 2 * k + 1) * (exponent + 2 * k + 2), power / (a * a)
    total = np.where(np.isnan(whole), total, whole)
    return np.where(fine, total, np.where(undefined, np.nan, np.inf))


@functools.cache
def _temme() -> Array:
    """Coefficients of c_k(eta) in powers of eta (DLMF 8.12.10): 1/mu - 1/eta of eta**2 / 2 = mu - log(1 + mu), and what follows by
    derivatives, in which the poles cancel."""
    terms, orders = 40, 8
    mu = [Fraction(0), Fraction(1)]
    for n in range(2, terms + 2):
        inner = sum((mu[i] * (n + 1 - i) * mu[n + 1 - i] for i in range(2, n)), Fraction(0))
        mu.append((mu[n - 1] - inner) / (n + 1))
    inverse = [Fraction(1)]  # of mu / eta
    for n in range(1, terms + 1):
        inverse.append(-sum((mu[i + 1] * inverse[n - i] for i in range(1, n + 1)), Fraction(0)))
    c = [inverse[1:]]
    for _ in range(1, orders):
        last = c[-1]
        c.append([(n + 2) * last[n + 2] - last[1] * inverse[n + 1] for n in range(len(last) - 2)])
    return np.array([[float(v) for v in row] + [0.0] * (terms - len(row)) for row in c])


def _uniform(a: Array, x: Array, upper: bool) -> Array:
    """Temme's uniform expansion for large a and x near it."""
    mu = (x - a) / a
    small = np.abs(mu) < 0.01
    series = sum((-1) ** k * mu**k / k for k in range(2, 12))
    eta = np.copysign(np.sqrt(2 * np.where(small, series, mu - np.log1p(mu))), mu)
    rest = np.zeros_like(a)
    for row in _temme()[::-1]:
        rest = rest / a + np.polynomial.polynomial.polyval(eta, row)
    scale = np.exp(-0.5 * a * eta * eta) / np.sqrt(2 * np.pi * a)
    side = 1 if upper else -1
    return 0.5 * numerics.erfc(side * eta * np.sqrt(a / 2)) + side * scale * rest


def _of_terms(function: Callable[..., None], a: Array, x: Array) -> Array:
    """A native sum or fraction of numbers, those like each other together: one that needs many terms has few others wait for it."""
    order = np.argsort(np.abs(x - a) / np.sqrt(a))
    found, sorted_found = np.empty_like(a), np.empty_like(a)
    function(from_numpy(a[order]), from_numpy(x[order]), from_numpy(sorted_found))
    found[order] = sorted_found
    return found


def incomplete_gamma(a: Array, x: Array, upper: bool) -> Array:
    """The regularised incomplete gamma functions: a series for x < a + 1, else a continued fraction."""
    a, x = np.broadcast_arrays(a.astype(np.float64), x.astype(np.float64))
    found = np.full(a.shape, np.nan)
    good = (a > 0) & (x > 0) & np.isfinite(x) & np.isfinite(a)
    near = good & (a > 20) & (np.abs(x - a) < 0.3 * a)
    if near.any():
        found[near] = _uniform(a[near], x[near], upper)
    good &= ~near
    below = x < a + 1
    for chosen, function, gives_upper in ((below, _native.gamma_series, False), (~below, _native.gamma_fraction, True)):
        where = good & chosen
        if where.any():
            p, y = a[where], x[where]
            part = np.exp(-y + p * np.log(y) - numerics.lgamma(p)) * _of_terms(function, p, y)
            found[where] = part if gives_upper == upper else 1 - part
    # (Whatever the other argument is, NaN too.)
    all_below = (a == 0) & (x > 0) | np.isposinf(x) & ~(np.isposinf(a) | (a < 0))
    all_above = (x == 0) & ~((a == 0) | (a < 0)) | np.isposinf(a) & ~(np.isposinf(x) | (x < 0))
    return np.where(all_below, 0.0 if upper else 1.0, np.where(all_above, 1.0 if upper else 0.0, found))


def _unary(name: str, function: Callable[[Array], Array], doc: str) -> None:
    """A function that PyTorch does not differentiate: its results are constants, which require no grad."""
    unary(f"special_{name}", via(function), inplace=False, constant=True, doc=doc)


@composite("special_modified_bessel_i0(Tensor input) -> Tensor", tags=["function_only"])
def special_modified_bessel_i0(input):
    """Modified Bessel function of order 0, of float32 and float64. Unlike `i0` it is not differentiated."""
    return ops.i0(input.detach())


@composite("special_modified_bessel_i1(Tensor input) -> Tensor", tags=["function_only"])
def special_modified_bessel_i1(input):
    """Modified Bessel function of order 1, of float32 and float64. Unlike `i1` it is not differentiated."""
    return ops.special_i1(input.detach())


_ORDERS = {
    "bessel_j0": lambda x: bessel_j(0, x),
    "bessel_j1": lambda x: bessel_j(1, x),
    "bessel_y0": lambda x: bessel_y(0, x),
    "bessel_y1": lambda x: bessel_y(1, x),
    "modified_bessel_k0": lambda x: bessel_k(0, x, False),
    "modified_bessel_k1": lambda x: bessel_k(1, x, False),
    "scaled_modified_bessel_k0": lambda x: bessel_k(0, x, True),
    "scaled_modified_bessel_k1": lambda x: bessel_k(1, x, True),
}
for _name, _function in _ORDERS.items():
    _unary(_name, _function, f"The Bessel function {_name.removeprefix('bessel_')} (Abramowitz & Stegun, chapter 9).")
_unary("airy_ai", airy, "The Airy function Ai.")
_unary(
    "spherical_bessel_j0",
    lambda x: np.where(x == 0, 1.0, np.where(np.isinf(x), 0.0, np.sin(np.where(np.isinf(x), 0.0, x))) / np.where(x == 0, 1.0, x)),
    "sin(x) / x.",
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
    via(lambda a, x: incomplete_gamma(a, x, False)),
    promote="float",
    numbers=False,
    derivative=(None, lambda t, x, y: t * _gamma_density(x, y)),
    doc="The regularised lower incomplete gamma function.",
)
binary(
    "igammac",
    via(lambda a, x: incomplete_gamma(a, x, True)),
    promote="float",
    numbers=False,
    derivative=(None, lambda t, x, y: -t * _gamma_density(x, y)),
    doc="The regularised upper incomplete gamma function.",
)
registry["special_gammainc"], registry["special_gammaincc"] = registry["igamma"], registry["igammac"]
