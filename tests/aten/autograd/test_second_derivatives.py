"""gradcheck and gradgradcheck of every differentiable op on its samples, and on complex numbers where it takes them.

One in seven here; all of them with WEFT_TEST_LONG=1, which takes some minutes.
"""

import os

import numpy as np
import pytest

import aten
from aten import autograd, pytree
from aten.tensor import Tensor, from_numpy
from tests.samples.inputs import names, samples

_LARGEST = 40  # elements; differences take a call for each
# Not differentiable where the samples are: casts to float32 have too few digits for differences.
_LEFT_OUT = {("cast", 0, False), ("cast", 0, True)}
_calls = {name: samples(name) for name in names()}
CASES = [(name, i, c) for name in names() for i in range(len(_calls[name])) for c in (False, True) if (name, i, c) not in _LEFT_OUT]
SHOWN = CASES if os.environ.get("WEFT_TEST_LONG") else CASES[::7]


def differentiable(name, i, is_complex):
    """(the op as a function of its floating arguments, those)"""
    leaves, spec = pytree.flatten(_calls[name][i])
    places = [k for k, x in enumerate(leaves) if isinstance(x, Tensor) and x.dtype is aten.float64 and 0 < x.numel() <= _LARGEST]
    rng = np.random.default_rng(i)

    def leaf(x):
        a = x.numpy()
        a = a + 1j * rng.uniform(0.2, 0.8, a.shape) if is_complex else a
        return from_numpy(np.ascontiguousarray(a)).requires_grad_()

    def call(*xs):
        filled = list(leaves)
        for k, x in zip(places, xs):
            filled[k] = x
        args, kwargs = pytree.unflatten(filled, spec)
        outs = [o for o in pytree.leaves(aten.registry[name](*args, **kwargs)) if isinstance(o, Tensor)]
        return tuple(o for o in outs if o.dtype.is_floating_point or o.dtype.is_complex)

    return call, tuple(leaf(leaves[k]) for k in places)


@pytest.mark.parametrize("name,i,is_complex", SHOWN)
def test_first_and_second_derivatives(name, i, is_complex):
    call, inputs = differentiable(name, i, is_complex)
    if not inputs:
        return  # nothing of the sample is differentiable
    try:
        outs = call(*inputs)
    except (NotImplementedError, RuntimeError, TypeError, ValueError):
        assert is_complex, "the sample itself fails"
        return  # an op that refuses complex numbers
    if any(o.requires_grad for o in outs):
        assert autograd.gradcheck(call, inputs, eps=1e-5, atol=1e-5)
        assert autograd.gradgradcheck(call, inputs, eps=1e-5, atol=1e-4)


@pytest.mark.parametrize("n", (3, 9))
def test_the_determinant_of_a_matrix_that_is_singular_but_for_rounding(n):
    """sin(a + b) is of rank two; its determinant is about 1e-17, not 0."""
    a = from_numpy(np.sin(np.arange(float(n * n)).reshape(n, n)) * 0.5).requires_grad_()
    if n == 3:
        assert autograd.gradgradcheck(aten.registry["linalg_det"], (a,), atol=1e-6)
    else:
        (g,) = autograd.grad(aten.registry["linalg_det"](a), a, create_graph=True)
        (second,) = autograd.grad(g.sum(), a)
        assert abs(second.numpy()).max() < 1e-6
