"""hints_wrapper: a graph of its own, and hints that are seen in the node."""

import pytest
from weft._dynamo.testing import EagerAndRecordGraphs
from weft._higher_order_ops import hints_wrapper

import weft


def nested(x, y):
    def inner(x, y):
        return weft.relu(x) + y

    def outer(x, y):
        return weft.abs(hints_wrapper(inner, (x, y), {}, hints={"inner": 3}))

    return hints_wrapper(outer, (x + y, y), {}, hints={"outer": True})


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_a_call_with_hints_is_the_call(backend):
    x, y = weft.randn(2, 4, requires_grad=True), weft.randn(4, requires_grad=True)
    compiled = weft.compile(nested, backend=backend, fullgraph=True)
    for n in (2, 3, 5):
        x = weft.randn(n, 4, requires_grad=True)
        weft.testing.assert_close(compiled(x, y), nested(x, y))
        gradients = [weft.autograd.grad(f(x, y).sum(), (x, y)) for f in (compiled, nested)]
        weft.testing.assert_close(*gradients)


def test_the_node_has_the_hints():
    backend = EagerAndRecordGraphs()
    weft.compile(nested, backend=backend, fullgraph=True)(weft.ones(2, 4), weft.ones(4))
    (graph,) = backend.graphs
    (node,) = [n for n in graph.graph.nodes if n.target is hints_wrapper]
    assert node.kwargs == {"hints": {"outer": True}}
    body = getattr(graph, node.args[0].target)
    assert [n.kwargs for n in body.graph.nodes if n.target is hints_wrapper] == [{"hints": {"inner": 3}}]


@pytest.mark.parametrize("given, message", [({}, "hints not provided"), ({"hints": {"a": (1,)}}, "int, float, bool or str")])
@pytest.mark.parametrize("fullgraph", [False, True])
def test_hints_are_checked(given, message, fullgraph):
    def f(x):
        return hints_wrapper(weft.sin, (x,), {}, **given)

    for call in (f, weft.compile(f, backend="eager", fullgraph=fullgraph)):
        with pytest.raises(RuntimeError, match=message):
            call(weft.ones(2))


def test_a_branch_that_would_raise_is_not_run():
    def f(x):
        return weft.cond(x.sum() > 0, lambda v: v.sin(), lambda v, w: v, (x,))

    x = weft.ones(3)
    assert weft.equal(weft.compile(f, backend="eager")(x), f(x))
    with pytest.raises(weft._dynamo.exc.UncapturedHigherOrderOpError, match="unless it is captured completely"):
        weft.compile(f, backend="eager", fullgraph=True)(x)
