"""Gradients of matrices lie as these do: one seen by its columns has such a gradient, a transposed weight a row-major one."""

from __future__ import annotations

import pytest

import weft

PRODUCTS = {
    "transposed weight": (lambda x, w: x @ w.t(), (6, 1), (6, 1)),
    "weight": (lambda x, w: x @ w.reshape(6, 5), (6, 1), (6, 1)),
    "of columns": (lambda x, w: x.t().contiguous().t() @ w.t(), (1, 3), (6, 1)),
    "linear": (lambda x, w: weft.nn.functional.linear(x, w), (6, 1), (6, 1)),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", PRODUCTS)
def test_of_two_matrices(name, compiled):
    f, left, right = PRODUCTS[name]
    x, w = weft.ones(3, 6, requires_grad=True), weft.ones(5, 6, requires_grad=True)
    y = (weft.compile(f) if compiled else f)(x, w)
    assert [g.stride() for g in weft.autograd.grad(y.pow(2).sum(), (x, w))] == [left, right]


@pytest.mark.parametrize("compiled", [False, True])
def test_of_many_rows(compiled):
    f = lambda x, w: x @ w.t()
    x, w = weft.ones(2, 3, 6, requires_grad=True), weft.ones(5, 6, requires_grad=True)
    y = (weft.compile(f) if compiled else f)(x, w)
    assert [g.stride() for g in weft.autograd.grad(y.pow(2).sum(), (x, w))] == [(18, 6, 1), (6, 1)]
