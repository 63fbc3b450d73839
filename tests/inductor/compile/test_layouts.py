"""Layouts and identities of results are eager's: strides of dims of one element, inputs returned, one tensor twice."""

from __future__ import annotations

import numpy as np
import pytest

import weft
from tests.inductor.agree import agree


def strided(sizes, strides):
    return weft.empty_strided(sizes, strides).fill_(1.0)


INPUTS = [
    strided((5, 1), (1, 5)),
    strided((1, 5), (1, 1)),
    strided((5, 5, 1, 1), (5, 1, 25, 25)),
    strided((3, 1, 2), (2, 7, 1)),
    strided((1, 1), (30, 2)),
]


@pytest.mark.parametrize("x", INPUTS, ids=lambda x: f"{tuple(x.shape)}{x.stride()}")
def test_strides_of_dims_of_one_element(x):
    agree(lambda x: (x + 1, x.transpose(0, -1) * 2, x.sum(0, keepdim=True), x.amax(-1, keepdim=True)), x)
    agree(lambda x: (x.unsqueeze(0).transpose(0, 1) + 1, x.transpose(0, -1).clone(), x.cumsum(-1), x.clone()), x)
    agree(lambda x: (weft.zeros_like(x), x.long(), x.softmax(0), x.unsqueeze(-1) * 2, x.contiguous() + 0), x, tolerance=1e-6)


def test_identities_of_results():
    def f(x, y):
        a = x + 1
        b = a.view(-1)
        return x, a, a, y.t(), b, y, a[:1], x

    x, y = weft.randn(2, 3), weft.randn(3, 4)
    plain, made = f(x, y), weft.compile(f, fullgraph=True)(x, y)
    for results in (plain, made):
        assert results[0] is x and results[-1] is x and results[5] is y and results[1] is results[2]
        storages = [t.untyped_storage().data_ptr() for t in results]
        assert storages[1] == storages[4] == storages[6] and storages[3] == storages[5]
    agree(f, x, y)


@pytest.mark.parametrize("n", [1, 3, 8, 17])
def test_signs_of_zero(n):
    a = weft.tensor([-0.0, 0.0, float("nan"), 1.0, float("nan"), 0.0] * 3)[:n]
    b = weft.tensor([0.0, -0.0, -0.0, float("nan"), float("nan"), -1.0] * 3)[:n]
    for f in (weft.fmax, weft.fmin, weft.maximum, weft.minimum):
        got, want = weft.compile(f)(a, b).numpy(), f(a, b).numpy()
        assert np.array_equal(got, want, equal_nan=True) and np.array_equal(np.signbit(got), np.signbit(want)), f


def test_a_result_laid_out_by_sizes_that_are_known_to_equal_its_own():
    """Strides of the gradient are in symbols of `y`, sizes in those of `x`: the backward has to be told."""
    x, y = weft.randn(1, 5, 1, requires_grad=True), weft.randn(8, 5, 13)
    weft.compile(lambda x, y: x - y, dynamic=True, fullgraph=True)(x, y).sum().backward()
    assert x.grad.flatten().tolist() == [104.0] * 5
