"""Functions and layers whose forward and backward are recorded graphs."""

from __future__ import annotations

import pytest

import weft


def test_a_function_is_played_forward_and_backward(sim, device):
    def f(x, w):
        return (x * w).exp()

    sample = (weft.zeros(4, device=device), weft.ones(4, device=device, requires_grad=True))
    played = weft.cuda.make_graphed_callables(f, sample)
    for k in (1.0, 2.0):
        x, w = weft.full((4,), k).to(device), weft.full((4,), 0.5).to(device).requires_grad_()
        out = played(x, w)
        assert out.cpu().allclose((weft.full((4,), k) * 0.5).exp())
        out.backward(weft.ones(4).to(device))
        assert w.grad.cpu().allclose(k * (weft.full((4,), k) * 0.5).exp())
    assert sim.calls("cuGraphLaunch") == 4


def test_a_layer_keeps_its_parameters(device):
    layer = weft.nn.Linear(3, 2).to(device)
    expected = layer(weft.ones(1, 3).to(device)).cpu()
    found = weft.cuda.make_graphed_callables(layer, (weft.zeros(1, 3, device=device),))
    assert found is layer
    out = layer(weft.ones(1, 3).to(device))
    assert out.cpu().allclose(expected)
    out.backward(weft.ones(1, 2).to(device))
    assert layer.weight.grad.cpu().tolist() == [[1, 1, 1], [1, 1, 1]] and layer.bias.grad.cpu().tolist() == [1, 1]


def test_samples_are_tensors(device):
    with pytest.raises(TypeError, match="sample_args are tensors"):
        weft.cuda.make_graphed_callables(lambda x: x, (1,))
