"""Sub-graphs of a form: which nodes stand for which."""

import pytest

import weft
from aten.fx import Graph, symbolic_trace
from aten.fx.passes.utils.matcher_utils import SubgraphMatcher
from weft import nn


def names(match):
    return {p.name: getattr(v, "name", v) for p, v in match.nodes_map.items()}


def program(a, b):
    c = weft.relu(a + b) * 2
    d = weft.relu(c + a) * 3
    return d - c


def pattern(x, y):
    return weft.relu(x + y)


def graph_of(function):
    return symbolic_trace(function).graph


def test_every_place_is_found_in_order():
    found = SubgraphMatcher(graph_of(pattern)).match(graph_of(program))
    assert [names(m) for m in found] == [
        {"relu": "relu", "add": "add", "x": "a", "y": "b"}, {"relu": "relu_1", "add": "add_1", "x": "mul", "y": "a"},
    ]  # fmt: skip
    assert [n.name for n in found[0].placeholder_nodes] == ["a", "b"] and [n.name for n in found[1].returning_nodes] == ["relu_1"]


def test_values_are_matched_unless_they_may_be_any():
    def scaled(x, y):
        return weft.relu(x + y) * 3

    assert len(SubgraphMatcher(graph_of(scaled)).match(graph_of(program))) == 1
    assert len(SubgraphMatcher(graph_of(scaled), ignore_literals=True).match(graph_of(program))) == 2

    def by_any(x, n):
        return weft.relu(x) * n

    assert [names(m)["n"] for m in SubgraphMatcher(graph_of(by_any)).match(graph_of(program))] == [2, 3]


def test_what_is_used_outside_is_no_place():
    def leaks(a):
        b = a + 1
        return weft.relu(b) - b

    def inner(x):
        return weft.relu(x + 1)

    assert SubgraphMatcher(graph_of(inner)).match(graph_of(leaks)) == []

    def both(x):
        b = x + 1
        return weft.relu(b), b

    assert len(SubgraphMatcher(graph_of(both)).match(graph_of(leaks))) == 1


def test_one_node_stands_for_one():
    def squared(x):
        return weft.relu(x) * weft.relu(x)

    def twice(a):
        b = weft.relu(a)
        return b * b

    assert SubgraphMatcher(graph_of(squared)).match(graph_of(twice)) == []
    assert len(SubgraphMatcher(graph_of(twice)).match(graph_of(twice))) == 1


def test_several_results_and_overlaps():
    def two(x):
        return weft.sin(x), weft.cos(x)

    def program(a):
        return weft.sin(a) + weft.cos(a) + weft.sin(a)

    assert len(SubgraphMatcher(graph_of(two)).match(graph_of(program))) == 1
    assert len(SubgraphMatcher(graph_of(two), remove_overlapping_matches=False).match(graph_of(program))) == 2


def test_attributes_and_inputs():
    class Module(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(weft.ones(2))

        def forward(self, x):
            return x * self.w

    assert len(SubgraphMatcher(symbolic_trace(Module()).graph).match(symbolic_trace(Module()).graph)) == 1
    whole = SubgraphMatcher(graph_of(pattern), match_output=True, match_placeholder=True)
    assert len(whole.match(graph_of(pattern))) == 1 and whole.match(graph_of(program)) == []


def test_what_is_no_pattern():
    with pytest.raises(ValueError, match="empty pattern"):
        SubgraphMatcher(Graph())

    def dead(x):
        x + 1
        return x * 2

    with pytest.raises(AssertionError, match="dead code"):
        SubgraphMatcher(graph_of(dead))
