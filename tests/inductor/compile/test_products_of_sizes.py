"""Sizes that are differences of symbols (what a convolution leaves), multiplied: one stride however its factors came together."""

from __future__ import annotations

import pytest

import weft
from aten import settings

F = weft.nn.functional
POOLS = {
    "max": lambda y: F.max_pool2d(y, 2),
    "avg": lambda y: F.avg_pool2d(y, 2),
    "adaptive": lambda y: F.adaptive_avg_pool2d(y, (2, 3)),
}


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("kernel", [1, 3])
def test_gradients_of_convolutions_below_pools(pool, kernel):
    def f(x, w):
        return POOLS[pool](F.conv2d(x, w))

    def results(run):
        weft.manual_seed(0)
        x, w = weft.randn(1, 2, 8, 8).requires_grad_(), weft.randn(4, 2, kernel, kernel).requires_grad_()
        y = run(x, w)
        (y * weft.randn(y.shape)).sum().backward()
        return y.detach(), x.grad, w.grad

    with settings.patch(cache=False):
        for plain, made in zip(results(f), results(weft.compile(f, fullgraph=True, dynamic=True))):
            assert weft.allclose(plain, made, rtol=1e-4, atol=1e-5)
