"""Tensors of two devices in one call: what PyTorch refuses is refused in its words, and what it takes is taken."""

from __future__ import annotations

import re

import pytest

import weft

TWO = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
ROOT = "invalid gradient at index 0 - expected device cuda:0 but got cpu"


class Elsewhere(weft.autograd.Function):
    """Its gradient is on the CPU."""

    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return weft.ones(3)


REFUSED = {
    "a gradient of the CPU": (lambda a: a.backward(weft.ones(3)), ROOT),
    "of autograd.grad": (lambda a: weft.autograd.grad(a * 2, a, weft.ones(3)), ROOT),
    "of a Function": (lambda a: Elsewhere.apply(a).sum().backward(), "Function ElsewhereBackward returned an " + ROOT),
    "out": (lambda a: weft.add(a.detach(), 1, out=weft.ones(3)), TWO),
    "out of a reduction": (lambda a: weft.sum(a.detach(), 0, out=weft.ones(())), TWO),
    "in place": (lambda a: weft.ones(3).mul_(a.detach()), "two devices, cpu and cuda:0!"),
    "in place, a number": (lambda a: weft.ones(()).mul_(a.detach()[0]), TWO),
    "indices": (
        lambda a: weft.ones(3)[a.detach() > 0],
        "indices should be either on cpu or on the same device as the indexed tensor (cpu)",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(device, name):
    f, message = REFUSED[name]
    with pytest.raises(RuntimeError, match=re.escape(message)):
        f(weft.ones(3, device=device, requires_grad=True))


def test_a_gradient_without_dims_goes_where_it_belongs(device):
    a = weft.ones((), device=device, requires_grad=True)
    (a * 2).backward(weft.tensor(3.0))
    assert a.grad.device == device and a.grad.item() == 6.0


TAKEN = {
    "filled with a number of the device": lambda a: weft.ones(3).fill_(a[0] * 5).tolist() == [5.0] * 3,
    "times a number of the CPU": lambda a: (a * weft.tensor(2.0)).tolist() == [2.0] * 3,
    "a mask of the CPU": lambda a: a[weft.tensor([True, False, True])].tolist() == [1.0] * 2,
    "a range into the device": lambda a: weft.arange(3, out=weft.empty(0, device=a.device, dtype=weft.int64)).tolist() == [0, 1, 2],
    "copied": lambda a: weft.zeros(3).copy_(a).tolist() == [1.0] * 3,
}


@pytest.mark.parametrize("name", TAKEN)
def test_taken(device, name):
    assert TAKEN[name](weft.ones(3, device=device))
