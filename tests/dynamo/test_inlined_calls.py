"""Calls whose insides become part of the graph: of GraphModules, and of ops that are given a function."""

import functools

import weft
import weft.nn.functional as F


def test_a_graph_module_is_traced_into():
    module = weft.nn.Sequential(weft.nn.Linear(3, 4), weft.nn.ReLU())
    of_module, of_function = weft.fx.symbolic_trace(module), weft.fx.symbolic_trace(lambda x: weft.relu(x) + x.sum(0))
    x = weft.randn(2, 3)
    for function in (of_module, of_function, lambda x: of_module(x) * 2, lambda x: of_function(x) * 2):
        assert weft.allclose(weft.compile(function, fullgraph=True)(x), function(x))


def test_another_graph_of_the_module_is_compiled_anew():
    traced = weft.fx.symbolic_trace(lambda x: x + 1)
    compiled = weft.compile(lambda x: traced(x), backend="eager")
    assert compiled(weft.zeros(2)).tolist() == [1, 1]
    traced.graph = weft.fx.symbolic_trace(lambda x: x + 2).graph
    assert compiled(weft.zeros(2)).tolist() == [2, 2]
    node = next(n for n in traced.graph.nodes if n.op == "call_function")
    node.args = (node.args[0], 3)
    traced.recompile()
    assert compiled(weft.zeros(2)).tolist() == [3, 3]


def test_a_distance_of_the_callers():
    a, b, c = (weft.randn(3, 4) for _ in range(3))
    for distance in (weft.nn.PairwiseDistance(), lambda x, y: (x - y).abs().sum(-1), None):
        function = functools.partial(F.triplet_margin_with_distance_loss, distance_function=distance, swap=True)
        assert weft.allclose(weft.compile(function, fullgraph=True)(a, b, c), function(a, b, c))


def test_a_part_that_is_set_on_a_graph_module_is_seen():
    traced = weft.fx.symbolic_trace(weft.nn.Sequential(weft.nn.Linear(2, 1)))
    compiled = weft.compile(lambda x: traced(x), backend="eager", fullgraph=True)
    x = weft.tensor([[-2.0, 2.0]])
    assert weft.equal(compiled(x), traced(x))
    setattr(traced, "0", weft.nn.Linear(2, 1))
    assert weft.equal(compiled(x), traced(x))
