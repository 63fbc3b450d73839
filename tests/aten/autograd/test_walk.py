"""The native walk itself, on ops made by hand with `_native.record`: order, accumulation, hooks, depth, lifetimes."""

import gc
import sys
import weakref

import numpy as np
import pytest

from aten import _native
from aten.autograd import backward, grad
from aten.tensor import Tensor, from_numpy, tensor

calls: list[str] = []


def array(t):
    return t.numpy(force=True)


def unary(name, value, derivative):
    """An op on one tensor that keeps its input; `derivative(x)` multiplies the gradient."""

    def backward_of(node, grads):
        calls.append(name)
        (x,) = node.saved
        return (from_numpy(array(grads[0]) * derivative(array(x))),)

    def op(x):
        out = from_numpy(np.asarray(value(array(x))))
        if x.requires_grad:
            _native.record(name, backward_of, (x,), (out,), (x,))
        return out

    return op


square = unary("Square", lambda x: x * x, lambda x: 2 * x)
triple = unary("Triple", lambda x: 3 * x, lambda x: 3 + 0 * x)


def plus(x, y):
    out = from_numpy(array(x) + array(y))
    _native.record("Plus", lambda node, grads: (grads[0], grads[0]), (x, y), (out,))
    return out


@pytest.fixture(autouse=True)
def numpy_addition():
    """Sums of gradients and clones by NumPy, whatever ops are loaded."""
    before = _native.get_operators()
    _native.set_operator("__add__", lambda a, b: from_numpy(array(a) + array(b)))
    _native.set_operator("__iadd__", lambda a, b: (np.add(array(a), array(b), out=array(a)), a)[1])
    had = Tensor.__dict__.get("clone")
    Tensor.clone = lambda t: from_numpy(array(t).copy())
    calls.clear()
    yield
    for name in ("__add__", "__iadd__"):
        _native.set_operator(name, before[name])
    if had is None:
        del Tensor.clone
    else:
        Tensor.clone = had


def leaf(*values):
    return tensor(values, dtype=None, requires_grad=True)


def ones(t):
    return from_numpy(np.ones(tuple(t.shape), np.float32))


def test_a_chain():
    x = leaf(1.0, 2.0)
    y = triple(square(x))
    assert y.grad_fn.name() == "Triple" and not y.is_leaf and y.requires_grad
    assert y.grad_fn.next_functions[0][0].name() == "Square"
    backward(y, ones(y))
    assert x.grad.tolist() == [6, 12]
    assert calls == ["Triple", "Square"]


def test_gradients_of_a_shared_value_are_summed_once():
    x = leaf(2.0)
    s = square(x)
    y = plus(triple(s), s)
    backward(y, ones(y))
    assert x.grad.tolist() == [16]
    assert calls == ["Triple", "Square"]


def test_accumulation_and_stealing():
    x = leaf(1.0)
    for expected in (2, 4):
        y = square(x)
        backward(y, ones(y))
        assert x.grad.tolist() == [expected]
    a, b = leaf(1.0), leaf(1.0)
    y = plus(a, b)
    backward(y, ones(y))
    assert a.grad.data_ptr() != b.grad.data_ptr()


def test_retain_graph():
    x = leaf(3.0)
    y = square(x)
    backward(y, ones(y), retain_graph=True)
    backward(y, ones(y))
    assert x.grad.tolist() == [12]
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        backward(y, ones(y))
    z = plus(x, x)  # keeps nothing: may run again
    backward(z, ones(z))
    backward(z, ones(z))


def test_a_subset_of_inputs():
    x, w = leaf(2.0), leaf(5.0)
    s = square(x)
    y = plus(triple(s), square(w))
    assert [g.tolist() for g in grad(y, (s,), ones(y), retain_graph=True)] == [[3]]
    assert calls == ["Triple"]
    assert grad(y, (x, w), ones(y), retain_graph=True)[1].tolist() == [10]
    assert x.grad is None and w.grad is None
    backward(y, ones(y), inputs=[x], retain_graph=True)
    assert x.grad.tolist() == [12] and w.grad is None
    other = leaf(1.0)
    with pytest.raises(RuntimeError, match="not have been used"):
        grad(y, (other,), ones(y), retain_graph=True)
    assert grad(y, (other,), ones(y), allow_unused=True) == (None,)
    with pytest.raises(RuntimeError, match="does not require grad"):
        grad(y, (tensor([1.0]),), ones(y))


def test_hooks():
    x = leaf(1.0)
    s = square(x)
    seen = []
    handle = s.register_hook(lambda g: seen.append(g.tolist()) or from_numpy(array(g) * 10))
    x.register_hook(lambda g: seen.append(("leaf", g.tolist())))
    x.register_post_accumulate_grad_hook(lambda t: seen.append(("after", t.grad.tolist())))
    s.retain_grad()
    y = triple(s)
    backward(y, ones(y))
    assert seen == [[3], ("leaf", [60]), ("after", [60])]
    assert s.grad.tolist() == [30] and s.retains_grad
    handle.remove()
    x.grad = None
    s = square(x)
    node_seen = []
    s.grad_fn.register_hook(lambda inputs, outputs: node_seen.append((inputs[0].tolist(), outputs[0].tolist())))
    s.grad_fn.register_prehook(lambda outputs: (from_numpy(array(outputs[0]) + 1),))
    backward(s, ones(s))
    assert node_seen == [([4], [2])]


def test_a_changed_saved_tensor_is_refused():
    x = leaf(1.0)
    m = triple(x)
    y = square(m)
    _native.bump_version(m)
    with pytest.raises(
        RuntimeError,
        match=r"modified by an inplace operation: \[weft.float32 \[1\]\], which is a "
        r"saved value of "
        "Square, is at version 1; expected version 0",
    ):
        backward(y, ones(y))


def test_a_saved_result_makes_no_cycle():
    def exp_backward(node, grads):
        (out,) = node.saved
        assert out.grad_fn is node
        return (from_numpy(array(grads[0]) * array(out)),)

    x = leaf(0.0)
    out = from_numpy(np.exp(array(x)))
    _native.record("Exp", exp_backward, (x,), (out,), (out,))
    node, memory = weakref.ref(out.grad_fn), weakref.ref(out)
    gc.disable()
    try:
        backward(out, ones(out), retain_graph=True)
        assert x.grad.tolist() == [1]
        del out
        assert memory() is None and node() is None
    finally:
        gc.enable()


def test_wrong_gradients_are_named():
    x = leaf(1.0, 2.0)
    for result, message in [
        ((), "incorrect number of gradients"),
        ((3,), r"expected Variable or None \(got int\) for the gradient at index 0 of Bad"),
        (
            (tensor([1.0, 2.0, 3.0]),),
            r"Function Bad returned an invalid gradient at index 0 - "
            r"got \[3\]",
        ),
    ]:
        y = from_numpy(array(x).copy())
        _native.record("Bad", lambda node, grads, result=result: result, (x,), (y,))
        with pytest.raises((RuntimeError, TypeError), match=message):
            backward(y, ones(y))
    with pytest.raises(RuntimeError, match="implicitly created only for scalar"):
        backward(y)
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        backward(y, tensor([1.0]))
    with pytest.raises(RuntimeError, match="does not require grad"):
        backward(tensor([1.0]))


def test_an_error_in_a_backward_leaves_the_mode_and_no_references():
    x = leaf(1.0)
    y = from_numpy(array(x).copy())

    def fails(node, grads):
        assert not _native.is_grad_enabled()
        raise KeyError("mine")

    _native.record("Fails", fails, (x,), (y,))
    seed = ones(y)
    count = sys.getrefcount(seed)
    with pytest.raises(KeyError, match="mine"):
        backward(y, seed)
    assert _native.is_grad_enabled() and sys.getrefcount(seed) == count


def test_a_chain_of_a_million_nodes_walks_and_dies_without_recursion():
    x = leaf(1.0)
    y, passed = x, 0

    def count(node, grads):
        nonlocal passed
        passed += 1
        return grads

    for _ in range(1_000_000):
        out = _native.alias(y, (1,), (1,), 0)
        _native.record("Pass", count, (y,), (out,))
        y = out
    backward(y, ones(y))
    assert passed == 1_000_000 and x.grad.tolist() == [1]
    del y, out
    assert x.grad_fn is None


def test_a_walk_inside_a_walk():
    x = leaf(3.0)

    def nested(node, grads):
        inner = leaf(3.0)
        z = square(inner)
        _native.set_grad_enabled(True)
        backward(z, ones(z))
        return (inner.grad,)

    y = from_numpy(array(x).copy())
    _native.record("Nested", nested, (x,), (y,))
    backward(y, ones(y))
    assert x.grad.tolist() == [6]


def test_no_references_are_lost():
    x = leaf(1.0, 2.0)
    grad_ones = from_numpy(np.ones(2, np.float32))

    def step():
        y = plus(triple(square(x)), x)
        backward(y, grad_ones)
        x.grad = None

    step()
    gc.collect()
    before, stats = sys.getrefcount(x), _native.memory_stats()["allocated_bytes"]
    for _ in range(100):
        step()
    gc.collect()
    assert sys.getrefcount(x) == before
    assert _native.memory_stats()["allocated_bytes"] == stats
