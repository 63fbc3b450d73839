"""exp of matrices of all sizes of norm against the sum of the series in extended precision, and of what is no number."""

import math
from fractions import Fraction

import numpy as np
import pytest

import weft


def series(a):
    """exp(a) by squaring the series of a / 1024, in long doubles."""
    a = a.astype(np.longdouble) / 1024
    term = total = np.eye(len(a), dtype=np.longdouble)
    for k in range(1, 40):
        term = term @ a / k
        total = total + term
    for _ in range(10):
        total = total @ total
    return total.astype(np.float64)


@pytest.mark.parametrize("size", [1e-9, 0.3, 1.0, 1.09, 5.0, 60.0])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_every_norm(n, size):
    a = np.random.default_rng(0).standard_normal((n, n))
    a *= size / np.abs(a).sum(-1).max()
    want = series(a)
    for dtype, digits in ((weft.float64, 1e-12), (weft.float32, 1e-5)):
        found = weft.matrix_exp(weft.tensor(a, dtype=dtype))
        assert found.dtype is dtype
        assert np.abs(found.double().numpy() - want).max() <= digits * np.abs(want).max()


def test_terms_are_those_of_the_series():
    """Of a nilpotent matrix the sum ends: each power of N stands on a diagonal of its own, with 1 / k!."""
    n = 19
    found = weft.matrix_exp(weft.diag(weft.ones(n - 1, dtype=weft.float64), 1))
    for k in range(n):
        want = float(Fraction(1, math.factorial(k)))
        assert found.diagonal(k).numpy() == pytest.approx(np.full(n - k, want), rel=1e-9)


def test_what_is_no_number():
    for bad in (math.nan, math.inf):
        assert weft.matrix_exp(weft.tensor([[bad, 1.0], [0.0, 1.0]])).isnan().any()
    assert weft.matrix_exp(weft.zeros(2, 0, 0)).shape == (2, 0, 0)
