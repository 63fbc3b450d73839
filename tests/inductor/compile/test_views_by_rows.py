"""Views in other dims that no loops are cut at: what lies in rows is read by rows, the rest is stored so first. No lane divides."""

from __future__ import annotations

import pytest

import weft
from aten import settings
from tests.inductor.agree import agree

R = weft.randn


def by_hand(x, w):
    n, c, height, width = x.shape
    g = x.reshape(n, 2, -1)
    v, m = weft.var_mean(g, -1, keepdim=True, correction=0)
    return ((g - m) * (v + 1e-5).rsqrt()).view(n, c, height, width) * w[:, None, None]


def from_channels(x, w):
    return x.permute(0, 2, 3, 1).reshape(x.shape[0], 2, -1).sum(-1)


def computed(x, w):
    y = x.relu() * w[:, None, None]
    return y.reshape(2, -1).amax(1), y.permute(1, 0, 2, 3).reshape(-1, x.shape[0]).softmax(0)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("f", [by_hand, from_channels, computed])
def test_no_lane_divides(f, dynamic, own_cache, kernels_made):
    for sizes in ((2, 6, 5, 7), (3, 4, 9, 2)):
        agree(f, R(*sizes), R(sizes[1]), dynamic=dynamic, tolerance=1e-5)
    assert kernels_made and not any(call in text for text in kernels_made for call in ("w_vfloordiv(", "w_remainder("))


def test_gradients_of_a_group_norm_by_hand():
    made = weft.compile(by_hand, fullgraph=True, dynamic=True)
    for sizes in ((2, 6, 5, 7), (1, 4, 9, 3), (3, 4, 2, 2)):
        x, w = R(*sizes), R(sizes[1])
        grads = []
        for run in (by_hand, made):
            a, b = x.clone().requires_grad_(), w.clone().requires_grad_()
            with settings.patch(cache=False):
                run(a, b).cos().sum().backward()
            grads.append((a.grad, b.grad))
        for plain, compiled in zip(*grads):
            assert weft.allclose(plain, compiled, rtol=1e-4, atol=1e-5)
