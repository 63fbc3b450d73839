"""A forward and a backward Program as one autograd node."""

import gc
import weakref

import numpy as np
import pytest

from aten import _native, autograd
from inductor import _runner
from inductor.ir.steps import Alloc, Check, CheckInfo, Kernel, Output
from tests.inductor.runtime.program_builder import Builder


def tensor(*values, grad=True):
    t = _native.from_numpy(np.array(values, np.float32))
    return t.requires_grad_(grad)


def no_second_derivative(node, grads):
    raise NotImplementedError


def squares(library, differentiable=no_second_derivative):
    """(x*x, 2*x) of x[3] and of an unused y[3]; the second result has no gradient; saves x."""
    b = Builder()
    x, _ = b.input(3), b.input(3)
    out, twice = b.buffer("fresh", 3), b.buffer("fresh", 3)
    n = (b.value(3),)
    forward = b.program(
        [Alloc(out), Alloc(twice), Kernel("square", (x, out), n, (1,)), Kernel("twice", (x, twice), n, (1,))],
        [Output("buffer", out), Output("buffer", twice), Output("input", 0)],
    )
    b = Builder()
    x, g = b.input(3), b.input(3)
    t, grad = b.buffer("arena", 3, offset=0), b.buffer("fresh", 3)
    n = (b.value(3),)
    backward = b.program(
        [Alloc(grad), Kernel("twice", (x, t), n, (1,)), Kernel("multiply", (t, g, grad), n, (2,))],
        [Output("buffer", grad)],
        arena=64,
    )
    programs = (_runner.Program(p.to_data(), library) for p in (forward, backward))
    return _runner.Training(*programs, 2, [0], [0], differentiable)


def test_forward_and_backward(library):
    f = squares(library)
    x, y = tensor(1, 2, 3), tensor(0, 0, 0)
    square, twice = f(x, y)
    assert square.tolist() == [1, 4, 9] and twice.tolist() == [2, 4, 6]
    assert square.requires_grad and square.grad_fn.name() == "CompiledBackward" and not twice.requires_grad
    square.backward(tensor(1, 10, 100, grad=False))
    assert x.grad.tolist() == [2, 40, 600] and y.grad is None


def test_no_node_without_gradients(library):
    f = squares(library)
    with autograd.no_grad():
        assert not f(tensor(1, 2, 3), tensor(0, 0, 0))[0].requires_grad


def test_gradients_flow_on(library):
    f = squares(library)
    x = tensor(1, 2, 3)
    h = x * 3
    f(h, x)[0].sum().backward()
    assert x.grad.tolist() == [18, 36, 54]


def test_tangents_of_any_layout(library):
    f = squares(library)
    x = tensor(1, 2, 3)
    wide = _native.from_numpy(np.array([[1, -1], [10, -1], [100, -1]], np.float32))
    f(x, x)[0].backward(wide[:, 0])
    assert x.grad.tolist() == [2, 40, 600]
    x.grad = None
    f(x, x)[0].sum().backward()  # an expanded tangent
    assert x.grad.tolist() == [2, 4, 6]


def test_backward_twice_is_refused_unless_retained(library):
    f = squares(library)
    x = tensor(1, 2, 3)
    out = f(x, x)[0].sum()
    out.backward(retain_graph=True)
    out.backward()
    assert x.grad.tolist() == [4, 8, 12]
    with pytest.raises(RuntimeError, match="second time"):
        out.backward()


def test_a_saved_tensor_that_was_written_is_noticed(library):
    f = squares(library)
    x = tensor(1, 2, 3)
    h = x * 1
    out = f(h, x)[0]
    h.detach().add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        out.sum().backward()


def test_higher_derivatives_go_through_the_function_given(library):
    def differentiable(node, grads):
        x, y = node.saved[0].inputs()
        return grads[0] * 2 * x, None

    f = squares(library, differentiable)
    x, y = tensor(1, 2, 3), tensor(0, 0, 0)
    (g,) = autograd.grad(f(x, y)[0].sum(), x, create_graph=True)
    assert g.tolist() == [2, 4, 6]
    (gg,) = autograd.grad(g.sum(), x)
    assert gg.tolist() == [2, 2, 2]


def test_kept_arguments_know_their_versions(library):
    f = squares(library)
    x, y = tensor(1, 2, 3), tensor(0, 0, 0, grad=False)
    node = f(x, y)[0].grad_fn
    assert node.saved[0].inputs() == (x, y) and node.saved[0].values() == (x,)
    y.add_(1)
    with pytest.raises(RuntimeError, match="input 1"):
        node.saved[0].inputs()


def test_memory_is_given_back(library):
    f = squares(library)
    x = tensor(1, 2, 3)

    def step():
        f(x, x)[0].sum().backward()
        x.grad = None

    step()
    before = _native.memory_stats()["allocated_bytes"]
    for _ in range(20):
        step()
    assert _native.memory_stats()["allocated_bytes"] == before


def test_cycles_through_a_node_are_collected(library):
    f = squares(library)
    x = tensor(1, 2, 3)
    out = f(x, x)[0]
    x.note = out  # x is kept by the node
    w = weakref.ref(out)
    del out, x
    gc.collect()
    assert w() is None


def test_programs_that_do_not_fit_are_refused(library):
    f = squares(library)
    with pytest.raises(ValueError, match="do not fit"):
        _runner.Training(f.forward, f.backward.program, 2, [0], [0, 1], no_second_derivative)
    with pytest.raises(ValueError, match="out of range"):
        _runner.Training(f.forward, f.backward.program, 2, [0], [7], no_second_derivative)
    with pytest.raises(TypeError):
        f(tensor(1, 2, 3))


def test_a_failing_check_of_the_backward_runs_eager(library):
    """What eager gives, or raises, reaches the user: not that a check of the graph failed."""
    b = Builder()
    x = b.input(3)
    out = b.buffer("fresh", 3)
    forward = b.program([Alloc(out), Kernel("square", (x, out), (b.value(3),), (1,))], [Output("buffer", out), Output("input", 0)])
    b = Builder()
    b.input(3), b.input(3)
    grad = b.buffer("fresh", 3)
    steps = [Check(b.value(0), 0), Alloc(grad)]
    backward = b.program(steps, [Output("buffer", grad)], checks=[CheckInfo("view", "size", "a.py:1")])
    called = []

    def differentiable(node, grads):
        called.append(len(grads))
        return ((x * 2).mul(grads[0]).requires_grad_() if len(called) == 1 else refuse(),)

    def refuse():
        raise ValueError("what eager raises")

    programs = [_runner.Program(p.to_data(), library) for p in (forward, backward)]
    f = _runner.Training(*programs, 1, [0], [0], differentiable)
    x = tensor(1, 2, 3)
    f(x)[0].backward(tensor(1, 10, 100, grad=False))
    assert x.grad.tolist() == [2, 40, 600] and not x.grad.requires_grad and called == [1]
    with pytest.raises(ValueError, match="what eager raises"):
        f(x)[0].backward(tensor(1, 10, 100, grad=False))
