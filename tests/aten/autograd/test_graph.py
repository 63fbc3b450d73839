"""Hooks on what is saved for backward, edges, hooks on several tensors, anomalies."""

import weakref

import pytest
from weft.autograd import graph

import weft


def test_what_is_saved_goes_through_hooks():
    x = weft.tensor([1.0, 2.0], requires_grad=True)
    packed = []
    with graph.saved_tensors_hooks(lambda t: packed.append(t) or t.numpy().copy(), weft.from_numpy):
        y = (x * x).exp()
    y.sum().backward()
    assert len(packed) == 3 and weft.allclose(x.grad, (2 * x * (x * x).exp()).detach())
    (g,) = weft.autograd.grad((x * x * x).sum(), x, create_graph=True)
    assert weft.autograd.grad(g.sum(), x)[0].tolist() == [6.0, 12.0]


def test_hooks_that_backward_opens_do_not_stay():
    x = weft.ones(1, requires_grad=True)

    def unpack(t):
        graph.saved_tensors_hooks(lambda t: t, lambda t: t).__enter__()
        return t

    with graph.saved_tensors_hooks(lambda t: t, unpack):
        y = x * x
    y.backward()
    with graph.disable_saved_tensors_hooks("none here"):
        with pytest.raises(RuntimeError, match="none here"):
            graph.save_on_cpu().__enter__()


def test_edges_stand_for_tensors():
    x = weft.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    edge = graph.get_gradient_edge(y)
    z = (y * y).sum()
    assert weft.autograd.grad(z, edge)[0].tolist() == [6.0, 12.0]
    assert edge.node.name() == "MulBackward0" and edge.output_nr == 0


def test_a_hook_on_several_gradients():
    a, b, c = (weft.ones(1, requires_grad=True) for _ in range(3))
    seen = []
    handle = graph.register_multi_grad_hook((a, b, c), lambda grads: seen.append([g if g is None else g.item() for g in grads]))
    (a * 2 + b * 3).sum().backward()
    handle.remove()
    (a + b + c).sum().backward()
    assert seen == [[2.0, 3.0, None]]


def test_an_anomaly_names_the_forward_call():
    x = weft.tensor([0.0], requires_grad=True)
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        detect = weft.autograd.detect_anomaly()
    with detect, pytest.warns(UserWarning, match="Traceback of forward call"):
        with pytest.raises(RuntimeError, match="returned nan values"):
            (x.sqrt() * 0).sum().backward()


def test_a_packed_tensor_that_is_no_leaf_is_not_kept():
    x = weft.ones(3, requires_grad=True)
    with weft.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), weft.tensor):
        h = x * 2
        out = h.sin()
    gone = weakref.ref(h)
    del h
    assert gone() is None
    (g,) = weft.autograd.grad(out.sum(), x, create_graph=True)
    (gg,) = weft.autograd.grad(g.sum(), x)
    weft.testing.assert_close(gg, -4 * (2 * x.detach()).sin())
