"""Gradients where a function has a kink, a pole or a zero: PyTorch 2.13's, by `torch.autograd.grad(f(x).sum(), x)` on float64."""

import math

import numpy as np
import pytest

import aten
import weft
from aten.tensor import from_numpy
from aten.transforms import grad, jvp

F = weft.nn.functional
INF, NAN = math.inf, math.nan
EDGES = (-3.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 3.0, 6.0)


def tensor(*values):
    return from_numpy(np.array(values, float)).requires_grad_()


@pytest.mark.parametrize(
    "name,expected",
    [
        ("relu", [0, 0, 0, 0, 0, 1, 1, 1, 1]),
        ("relu6", [0, 0, 0, 0, 0, 1, 1, 1, 0]),
        ("hardtanh", [0, 0, 1, 1, 1, 1, 0, 0, 0]),
        ("hardsigmoid", [0, 1 / 6, 1 / 6, 1 / 6, 1 / 6, 1 / 6, 1 / 6, 0, 0]),
        ("hardswish", [0, 1 / 6, 1 / 3, 0.5, 0.5, 2 / 3, 5 / 6, 1, 1]),
        ("leaky_relu", [0.01, 0.01, 0.01, 0.01, 0.01, 1, 1, 1, 1]),
        ("elu", [0.04978707, 0.36787944, 0.60653066, 1, 1, 1, 1, 1, 1]),
        ("selu", [0.08753075, 0.64676873, 1.06634110, 1.75809934, 1.75809934] + [1.05070099] * 4),
        ("logsigmoid", [0.95257413, 0.73105858, 0.62245933, 0.5, 0.5, 0.37754067, 0.26894142, 0.04742587, 0.00247262]),
        ("softshrink", [1, 1, 0, 0, 0, 0, 1, 1, 1]),
        ("softsign", [0.0625, 0.25, 4 / 9, 1, 1, 4 / 9, 0.25, 0.0625, 1 / 49]),
    ],
)
def test_an_activation(name, expected):
    x = tensor(*EDGES)
    (g,) = aten.autograd.grad(getattr(F, name)(x).sum(), x)
    np.testing.assert_allclose(g.numpy(), expected, rtol=1e-5)


TWO = [
    ("atan2", (0.0, 1.0), (0.0, 1.0), [0, 0.5], [0, -0.5]),
    ("xlogy", (0.0, 0.0, 1.0), (0.0, 2.0, 0.0), [0, 0.69314718, -INF], [NAN, 0, INF]),
    ("special_xlog1py", (0.0, 0.0, 1.0), (-1.0, 2.0, 0.0), [0, 1.09861229, 0], [NAN, 0, 1]),
    ("logaddexp", (0.0, INF, -INF, 1.0), (0.0, INF, -INF, INF), [0.5, NAN, NAN, 0], [0.5, NAN, NAN, 1]),
    ("maximum", (0.0, 1.0), (0.0, 0.0), [0.5, 1], [0.5, 0]),
    ("pow", (0.0, 0.0, 0.0, 2.0), (0.0, 1.0, 2.0, 0.0), [0, 1, 0, 0], [0, 0, 0, 0.69314718]),
    ("clamp_min", (0.0, 1.0, -1.0), (0.0, 0.0, 0.0), [1, 1, 0], [0, 0, 1]),
    ("clamp_max", (0.0, 1.0, -1.0), (0.0, 0.0, 0.0), [1, 0, 1], [0, 1, 0]),
]


@pytest.mark.parametrize("name,x,y,gx,gy", TWO)
def test_two_arguments(name, x, y, gx, gy):
    x, y = tensor(*x), tensor(*y)
    found = aten.autograd.grad(aten.registry[name](x, y).sum(), [x, y])
    np.testing.assert_allclose(found[0].numpy(), gx)
    np.testing.assert_allclose(found[1].numpy(), gy)


LOGITS = (0.0, 0.0, -800.0, 800.0)
TARGET = (0.0, 1.0, 1.0, 0.0)
LOSSES = [
    (lambda x, t: F.binary_cross_entropy_with_logits(x, t), LOGITS, TARGET, [0.125, -0.125, -0.25, 0.25]),
    (
        lambda x, t: F.binary_cross_entropy_with_logits(x, t, pos_weight=tensor(2.0).detach()),
        LOGITS,
        TARGET,
        [0.125, -0.25, -0.5, 0.25],
    ),
    (lambda x, t: F.multilabel_soft_margin_loss(x[None], t[None]), (0.0, 0.0, 2.0), (0.0, 1.0, 1.0), [1 / 6, -1 / 6, -0.03973431]),
    (lambda x, t: F.binary_cross_entropy(x, t), (0.0, 1.0), (0.0, 1.0), [0, 0]),
    (lambda x, t: F.binary_cross_entropy(x.sigmoid(), t), (40.0, -800.0), (1.0, 0.0), [0, 0]),
    (lambda x, t: F.huber_loss(x, t), (0.0, 1.0, -1.0), (0.0, 0.0, 0.0), [0, 1 / 3, -1 / 3]),
    (lambda x, t: x.amax(0), (2.0, NAN, 2.0), (), [NAN, NAN, NAN]),
    (lambda x, t: x.amax(0), (2.0, 1.0, 2.0), (), [0.5, 0, 0.5]),
    (lambda x, t: x.median(), (1.0, 2.0, 2.0, 3.0), (), [0, 0.5, 0.5, 0]),
    (lambda x, t: x.median(0)[0], (2.0, 1.0, 2.0, 3.0), (), [1, 0, 0, 0]),
    (lambda x, t: x.mode(0)[0], (2.0, 1.0, 2.0, 3.0), (), [0, 0, 1, 0]),
    (lambda x, t: x.kthvalue(2, 0)[0], (2.0, 1.0, 2.0, 3.0), (), [1, 0, 0, 0]),
    (lambda x, t: F.multi_margin_loss(x[None], aten.tensor([0])), (1.0, 0.0, 2.0), (), [-1 / 3, 0, 1 / 3]),
    (lambda x, t: F.multilabel_margin_loss(x[None], aten.tensor([[0, -1, 1]])), (1.0, 0.0, 2.0), (), [-1 / 3, 0, 1 / 3]),
    (lambda x, t: aten.special_entr(x).sum(), (0.0, 1.0, -1.0), (), [INF, -1, NAN]),
    (lambda x, t: x.logit().sum(), (0.0, 1.0, 0.5), (), [INF, INF, 4]),
    (lambda x, t: (0.0**x).sum(), (0.0, 1.0, -1.0), (), [0, 0, -INF]),
]


@pytest.mark.parametrize("f,x,t,expected", LOSSES)
def test_a_loss_or_reduction(f, x, t, expected):
    x = tensor(*x)
    (g,) = aten.autograd.grad(f(x, tensor(*t).detach()), x)
    np.testing.assert_allclose(g.numpy(), expected, atol=1e-8)


def test_second_derivatives():
    """That of huber_loss at 0 is that of a square, of a product at zeros that of a polynomial."""
    for f, x, expected in (
        (lambda x: F.huber_loss(x, x.detach() * 0, reduction="sum"), (0.0,), [1]),
        (lambda x: aten.logaddexp(x, x.detach()), (1.0,), [0.25]),
        (lambda x: x.prod(), (0.0, 0.0, 3.0), [3, 3, 0]),
        (lambda x: x.cumprod(0), (2.0, 0.0, 3.0, 0.0), [4, 12, 2, 6]),
        (lambda x: x.logcumsumexp(0), (1.0, 2.0, 3.0), [0, 0, 0]),
        (lambda x: aten.linalg_det(x.reshape(2, 2)), (1.0, 2.0, 2.0, 4.0), [1, -1, -1, 1]),
    ):
        x = tensor(*x)
        (g,) = aten.autograd.grad(f(x).sum(), x, create_graph=True)
        (h,) = aten.autograd.grad(g.sum(), x)
        np.testing.assert_allclose(h.numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("f", [aten.geqrf, lambda x: aten.igamma(x, x.detach()), lambda x: aten.unique(x)])
def test_a_derivative_that_does_not_exist_is_not_zero(f):
    x = tensor(0.3, 0.7, 0.2, 0.9).detach().reshape(2, 2).requires_grad_()
    out = f(x)
    out = (out[0] if isinstance(out, tuple) else out).sum()
    with pytest.raises(RuntimeError, match="derivative for .* is not implemented"):
        out.backward()


def test_only_a_derivative_that_is_asked_for_must_exist():
    a, x = tensor(1.0, 2.0), tensor(1.0, 2.0)
    (g,) = aten.autograd.grad(aten.igamma(a, x).sum(), x)
    np.testing.assert_allclose(g.numpy(), [0.36787944, 0.27067057])


def test_forward_mode_and_transforms_say_what_has_no_derivative():
    x = tensor(0.3, 0.7).detach()[None]
    with pytest.raises(NotImplementedError, match="forward AD with geqrf"):
        jvp(lambda x: aten.geqrf(x)[0], (x,), (x,))
    with pytest.raises(RuntimeError, match="derivative for aten::geqrf"):
        grad(lambda x: aten.geqrf(x)[0].sum())(x)


def test_a_tangent_has_the_sizes_of_its_value():
    x = tensor(1.0, 2.0).detach()
    value, tangent = jvp(lambda x: x + aten.ones(3, 2, dtype=aten.float64), (x,), (x,))
    assert value.shape == tangent.shape


def test_a_hook_keeps_sizes_and_dtype():
    x = tensor(1.0, 2.0)
    x.register_hook(lambda g: g.sum())
    with pytest.raises(RuntimeError, match="has changed the size of value"):
        (x * 2).sum().backward()
    y = tensor(1.0, 2.0)
    y.register_hook(lambda g: g.float())
    with pytest.raises(RuntimeError, match="has changed the dtype of value"):
        (y * 2).sum().backward()
