"""All steps of a recurrent layer are one op, whose values and derivatives are those of the steps."""

import numpy as np
import pytest

import weft
from aten.op import ops

rng = np.random.default_rng(0)
GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def real(*sizes):
    return weft.tensor(rng.standard_normal(sizes) * 0.5, requires_grad=True)


def arguments(kind, steps, n, h):
    c0 = [real(n, h)] if kind == "lstm" else []
    return [real(steps, n, GATES[kind] * h), real(n, h), *c0, real(GATES[kind] * h, h), real(GATES[kind] * h)]


def run(function, kind, reverse, args):
    parts, h0, *c0, weight, bias = args
    states, cells, _ = function(parts, h0, c0[0] if c0 else None, weight, bias, kind, reverse)
    return [states, cells] if c0 else [states]


def derivatives(outs, inputs, gs):
    first = weft.autograd.grad(outs, inputs, gs, create_graph=True)
    return [*first, *weft.autograd.grad(sum((f * f.detach().cos()).sum() for f in first), [*inputs, *gs])]


@pytest.mark.parametrize("kind", list(GATES))
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("steps, n, h", [(4, 3, 5), (1, 1, 17), (3, 1, 2)])
def test_values_and_derivatives_are_those_of_the_steps(kind, reverse, steps, n, h):
    args = arguments(kind, steps, n, h)
    found = run(ops.recurrent_layer, kind, reverse, args)
    wanted = run(ops.recurrent_layer.decompose_fn, kind, reverse, args)
    gs = [real(*f.shape) for f in found]
    for a, b in zip([*found, *derivatives(found, args, gs)], [*wanted, *derivatives(wanted, args, gs)]):
        weft.testing.assert_close(a, b)


@pytest.mark.parametrize("module", [weft.nn.LSTM, weft.nn.GRU, weft.nn.RNN])
def test_a_layer_is_one_step_of_the_graph_and_of_backward(module):
    layer = module(3, 4, bidirectional=True).double()
    x = real(5, 2, 3)
    out = layer(x)[0]
    names, nodes = set(), [out.grad_fn]
    while nodes:
        node = nodes.pop()
        names.add(node.name())
        nodes += [n for n, _ in node.next_functions if n is not None]
    assert "RecurrentLayerBackward0" in names and "TanhBackward0" not in names
    assert weft.autograd.gradcheck(lambda x: layer(x)[0], (x,))
    weft.testing.assert_close(weft.compile(lambda x: layer(x)[0])(x), out)


def test_a_layer_maps_and_pushes_forward():
    h0, weight = weft.randn(2, 4), weft.randn(12, 4)
    layer = lambda parts: ops.recurrent_layer(parts, h0, None, weight, None, "gru", False)[0]
    x = weft.randn(2, 5, 2, 12)
    weft.testing.assert_close(weft.func.vmap(layer)(x), weft.stack([layer(x[0]), layer(x[1])]))
    _, tangent = weft.func.jvp(layer, (x[0],), (x[1],))
    step = (layer(x[0] + 1e-3 * x[1]) - layer(x[0] - 1e-3 * x[1])) / 2e-3
    weft.testing.assert_close(tangent, step, rtol=2e-2, atol=2e-3)


def test_the_gradient_of_relu_lets_nan_through():
    parts = weft.tensor([[[float("nan"), -1.0, 1.0]]], requires_grad=True)
    out = ops.recurrent_layer(parts, weft.zeros(1, 3), None, weft.eye(3), None, "rnn_relu", False)[0]
    assert weft.autograd.grad(out.sum(), parts)[0].tolist() == [[[1, 0, 1]]]


@pytest.mark.parametrize("kind", [weft.nn.GRU, weft.nn.RNN])
def test_outputs_may_be_changed_in_place(kind):
    layer, x = kind(4, 5), weft.randn(6, 3, 4, requires_grad=True)

    def step(x):
        out = layer(x)[0]
        return out.mul_(2).add_(1).sum()

    expected = weft.autograd.grad((layer(x)[0] * 2 + 1).sum(), x)[0]
    for run in (step, weft.compile(step, fullgraph=True)):
        weft.testing.assert_close(weft.autograd.grad(run(x), x)[0], expected)


def test_gradients_inside_of_compiled_code_are_differentiated_again():
    layer, x = weft.nn.GRU(4, 5), weft.randn(6, 3, 4)
    slope = lambda x: weft.func.grad(lambda a: (layer(a)[0] ** 2).sum())(x)
    found, expected = weft.compile(slope, fullgraph=True)(x), slope(x)
    weft.testing.assert_close(found, expected)
    weights = list(layer.parameters())
    for got, wanted in zip(*(weft.autograd.grad((s * s).sum(), weights) for s in (found, expected))):
        weft.testing.assert_close(got, wanted)
