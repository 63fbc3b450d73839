"""Where a slope is one of few numbers, second derivatives are zeros: the gradient is recorded as a function of what chose it.

The table says what PyTorch 2.13 does: `torch.autograd.grad(f(x).sum(), x, create_graph=True)` requires grad, and a further
gradient is zeros. Where PyTorch's gradient is of an op without memory of its argument (clamp, max), it does not require grad.
"""

import numpy as np
import pytest

import weft as torch
from weft.nn import functional as F

IMAGE, SIGNAL = (2, 3, 6, 6), (2, 3, 8)
RECORDED = {
    "relu": (torch.relu, (3, 4)),
    "relu6": (F.relu6, (3, 4)),
    "leaky_relu": (F.leaky_relu, (3, 4)),
    "hardtanh": (F.hardtanh, (3, 4)),
    "hardshrink": (F.hardshrink, (3, 4)),
    "softshrink": (F.softshrink, (3, 4)),
    "threshold": (lambda x: F.threshold(x, 0.1, 3.0), (3, 4)),
    "hardsigmoid": (F.hardsigmoid, (3, 4)),
    "copysign": (lambda x: torch.copysign(x, torch.full((4,), -1.0)), (3, 4)),
    "max_pool1d": (lambda x: F.max_pool1d(x, 2), SIGNAL),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2), IMAGE),
    "max_pool2d, ceil": (lambda x: F.max_pool2d(x, 4, ceil_mode=True), IMAGE),
    "max_pool3d": (lambda x: F.max_pool3d(x, 2), (1, 2, 4, 4, 4)),
    "avg_pool1d": (lambda x: F.avg_pool1d(x, 2), SIGNAL),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 2), IMAGE),
    "avg_pool2d, without padding": (lambda x: F.avg_pool2d(x, 2, padding=1, count_include_pad=False), IMAGE),
    "avg_pool3d": (lambda x: F.avg_pool3d(x, 2), (1, 2, 4, 4, 4)),
    "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, 4), IMAGE),
    "adaptive_avg_pool2d, one": (lambda x: F.adaptive_avg_pool2d(x, 1), IMAGE),
    "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, 4), IMAGE),
    "pad, reflect": (lambda x: F.pad(x, (1, 2), "reflect"), SIGNAL),
    "pad, replicate": (lambda x: F.pad(x, (1, 2), "replicate"), SIGNAL),
    "nll_loss": (lambda x: F.nll_loss(x, torch.tensor([0, 2, 1])), (3, 4)),
    "nll_loss, none": (lambda x: F.nll_loss(x, torch.tensor([0, 2, 1]), reduction="none"), (3, 4)),
}
NOT_RECORDED = {
    "clamp": (lambda x: x.clamp(-0.5, 0.5), (3, 4)),
    "amax": (lambda x: x.max(1).values, (3, 4)),
    "sort": (lambda x: x.sort(1).values, (3, 4)),
    "median": (lambda x: x.median(), (3, 4)),
    "maximum": (lambda x: torch.maximum(x, torch.zeros(4)), (3, 4)),
    "linear": (lambda x: F.linear(x, torch.ones(2, 4)), (3, 4)),
}


def argument(sizes):
    x = np.random.default_rng(0).standard_normal(sizes).astype(np.float32)
    return torch.from_numpy(x).requires_grad_()


def first(f, x):
    return torch.autograd.grad(f(x).sum(), x, create_graph=True)[0]


@pytest.mark.parametrize("name", RECORDED)
def test_a_gradient_that_is_chosen_by_the_argument_has_its_history(name):
    f, sizes = RECORDED[name]
    x = argument(sizes)
    g = first(f, x)
    assert g.requires_grad
    (second,) = torch.autograd.grad(g.sum(), x)
    assert second.shape == x.shape and not second.any()
    assert np.array_equal(g.detach().numpy(), torch.autograd.grad(f(x).sum(), x)[0].numpy())  # (where nothing is recorded)


@pytest.mark.parametrize("name", NOT_RECORDED)
def test_other_gradients_have_none(name):
    f, sizes = NOT_RECORDED[name]
    assert not first(f, argument(sizes)).requires_grad


@pytest.mark.parametrize("name", [*RECORDED, *NOT_RECORDED])
def test_compiled_gradients_are_recorded_alike(name):
    f, sizes = RECORDED.get(name) or NOT_RECORDED[name]
    x = argument(sizes)
    torch.compiler.reset()
    g = torch.compile(lambda x: torch.autograd.grad(f(x).sum(), x, create_graph=True)[0], fullgraph=True)(x)
    assert g.requires_grad == (name in RECORDED)
    if g.requires_grad:
        assert not torch.autograd.grad(g.sum(), x)[0].any()


@pytest.mark.parametrize("name", RECORDED)
def test_second_gradients_within_a_graph_and_within_transforms(name):
    f, sizes = RECORDED[name]
    x = argument(sizes)

    torch.compiler.reset()

    def both(x):
        (g,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
        return g.detach(), torch.autograd.grad(g.sum(), x)[0]

    for found, expected in zip(torch.compile(both)(x), both(x)):
        assert torch.allclose(found, expected)
    twice = torch.func.grad(lambda x: torch.func.grad(lambda x: f(x).sum())(x).sum())
    assert not twice(x.detach()).any()


def test_gradient_penalty_of_a_network_that_is_linear_in_pieces():
    x = argument((4, 3))
    model = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.ReLU(), torch.nn.Linear(5, 1))
    (g,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
    (again,) = torch.autograd.grad(g.pow(2).sum(), x)  # raised "not been used in the graph"
    assert not again.any()


def test_pooled_images_may_not_be_written_before_backward():
    x = argument(IMAGE) * 1
    out = F.avg_pool2d(x, 2)
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()
