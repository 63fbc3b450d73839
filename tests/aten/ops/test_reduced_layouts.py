"""What is summed across memory is the sum of its copy without gaps, to the bit."""

import numpy as np
import pytest

import weft

rng = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", [weft.float32, weft.bfloat16, weft.int64, weft.complex64], ids=str)
def test_columns_that_stand_apart(dtype):
    x = weft.tensor(rng.standard_normal((150, 40, 2)) * 9).to(dtype)
    for view in (x[:, :, 1], x[::2, ::3, 0], x.permute(2, 0, 1)[1], x.reshape(30, 5, 40, 2)[..., 0]):
        dense = view.contiguous()
        for f in (weft.sum, weft.mean, weft.amax) if dtype.is_floating_point else (weft.sum,):
            assert weft.equal(f(view, 0), f(dense, 0)) and weft.equal(f(view, 0, keepdim=True), f(dense, 0, keepdim=True))


def test_the_gradient_of_all_combinations():
    x, y = (weft.tensor(rng.standard_normal(50), requires_grad=True) for _ in range(2))
    g = rng.standard_normal((2500, 2))
    gx, gy = weft.autograd.grad(weft.cartesian_prod(x, y), (x, y), weft.tensor(g))
    np.testing.assert_allclose(gx.numpy(), g[:, 0].reshape(50, 50).sum(1))
    np.testing.assert_allclose(gy.numpy(), g[:, 1].reshape(50, 50).sum(0))
