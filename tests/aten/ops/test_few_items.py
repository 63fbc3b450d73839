"""Norms of groups of few elements, cross products of views and renorm without gradients: what the definitions say."""

import numpy as np
import pytest

import weft
from weft.nn import functional as F

rng = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64])
@pytest.mark.parametrize("sizes", [(5, 2, 4), (3, 4, 2, 2), (2, 2, 15), (2, 3, 16), (2, 3, 17), (4, 2, 2)])
def test_instances_of_few_elements(sizes, dtype):
    x = weft.tensor(rng.standard_normal(sizes) + 100).to(dtype).requires_grad_()
    w = weft.tensor(rng.standard_normal(sizes[1])).to(dtype).requires_grad_()
    axes, wide = tuple(range(2, len(sizes))), x.detach().numpy().astype(np.float64)
    per_channel = w.detach().numpy().astype(np.float64).reshape(-1, *[1] * len(axes))
    centred = wide - wide.mean(axes, keepdims=True)
    rstd = 1 / np.sqrt((centred**2).mean(axes, keepdims=True) + 1e-5)
    g = rng.standard_normal(sizes)
    h = g * per_channel
    slope = rstd * (h - h.mean(axes, keepdims=True) - centred * rstd * (h * centred * rstd).mean(axes, keepdims=True))
    bounds = (1e-3, 1e-3) if dtype is weft.float32 else (1e-8, 1e-8)
    with weft.no_grad():
        np.testing.assert_allclose(F.instance_norm(x, weight=w).numpy(), centred * rstd * per_channel, *bounds)
    y = F.instance_norm(x, weight=w)
    np.testing.assert_allclose(y.detach().numpy(), centred * rstd * per_channel, *bounds)
    gx, gw = weft.autograd.grad(y, (x, w), weft.tensor(g).to(dtype))
    np.testing.assert_allclose(gx.numpy(), slope, *bounds)
    np.testing.assert_allclose(gw.numpy(), (g * centred * rstd).sum((0, *axes)), *bounds)


def test_cross_products_of_views():
    x, y = (weft.tensor(rng.standard_normal((7, 3))) for _ in range(2))
    expected = np.cross(x.numpy(), y.numpy())
    np.testing.assert_allclose(weft.linalg.cross(x.t(), y.t(), dim=0).numpy(), expected.T)
    np.testing.assert_allclose(weft.linalg.cross(x[:1].expand(7, 3), y).numpy(), np.cross(x.numpy()[:1], y.numpy()))


@pytest.mark.parametrize("p", [1, 2, 3.0, float("inf")])
def test_renorm_with_and_without_gradients(p):
    x = weft.tensor(rng.standard_normal((4, 5)))
    x[1] *= 0.01
    x[2, 0] = float("nan")
    weft.testing.assert_close(x.renorm(p, 0, 1.0), x.clone().requires_grad_().renorm(p, 0, 1.0).detach(), equal_nan=True)
