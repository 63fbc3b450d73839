"""Where gradients of some inputs are asked for, those of others are not computed, and the ones asked for are the same."""

import numpy as np
import pytest

import weft as torch
from aten import _native
from aten.op import registry
from tests.samples.inputs import names, samples


def leaves_of(value, found):
    if isinstance(value, torch.Tensor):
        if value.is_floating_point() or value.is_complex():
            value = value.detach().clone().requires_grad_()
            found.append(value)
        return value
    if isinstance(value, (list, tuple)):
        return type(value)([leaves_of(v, found) for v in value])
    return value


def outputs_of(value):
    values = value if isinstance(value, (list, tuple)) else [value]
    return [v for v in values if isinstance(v, torch.Tensor) and v.requires_grad]


def cases():
    for name in names():
        if "random" in registry[name].tags:
            continue
        for args, _kwargs in list(samples(name))[:3]:
            found = []
            leaves_of(args, found)
            if len(found) > 1:
                yield name
                break


@pytest.mark.parametrize("name", list(cases()))
def test_each_gradient_alone(name):
    for args, kwargs in list(samples(name))[:3]:
        leaves: list = []
        args = leaves_of(args, leaves)
        try:
            outputs = outputs_of(registry[name](*args, **kwargs))
        except (RuntimeError, NotImplementedError, ValueError):
            continue  # (what takes no leaf: it is written in place)
        if not outputs or len(leaves) < 2:
            continue
        seeds = [torch.ones_like(o) for o in outputs]
        try:
            together = torch.autograd.grad(outputs, leaves, seeds, retain_graph=True, allow_unused=True)
        except (RuntimeError, NotImplementedError):
            continue  # (an op without a derivative)
        for leaf, expected in zip(leaves, together):
            (found,) = torch.autograd.grad(outputs, leaf, seeds, retain_graph=True, allow_unused=True)
            assert (found is None) == (expected is None)
            if found is not None:
                pair = [np.asarray(t.resolve_conj()) for t in (found, expected)]
                np.testing.assert_allclose(*pair, rtol=1e-6, atol=1e-12)


def test_what_is_not_asked_for_is_not_computed():
    x, w = torch.randn(3, 4, requires_grad=True), torch.randn(4, 5, requires_grad=True)
    seen = []

    class Seen(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    counts = []
    for asked in ((x,), (w,), (x, w)):
        y = x @ w
        seen.clear()
        with Seen():
            torch.autograd.grad(y, asked, torch.ones(3, 5))
        counts.append(sum("mm" in str(f) or "matmul" in str(f) for f in seen))
    assert counts == [1, 1, 2]
    assert _native.edges_asked() is None


def test_gradients_of_gradients_and_lists():
    a, b, c = (torch.randn(2, 3, requires_grad=True) for _ in range(3))
    y = torch.cat([a * b, b * c, a]).sin()
    (first,) = torch.autograd.grad(y.sum(), b, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), c)
    ab, bc = (a * b).detach(), (b * c).detach()
    torch.testing.assert_close(first, a * ab.cos() + c * bc.cos())
    torch.testing.assert_close(second, bc.cos() - c * bc.sin() * b)


def test_a_walk_of_some_inputs_inside_another():
    inner = []

    class Outer(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, g):
            x, y = (t.detach().requires_grad_() for t in ctx.saved_tensors)
            with torch.enable_grad():
                z = ((x * y) @ y.t()).sum()
            inner.append(torch.autograd.grad(z, y)[0])
            return g * y, g * x

    x, y = torch.randn(2, 3, requires_grad=True), torch.randn(2, 3, requires_grad=True)
    (gx,) = torch.autograd.grad((Outer.apply(x, y) * y).sum(), x)
    torch.testing.assert_close(gx, y * y)
    assert inner[0].shape == (2, 3)
