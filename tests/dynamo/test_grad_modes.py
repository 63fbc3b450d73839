"""Gradients switched on and off inside of compiled functions, whoever runs the graph."""

import contextlib

import pytest
from weft._dynamo.testing import CompileCounter

import weft
from aten.fx.interpreter import Interpreter


def off(x):
    with weft.no_grad():
        y = x * 2
    return y, x * 3


def on(x):
    y = x * 2
    with weft.enable_grad():
        z = x * 3 + y
    return y, z, weft.is_grad_enabled()


def asked(x):
    with weft.set_grad_enabled(True):
        if weft.is_grad_enabled():
            x = x * 4
    return x * 2, x


def own(gm, inputs):
    return gm.forward


def interpreted(gm, inputs):
    return Interpreter(gm).run


@pytest.mark.parametrize("entered_with", [True, False])
@pytest.mark.parametrize("f", [off, on, asked], ids=lambda f: f.__name__)
@pytest.mark.parametrize("backend", [own, interpreted, "eager", "aot_eager", "inductor"])
def test_results_require_what_eager_ones_do(backend, f, entered_with):
    compiled = weft.compile(f, backend=backend, fullgraph=True)
    x, y = [weft.ones(2, requires_grad=True) for _ in range(2)]
    with weft.set_grad_enabled(entered_with):
        found, expected = compiled(x), f(y)
    for a, b in zip(found, expected):
        if isinstance(b, weft.Tensor):
            assert a.requires_grad == b.requires_grad and a.equal(b)
            if b.requires_grad:
                a.sum().backward(retain_graph=True)
                b.sum().backward(retain_graph=True)
        else:
            assert a == b
    assert (x.grad is None) == (y.grad is None) and (x.grad is None or x.grad.equal(y.grad))


def test_changes_of_the_mode_are_operations_that_are_counted():
    def f(x):
        with weft.no_grad():
            y = x * 2
            y = y + 1
        return x * y

    counter = CompileCounter()
    x = weft.ones(3, requires_grad=True)
    weft.compile(f, backend=counter, fullgraph=True)(x).sum().backward()
    assert counter.op_count == 5 and x.grad.tolist() == [3.0, 3.0, 3.0]


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_hooks_are_given_what_each_op_saves(backend):
    """Hooks that were open when a function was called, or that it opens itself, change gradients as in plain code."""

    def doubled():
        return weft.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t * 2)

    def inside(x):
        with doubled():
            y = x.sin()
        return y.sum()

    def outside(x):
        return (x.sin() * x.exp()).sum()

    def gradient(function, hooked):
        x = weft.arange(1.0, 4.0, requires_grad=True)
        with doubled() if hooked else contextlib.nullcontext():
            out = function(x)
        out.backward()
        return x.grad

    compiled = weft.compile(inside, backend=backend)
    weft.testing.assert_close(gradient(compiled, False), gradient(inside, False))
    compiled = weft.compile(outside, backend=backend, fullgraph=True)
    for hooked in (False, True, False):
        weft.testing.assert_close(gradient(compiled, hooked), gradient(outside, hooked))


def test_blocks_without_saved_tensor_hooks():
    graph = weft.autograd.graph

    def f(x):
        with graph.disable_saved_tensors_hooks("none of them here"):
            y = x.sin() * x
        return y + 1

    def broken(x):
        with graph.disable_saved_tensors_hooks("none of them here"):
            y = x * 2
            weft._dynamo.graph_break()
            with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
                return y * y

    x = weft.ones(3, requires_grad=True)
    compiled = weft.compile(f, fullgraph=True)
    weft.testing.assert_close(compiled(x), f(x))
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t), pytest.raises(RuntimeError, match="none of them here"):
        compiled(x)
    with pytest.raises(RuntimeError, match="none of them here"):
        weft.compile(broken)(x)
    assert graph.saved_tensors_hooks_enabled()


@pytest.mark.parametrize("fullgraph", [True, False])
def test_modes_are_objects_as_in_plain_code(fullgraph):
    def f(x):
        mode = weft.no_grad()
        with mode:
            a = x * 2
            with weft.enable_grad(), weft.inference_mode(mode=False):
                b = x * 3
        with mode:
            c = x * 4
        d = weft.no_grad(lambda t: t * 5)(x)
        e = weft.enable_grad()(lambda t: t * 6)(x)
        return [t.requires_grad for t in (a, b, c, d, e)], type(mode), mode.before, a + b + c + d + e

    x = weft.ones(2, requires_grad=True)
    found, wanted = weft.compile(f, backend="eager", fullgraph=fullgraph)(x), f(x)
    assert found[:3] == wanted[:3] and found[3].equal(wanted[3])


def test_a_method_put_in_the_place_of_a_modes_is_called(monkeypatch):
    def f(x):
        with weft.no_grad():
            return x * 2

    compiled, x = weft.compile(f, backend="eager"), weft.ones(2, requires_grad=True)
    assert not compiled(x).requires_grad
    monkeypatch.setattr(weft.no_grad, "__enter__", lambda self: setattr(self, "before", 1))
    assert compiled(x).requires_grad
