"""What norms and standard deviations save for their gradients: argument and result, which hooks may cast.

The counts, gradients are PyTorch 2.13's.
"""

import math

import pytest

import weft

INF = math.inf
OF = {
    "std": lambda x: x.std(1),
    "std of all": lambda x: x.std(),
    "std_mean": lambda x: weft.std_mean(x, 1)[0],
    "norm": lambda x: x.norm(),
    "vector_norm 3": lambda x: weft.linalg.vector_norm(x, 3, 1),
    "norm 1.5": lambda x: x.norm(1.5, 1),
    "norm 0.5": lambda x: x.norm(0.5, 1),
    "norm -1": lambda x: x.norm(-1, 1),
    "norm inf": lambda x: x.norm(INF, 1),
    "matrix_norm": lambda x: weft.linalg.matrix_norm(x),
    "pairwise_distance": lambda x: weft.nn.functional.pairwise_distance(x, x.detach() + 1),
}


def _x():
    return weft.tensor([[0.9, 0.2, 0.3], [0.4, 0.7, 0.6]], requires_grad=True)


@pytest.mark.parametrize("name", OF)
def test_two_tensors_are_packed(name):
    packed, unpacked = [], []
    x = _x()
    with weft.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: unpacked.append(t) or t):
        y = OF[name](x)
    y.sum().backward()
    assert (len(packed), len(unpacked)) == (2, 2)
    assert all(t.dtype is weft.float32 for t in packed)


@pytest.mark.parametrize("name", OF)
def test_hooks_may_save_halves(name):
    x, plain = _x(), _x()
    with weft.autograd.graph.saved_tensors_hooks(lambda t: t.half(), lambda t: t.float()):
        y = OF[name](x)
    y.sum().backward()
    OF[name](plain).sum().backward()
    if "inf" not in name:  # (whose argument, cast, no longer has the extreme)
        assert weft.allclose(x.grad, plain.grad, atol=4e-3, rtol=4e-3)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.median(),
        lambda x: x.nanmedian(),
        lambda x: x.nansum(1),
        lambda x: x.nanmean(1),
        lambda x: x.nan_to_num(0.0),
        lambda x: weft.nn.functional.dropout(x, 0.5),
        lambda x: weft.nn.functional.triplet_margin_loss(x, x * 2, x * 3),
    ],
)
def test_hooks_may_cast_a_mask(f):
    """Which these save where PyTorch saves the argument."""
    x, plain = _x(), _x()
    weft.manual_seed(0)
    with weft.autograd.graph.saved_tensors_hooks(lambda t: t.half(), lambda t: t.float()):
        y = f(x)
    y.sum().backward()
    weft.manual_seed(0)
    f(plain).sum().backward()
    assert weft.allclose(x.grad, plain.grad, atol=4e-3, rtol=4e-3)


@pytest.mark.parametrize(
    "p, expected",
    [
        (2, [[0.9045, -0.3015, 0.3015], [0.0, 0.0, 0.0]]),
        (3, [[0.9535, -0.1059, 0.1059], [0.0, 0.0, 0.0]]),
        (1.5, [[0.8971, -0.5180, 0.5180], [0.0, 0.0, 0.0]]),
        (0.5, [[2.1547, -3.7321, 3.7321], [0.0, 0.0, 0.0]]),
    ],
)
def test_gradients(p, expected):
    """0 where the norm is 0; second derivatives there are no NaN, but of orders for which they are infinite."""
    x = weft.tensor([[0.9, -0.3, 0.3], [0.0, 0.0, 0.0]], dtype=weft.float64, requires_grad=True)
    (g,) = weft.autograd.grad(x.norm(p, dim=1).sum(), x, create_graph=True)
    assert weft.allclose(g, weft.tensor(expected, dtype=weft.float64), atol=1e-4)
    (second,) = weft.autograd.grad((g * g.detach()).sum(), x)
    assert p == 1.5 or bool(second.isfinite().all())


@pytest.mark.parametrize("name", [name for name in OF if "pairwise" not in name])
def test_second_derivatives(name):
    x = weft.tensor([[0.9, -0.3, 0.4], [0.5, 1.0, -2.0]], dtype=weft.float64, requires_grad=True)
    assert weft.autograd.gradcheck(OF[name], (x,))
    assert weft.autograd.gradgradcheck(OF[name], (x,))
