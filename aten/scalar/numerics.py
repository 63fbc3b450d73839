"""Scalar functions that NumPy lacks, as NumPy functions: what native kernels are compared with."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .unpatched import math


def via(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel from a function without `out=`."""

    def kernel(*args: Any, out: np.ndarray) -> None:
        out[...] = function(*args)

    return kernel


def integers_stay(ufunc: Callable[..., Any]) -> Callable[..., Any]:
    """The ufunc of floats; integers and bools are themselves."""

    def kernel(x: np.ndarray, out: np.ndarray) -> None:
        if x.dtype.kind in "iub":
            out[...] = x
        else:
            ufunc(x, out=out)

    return kernel


_erf = np.frompyfunc(math.erf, 1, 1)
_erfc = np.frompyfunc(math.erfc, 1, 1)


def erf(x: np.ndarray) -> np.ndarray:
    return np.asarray(_erf(x.astype(np.float64)), np.float64)


def erfc(x: np.ndarray) -> np.ndarray:
    return np.asarray(_erfc(x.astype(np.float64)), np.float64)


def _lgamma_one(x: float) -> float:
    if x == math.inf or x == -math.inf:
        return math.inf
    return math.inf if x <= 0 and x == math.floor(x) else math.lgamma(x)


_lgamma = np.frompyfunc(_lgamma_one, 1, 1)


def lgamma(x: np.ndarray) -> np.ndarray:
    """log |gamma(x)|; +inf at the poles."""
    return np.asarray(_lgamma(x.astype(np.float64)), np.float64)


def polygamma_series(x: np.ndarray, n: int) -> np.ndarray:
    """polygamma(n, x) for n >= 1: recurrence up to x >= 15, then the Euler-Maclaurin tail. Beyond 170, n! is infinite, as it
    is in PyTorch, and so is what is not a product of it and 0."""
    x = np.array(x, np.float64)
    total = np.zeros_like(x)
    while True:
        low = (x < 15) & (x > -1e4)
        if not low.any():
            break
        total = np.where(low, total + x ** -(n + 1.0), total)
        x = np.where(low, x + 1, x)
    if n > 170:
        return (-1) ** (n + 1) * math.inf * (total + x ** -(n + 1.0))
    tail = x**-n / n + x ** -(n + 1.0) / 2
    rising, bernoulli = float(n + 1), (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
    for k, b in enumerate(bernoulli):
        tail = tail + b * rising / math.factorial(2 * k + 2) * x ** -(n + 2.0 * k + 2)
        rising *= (n + 2 * k + 2) * (n + 2 * k + 3)
    return (-1) ** (n + 1) * math.factorial(n) * (total + tail)


def digamma(x: np.ndarray) -> np.ndarray:
    """The derivative of lgamma: recurrence to x >= 10, asymptotic series, reflection below 0; -inf at 0, NaN at
    the poles.
    """
    x = np.array(x, np.float64)
    negative = x < 0
    pole = negative & (x == np.floor(x))
    y = np.where(negative, 1 - x, x)
    shift = np.zeros_like(y)
    for _ in range(10):
        low = y < 10
        shift = np.where(low, shift - 1 / np.where(low, y, 1), shift)
        y = np.where(low, y + 1, y)
    z = 1 / (y * y)
    series = z * (1 / 12 - z * (1 / 120 - z * (1 / 252 - z * (1 / 240 - z * (1 / 132 - z * (691 / 32760 - z / 12))))))
    result = shift + np.log(y) - 0.5 / y - series
    fraction = x - np.floor(x)
    result = np.where(negative, result - np.pi / np.tan(np.pi * np.where(negative & ~pole, fraction, 0.5)), result)
    result = np.where(pole, np.nan, result)
    return np.where(x == 0, np.copysign(np.inf, -x), result)


def erfinv(y: np.ndarray) -> np.ndarray:
    """Inverse of erf on [-1, 1]: an initial guess (Giles 2012) and Newton steps on erf."""
    y = np.array(y, np.float64)
    inside = np.abs(y) < 1
    t = np.where(inside, y, 0.0)
    w = -np.log((1 - t) * (1 + t))
    centre = w - 2.5
    p = np.full_like(t, 2.81022636e-08)
    for c in (
        3.43273939e-07,
        -3.5233877e-06,
        -4.39150654e-06,
        0.00021858087,
        -0.00125372503,
        -0.00417768164,
        0.246640727,
        1.50140941,
    ):
        p = c + p * centre
    tail_w = np.sqrt(w) - 3
    q = np.full_like(t, -0.000200214257)
    for c in (
        0.000100950558,
        0.00134934322,
        -0.00367342844,
        0.00573950773,
        -0.0076224613,
        0.00943887047,
        1.00167406,
        2.83297682,
    ):
        q = c + q * tail_w
    x = np.where(w < 5, p, q) * t
    for _ in range(2):
        residual = np.where(np.abs(t) > 0.5, np.sign(t) * (erfc(np.abs(x)) * -1 + (1 - np.abs(t))), erf(x) - t)
        x = x - residual / (2 / math.sqrt(math.pi) * np.exp(-x * x))
    return np.where(inside, x, np.where(np.abs(y) == 1, np.copysign(np.inf, y), np.nan))


def erfcx(x: np.ndarray) -> np.ndarray:
    """exp(x*x) * erfc(x): directly below 5, by its continued fraction above."""
    x = x.astype(np.float64)
    small = np.where(x < 5, x, 0.0)
    direct = np.exp(np.minimum(small * small, 709)) * erfc(small)
    direct = np.where(small < -26.6, np.inf, direct)
    big = np.where(x < 5, 5.0, x)
    fraction = np.zeros_like(big)
    for k in range(60, 0, -1):
        fraction = k / 2 / (big + fraction)
    return np.where(x < 5, direct, 1 / (big + fraction) / math.sqrt(math.pi))


def ndtri(p: np.ndarray) -> np.ndarray:
    """Where the normal distribution function is p: by erfinv in the middle, in the tails by Newton's steps on its logarithm.

    That is concave, and -sqrt(-2 log p) lies left of the place, so the steps approach it from one side.
    """
    p = np.array(p, np.float64)
    inside = (p > 0) & (p < 1)
    tail = np.where(inside & (p < 0.3), p, np.where(inside & (p > 0.7), 1 - p, 0.3))
    logarithm = np.log(tail)
    x = -np.sqrt(-2 * logarithm)
    for _ in range(8):
        e = erfcx(x * -math.sqrt(0.5))
        x = x - (np.log(e / 2) - x * x / 2 - logarithm) * e * math.sqrt(math.pi / 2)
    middle = erfinv(np.where(inside, p, 0.5) * 2 - 1) * math.sqrt(2)
    found = np.where(p < 0.3, x, np.where(p > 0.7, -x, middle))
    return np.where(inside, found, np.where(p == 0, -np.inf, np.where(p == 1, np.inf, np.nan)))


def sigmoid(x: np.ndarray) -> np.ndarray:
    if x.dtype.kind == "c":
        return 1 / (1 + np.exp(-x))
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


def polynomial(x: np.ndarray, coefficients: tuple[float, ...]) -> np.ndarray:
    """Horner's rule, highest power first."""
    total = np.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        total = total * x + c
    return total


def bessel_i(order: int, x: np.ndarray) -> np.ndarray:
    """Modified Bessel function of the first kind, orders 0 and 1: power series below 20, asymptotic series above."""
    x = np.array(x, np.float64)
    return np.exp(np.abs(x)) * bessel_ie(order, x)


def bessel_ie(order: int, x: np.ndarray) -> np.ndarray:
    """exp(-|x|) times the modified Bessel function of the first kind."""
    x = np.array(x, np.float64)
    a = np.abs(x)
    quarter = np.minimum(a, 20) ** 2 / 4
    term = np.full_like(a, 1.0)
    series = term.copy()
    for k in range(1, 80):
        term = term * quarter / (k * (k + order))
        series = series + term
    small = np.exp(-np.minimum(a, 20)) * series * (np.minimum(a, 20) / 2 if order else 1.0)
    safe = np.maximum(a, 20)
    term = np.full_like(a, 1.0)
    asymptotic = term.copy()
    for k in range(1, 25):
        term = term * -(4.0 * order * order - (2 * k - 1) ** 2) / (8 * k * safe)
        asymptotic = asymptotic + term
    result = np.where(a < 20, small, asymptotic / np.sqrt(2 * np.pi * safe))
    return np.where(x < 0, -result, result) if order else result
