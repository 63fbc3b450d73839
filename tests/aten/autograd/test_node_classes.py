"""Nodes are of classes named after them, and those of a Function have what its context has."""

import pickle

import pytest

import aten
from aten import autograd


class Double(autograd.Function):
    @staticmethod
    def forward(ctx, x, n):
        ctx.n = n
        ctx.save_for_backward(x, None)
        return x * n

    @staticmethod
    def backward(ctx, g):
        return g * ctx.n, None


def test_the_class_of_a_node_has_its_name():
    x = aten.ones(2).requires_grad_()
    y = (x * 2).exp()
    above = y.grad_fn.next_functions[0][0]
    assert [type(n).__name__ for n in (y.grad_fn, above, above.next_functions[0][0])] == [
        "ExpBackward0", "MulBackward0", "AccumulateGrad",
    ]  # fmt: skip
    assert type(y.grad_fn).__module__ == "aten._native" and type((x * 3).grad_fn) is type(above)
    assert isinstance(y.grad_fn, autograd.graph.Node)
    assert type(autograd.graph.get_gradient_edge(x).node).__name__ == "AccumulateGrad"
    with pytest.raises(TypeError, match="cannot create"):
        type(y.grad_fn)()
    y.sum().backward()
    assert (x.grad - 2 * aten.tensor(2.0).exp()).abs().max().item() < 1e-5
    for _ in range(3000):  # memory of nodes is used again
        assert type((x * 2).grad_fn.next_functions[0][0]).__name__ == "AccumulateGrad"
        assert type(x.sin().grad_fn).__name__ == "SinBackward0"


def test_the_node_of_a_function():
    x = aten.ones(2).requires_grad_()
    y = Double.apply(x, 3)
    node = y.grad_fn
    assert type(node) is Double._backward_cls and node.name() == "DoubleBackward"
    assert node.needs_input_grad == (True, False) and node.n == 3 and node.saved_tensors[1] is None
    assert not hasattr(node, "m")
    edge = autograd.graph.get_gradient_edge(y)
    assert autograd.grad(edge, x, aten.ones(2))[0].tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="Deletion of _grad_fn not allowed"):
        del y._grad_fn
    assert pickle.loads(pickle.dumps(x)).requires_grad


def test_nodes_have_the_names_that_pytorch_gives_them():
    x = aten.rand(3, requires_grad=True)
    made = [x.double(), aten.zeros(3).copy_(x), x.max(0)[0], x.min(0)[0], x.clamp(0, 1), aten.layer_norm(x, [3])]
    names = "ToCopyBackward0 CopyBackwards MaxBackward0 MinBackward0 ClampBackward1 NativeLayerNormBackward0"
    assert [m.grad_fn.name() for m in made] == names.split()
