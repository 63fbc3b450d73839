"""`weft._C`: what runs in the engine, and its functions."""

import pytest

import weft
from weft import _C


def test_hooks_are_told_which_walk_and_node_run():
    x = weft.ones(2, requires_grad=True)
    y, other = x * 2, x * 3
    seen = []

    def look(grad):
        seen.append(_C._current_graph_task_id())
        assert _C._will_engine_execute_node(y.grad_fn) and not _C._will_engine_execute_node(other.grad_fn)

    y.register_hook(look)
    for _ in range(2):
        y.sum().backward(retain_graph=True)
    assert seen[1] == seen[0] + 1 and _C._current_graph_task_id() == -1 and _C._current_autograd_node() is None
    with pytest.raises(RuntimeError, match="during the backward pass"):
        _C._will_engine_execute_node(y.grad_fn)
    with pytest.raises(RuntimeError, match="expects an grad_fn"):
        _C._will_engine_execute_node(y)


def test_what_backward_runs_in_is_the_current_node():
    class Look(weft.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            seen.append(_C._current_autograd_node().name())
            return grad

    seen = []
    Look.apply(weft.ones(1, requires_grad=True)).backward()
    assert seen == ["LookBackward"]


def test_functions_of_the_engine():
    x = weft.ones(1, requires_grad=True)
    _C._functions.UndefinedGrad()(x).backward()
    assert x.grad is None
    with pytest.raises(RuntimeError, match="Boom"):
        _C._functions.DelayedError("Boom", 1)(x).backward()
    node, arrives = (x * 2).grad_fn, _C._functions.AccumulateGrad
    assert isinstance(node.next_functions[0][0], arrives) and not isinstance(node, arrives)
    assert isinstance((x * x).grad_fn._raw_saved_self, _C._autograd.SavedTensor)
    with weft.autograd.graph.disable_saved_tensors_hooks("no"):
        assert not _C._autograd._saved_tensors_hooks_is_enabled()
    assert _C._autograd._saved_tensors_hooks_is_enabled()


def test_a_weak_reference_tells_whether_its_tensor_has_gone():
    x = weft.ones(1)
    ref = _C._WeakTensorRef(x)
    assert not ref.expired()
    del x
    assert ref.expired()
