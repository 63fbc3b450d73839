"""Views made without gradients of what requires grad: eager calls them leaves that require grad, and so does compiled code."""

import pytest

import weft


def returned(x):
    with weft.no_grad():
        v = x[1:]
    return v


def used(x):
    with weft.no_grad():
        v = x[1:]
    return v * 2, v


def told(x):
    with weft.no_grad():
        v = x.view(-1)
        w = v[0]
    return v.requires_grad, w.requires_grad, v.is_leaf, v.grad_fn is None, (v * 1).requires_grad


def in_parts(x):
    y = x * 2
    with weft.no_grad():
        a, b = y.split(1)
        detached, data = a.detach()[0], y.data[1:]
    return {"a": a, "b": [b]}, detached, data, y


def written_inside(x):
    with weft.no_grad():
        v = x.view(-1)
        v.mul_(3)
        w = v * 2
    return w + 1, v.detach() + 1


def across_a_break(x):
    with weft.no_grad():
        v = x.view(-1)
        weft._dynamo.graph_break()
        w = v * 2
    return v + w


def written_outside(x):
    with weft.no_grad():
        v = x.view(-1)
    return v.mul_(2)


def seen(f, grad):
    x = weft.arange(4.0).view(2, 2).requires_grad_()
    with weft.set_grad_enabled(grad):
        try:
            results = f(x)
        except RuntimeError as e:
            return str(e)
    leaves = weft.utils._pytree.tree_leaves(results)
    tensors = [t for t in leaves if isinstance(t, weft.Tensor)]
    answers = [(t.requires_grad, t.is_leaf, t.grad_fn is None, t.detach().tolist()) for t in tensors]
    return answers, [t for t in leaves if not isinstance(t, weft.Tensor)], x.tolist()


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("f", [returned, used, told, in_parts, written_inside, across_a_break], ids=lambda f: f.__name__)
def test_views(f, backend, grad):
    assert seen(weft.compile(f, backend=backend), grad) == seen(f, grad)


def test_a_write_that_is_recorded_is_refused():
    told = seen(written_outside, True)
    assert "no_grad mode" in told and seen(weft.compile(written_outside), True) == told


def test_what_uses_none_of_it_is_one_graph():
    counter = weft._dynamo.testing.CompileCounter()

    @weft.compile(backend=counter)
    def average(w, x):
        with weft.no_grad():
            w.view(-1).mul_(0.5).add_(x)
        return w * 2

    w = weft.ones(3, requires_grad=True)
    assert average(w, weft.ones(3)).tolist() == [3.0, 3.0, 3.0] and counter.frame_count == 1
