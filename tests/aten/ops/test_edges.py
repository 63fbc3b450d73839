"""Edges of ops, as PyTorch 2.13 has them: NaN coordinates, nothing to reduce, bools, halves beside integers, slopes at zero."""

import math

import pytest

import weft
import weft.special
from weft.nn import functional as F

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize("padding", ["border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_coordinates_that_are_nan_lie_at_zero(padding, mode):
    image = weft.arange(4.0).reshape(1, 1, 2, 2)
    grid = weft.tensor([[[[NAN, 1.0], [1.0, NAN], [NAN, NAN]]]])
    assert F.grid_sample(image, grid, mode, padding, True).tolist() == [[[[2.0, 1.0, 0.0]]]]
    grid = weft.tensor([[[[NAN, 1.0]]]], dtype=weft.float64, requires_grad=True)
    F.grid_sample(image.double(), grid, mode, padding, True).sum().backward()
    assert grid.grad[0, 0, 0, 0] == 0


def test_bincount_wants_a_weight_of_each():
    with pytest.raises(RuntimeError, match="same length"):
        weft.bincount(weft.tensor([1, 2]), weft.tensor([1.0, 2.0, 3.0]))


def test_index_add_of_bools_times_a_number():
    for alpha, expected in ((1, True), (0, False), (2, True)):
        found = weft.zeros(3, dtype=weft.bool).index_add(0, weft.tensor([1]), weft.tensor([True]), alpha=alpha)
        assert found.dtype is weft.bool and found.tolist() == [False, expected, False]


def test_the_median_of_nothing():
    for name, expected in (("int8", 0), ("uint8", 0), ("int32", -(1 << 31)), ("int64", -(1 << 63))):
        assert weft.median(weft.zeros(0, dtype=getattr(weft, name))).item() == expected
    x = weft.zeros(0, 3, requires_grad=True)
    x.median().backward()
    assert x.grad.shape == (0, 3)


@pytest.mark.parametrize("dtype", [weft.float16, weft.bfloat16])
def test_functions_of_a_half_and_an_integer_are_halves(dtype):
    x, y = weft.full((2,), 3.0, dtype=dtype), weft.ones(2, dtype=weft.int8)
    for f in (weft.xlogy, weft.ldexp, weft.logaddexp, weft.logaddexp2, weft.special.xlog1py):
        assert f(x, y).dtype is dtype and f(y, x).dtype is dtype, f


def test_ldexp_of_halves_is_rounded_once():
    x = weft.tensor([2.0**-14, 2.0**14], dtype=weft.float16)
    assert weft.ldexp(x, weft.tensor([20, -30])).tolist() == [64.0, 2.0**-16]


def test_second_derivatives_of_the_norm_of_complex_numbers_of_which_one_is_zero():
    z = weft.tensor([0j, 3 + 4j], dtype=weft.complex128, requires_grad=True)
    (g,) = weft.autograd.grad(weft.linalg.vector_norm(z), z, create_graph=True)
    (gg,) = weft.autograd.grad(weft.real(g * g.conj()).sum() + weft.real(g[0]), z)
    assert weft.allclose(gg, weft.tensor([0.2 + 0j, 0j], dtype=weft.complex128), atol=1e-12)


def test_group_norm_of_one_number_a_group_is_refused():
    with pytest.raises(ValueError, match="more than 1 value"):
        F.group_norm(weft.ones(1, 3), 3)
    x = weft.tensor([[1.0, 2.0, 7.0], [4.0, 5.0, 6.0]])
    assert F.group_norm(x, 3).tolist() == [[0.0] * 3] * 2
    value, slope = weft.func.jvp(lambda x: F.group_norm(x, 3), (x,), (x,))  # by its definition
    assert value.tolist() == slope.tolist() == [[0.0] * 3] * 2


DRAWS = [
    lambda p: weft.bernoulli(p),
    lambda p: weft.zeros(3).bernoulli_(p),
    lambda p: p.clone().bernoulli_(0.5),
    lambda p: weft.normal(p, 1.0),
    lambda p: weft.normal(0.0, p),
    lambda p: weft.normal(p, p),
    lambda p: p.clone().uniform_(),
    lambda p: p.clone().random_(),
    lambda p: weft.poisson(p),
]


@pytest.mark.parametrize("draw", range(len(DRAWS)))
def test_random_numbers_have_no_slope_in_what_they_are_drawn_for(draw):
    p = weft.full((3,), 0.5, requires_grad=True)
    DRAWS[draw](p).sum().backward()
    assert p.grad.tolist() == [0.0] * 3


def test_slopes_of_determinants_of_singular_matrices_and_of_nan():
    a = weft.tensor([[[1.0, 2.0], [2.0, 4.0]], [[1.0, NAN], [3.0, 4.0]], [[2.0, 1.0], [1.0, 3.0]]], requires_grad=True)
    weft.linalg.det(a).sum().backward()
    assert weft.allclose(a.grad[0], weft.tensor([[4.0, -2.0], [-2.0, 1.0]])) and a.grad[1].isnan().all()
    assert weft.allclose(a.grad[2], weft.tensor([[3.0, -1.0], [-1.0, 2.0]]))
