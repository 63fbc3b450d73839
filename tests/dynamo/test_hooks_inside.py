"""Hooks on tensors from outside, registered in compiled functions."""

import pytest

import weft
from aten.autograd.hook_handle import RemovableHandle


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_a_hook_acts_and_is_handed_on(backend):
    @weft.compile(backend=backend, fullgraph=True)
    def f(x, scale):
        handle = x.register_hook(lambda grad: grad * scale)
        return x * 3, handle

    for scale in (2, 5):
        x = weft.ones(2, requires_grad=True)
        out, handle = f(x, scale)
        out.sum().backward()
        assert x.grad.tolist() == [3.0 * scale] * 2 and isinstance(handle, RemovableHandle)
        handle.remove()
        x.grad = None
        (x * 3).sum().backward()
        assert x.grad.tolist() == [3.0, 3.0]


def test_a_hook_that_nobody_keeps_acts():
    seen = []

    @weft.compile(backend="eager", fullgraph=True)
    def f(x):
        x.register_hook(lambda grad: seen.append(grad.tolist()))
        x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.tolist()))
        return x * 3

    x = weft.ones(1, requires_grad=True)
    f(x).sum().backward()
    assert seen == [[3.0], [3.0]]


def test_a_hook_on_a_value_between_acts():
    @weft.compile(backend="eager", fullgraph=True)
    def f(y):
        y.register_hook(lambda grad: grad * 10)
        return y * 3

    x = weft.ones(1, requires_grad=True)
    f(x * 1).sum().backward()
    assert x.grad.tolist() == [30.0]


def test_a_removed_hook_is_removed():
    @weft.compile(backend="eager", fullgraph=True)
    def f(x, z):
        handle = x.register_hook(lambda grad: grad * 2)
        z = z * z
        handle.remove()
        handle.remove()
        return z, handle, handle

    x = weft.zeros(2, requires_grad=True)
    _, one, other = f(x, weft.ones(2))
    x.backward(weft.tensor([1.0, 2.0]))
    assert x.grad.tolist() == [1.0, 2.0] and one is other and isinstance(one, RemovableHandle)


def test_a_tensor_without_gradient_refuses():
    @weft.compile(backend="eager")
    def f(x):
        x.register_hook(lambda grad: grad)
        return x + 1

    with pytest.raises(RuntimeError, match="doesn't require gradient"):
        f(weft.ones(1))


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_hooks_of_values_that_the_graph_makes(backend):
    seen = []

    def function(x, k):
        y = x.sin()
        handle = y.register_hook(lambda grad: grad * k)
        z = y * 2
        z.register_hook(lambda grad: seen.append(grad.tolist()))
        z.register_hook(lambda grad: grad * 100).remove()
        return (y * z).sum(), handle

    compiled = weft.compile(function, backend=backend, fullgraph=True)
    for k in (2, 5):
        a, b = weft.ones(2, requires_grad=True), weft.ones(2, requires_grad=True)
        function(a, k)[0].backward()
        loss, handle = compiled(b, k)
        assert isinstance(handle, RemovableHandle)
        loss.backward()
        assert weft.equal(a.grad, b.grad) and seen[-1] == seen[-2]


def test_a_hook_of_a_value_that_the_graph_makes_is_removed_later():
    @weft.compile(backend="eager", fullgraph=True)
    def function(x):
        y = x * 3
        return y.sum(), y.register_hook(lambda grad: grad * 7)

    x = weft.ones(1, requires_grad=True)
    loss, handle = function(x)
    handle.remove()
    loss.backward()
    assert x.grad.tolist() == [3.0]


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_hooks_run_from_the_last_value_to_the_first(backend):
    seen = []

    def f(x, y):
        a, b = x * 2, y * 3
        a.register_hook(lambda grad: seen.append("a"))
        b.register_hook(lambda grad: seen.append("b"))
        c, d = a.sin() * b, a.cos()
        c.register_hook(lambda grad: seen.append("c"))
        d.register_hook(lambda grad: seen.append("d"))
        return (c + d).sum()

    x, y = [weft.ones(3).requires_grad_() for _ in range(2)]
    weft.compile(f, backend=backend, fullgraph=True)(x, y).backward()
    assert seen == ["d", "c", "b", "a"]
