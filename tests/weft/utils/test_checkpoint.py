"""checkpoint: the same values and gradients, with fewer of them kept."""

import weft
import weft.nn as nn
import weft.nn.functional as F
from weft.utils.checkpoint import checkpoint, checkpoint_sequential


def gradients(f, parameters):
    for p in parameters:
        p.grad = None
    weft.manual_seed(3)
    y = f()
    y.sum().backward()
    return y.detach(), [p.grad.clone() for p in parameters]


def close(a, b):
    assert (a - b).abs().max().item() < 1e-5


def same(f, g, parameters):
    (y, ours), (z, theirs) = gradients(f, parameters), gradients(g, parameters)
    close(y, z)
    for a, b in zip(ours, theirs):
        close(a, b)


def test_arguments_parameters_and_dropout():
    m = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Dropout(0.5), nn.Linear(8, 3))
    x = weft.randn(5, 4, requires_grad=True)
    calls = []

    def f(x):
        calls.append(1)
        return m(x) * 2

    same(lambda: checkpoint(f, x, use_reentrant=False), lambda: m(x) * 2, [x, *m.parameters()])
    assert len(calls) == 2
    # Nothing that is passed in requires grad: the parameters still get theirs.
    same(lambda: checkpoint(f, x.detach(), use_reentrant=False), lambda: m(x.detach()) * 2, list(m.parameters()))


def test_inside_a_larger_graph():
    w = weft.randn(4, 4, requires_grad=True)
    x = weft.randn(3, 4, requires_grad=True)
    block = lambda h: F.gelu(h @ w)
    twice = lambda: checkpoint(block, checkpoint(block, x * 2, use_reentrant=False), use_reentrant=False)
    same(lambda: twice().sin(), lambda: block(block(x * 2)).sin(), [x, w])


def test_nested():
    w = weft.randn(4, 4, requires_grad=True)
    x = weft.randn(3, 4, requires_grad=True)
    inner = lambda h: F.gelu(h @ w)
    outer = lambda h: checkpoint(inner, checkpoint(inner, h * 2, use_reentrant=False), use_reentrant=False) * w.sum()
    same(lambda: checkpoint(outer, x, use_reentrant=False).sin(), lambda: (inner(inner(x * 2)) * w.sum()).sin(), [x, w])


def test_double_backward():
    x = weft.randn(3, requires_grad=True)
    results = []
    for f in (lambda x: checkpoint(lambda v: v**3, x, use_reentrant=False), lambda x: x**3):
        (g,) = weft.autograd.grad(f(x).sum(), x, create_graph=True)
        results.append(weft.autograd.grad((g * g).sum(), x)[0])
    close(*results)


def test_sequential():
    m = nn.Sequential(*[nn.Linear(4, 4) for _ in range(5)])
    x = weft.randn(2, 4, requires_grad=True)
    same(lambda: checkpoint_sequential(m, 2, x, use_reentrant=True), lambda: m(x), [x, *m.parameters()])


def test_no_gradients_no_second_call():
    calls = []
    with weft.no_grad():
        checkpoint(lambda x: calls.append(1) or x, weft.ones(2), use_reentrant=False)
    assert len(calls) == 1


def test_compiled():
    w = weft.randn(4, 4, requires_grad=True)
    x = weft.randn(3, 4, requires_grad=True)
    f = lambda x: checkpoint(lambda h: F.gelu(h @ w), x, use_reentrant=False).sum(-1)
    compiled = weft.compile(f, backend="aot_eager", fullgraph=True)
    same(lambda: compiled(x), lambda: f(x), [x, w])
