"""Pictures of graphs, with a stand-in for pydot, which is not installed here."""

import sys
import types

import pytest

import weft
from aten.fx import symbolic_trace
from aten.fx.passes.graph_drawer import FxGraphDrawer


class Dot:
    def __init__(self, name, **style):
        self.name, self.nodes, self.edges = name, {}, []

    def add_node(self, node):
        self.nodes[node.name] = node.style

    def add_edge(self, edge):
        self.edges.append(edge)


class Node:
    def __init__(self, name, **style):
        self.name, self.style = name, style


@pytest.fixture
def pydot(monkeypatch):
    made = types.ModuleType("pydot")
    made.Dot, made.Node, made.Edge = Dot, Node, lambda a, b: (a, b)
    monkeypatch.setitem(sys.modules, "pydot", made)


def f(x, y):
    return weft.relu(x + y) * 2


def test_nodes_and_edges(pydot):
    drawer = FxGraphDrawer(symbolic_trace(f), "net")
    dot = drawer.get_dot_graph()
    assert dot is drawer.get_all_dot_graphs()["net"] and list(dot.nodes) == ["x", "y", "add", "relu", "mul", "output"]
    assert dot.edges == [("x", "add"), ("y", "add"), ("add", "relu"), ("relu", "mul"), ("mul", "output")]
    label = dot.nodes["mul"]["label"]
    assert label.startswith('"{name=%mul|op_code=call_function|target=') and "|args=(2)|num_users=1" in label


def test_names_are_shown_where_asked_for(pydot):
    dot = FxGraphDrawer(symbolic_trace(f), "net", skip_node_names_in_args=False, dot_graph_shape="box").get_main_dot_graph()
    assert "args=(%relu, 2)" in dot.nodes["mul"]["label"] and dot.nodes["mul"]["shape"] == "box"


def test_modules_that_are_called_have_their_own(pydot):
    class Outer(weft.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = symbolic_trace(f)
            self.w = weft.nn.Parameter(weft.ones(2))

        def forward(self, x):
            return self.inner(x, x) + self.w

    class Whole(weft.fx.Tracer):
        def is_leaf_module(self, module, name):
            return True

    outer = Outer()
    gm = weft.fx.GraphModule(outer, Whole().trace(outer))
    drawer = FxGraphDrawer(gm, "net", ignore_getattr=True)
    assert set(drawer.get_all_dot_graphs()) == {"net", "net_inner"} and "w" not in drawer.get_dot_graph().nodes
    assert "relu" in drawer.get_dot_graph("inner").nodes


def test_without_pydot_it_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "pydot", None)
    with pytest.raises(RuntimeError, match="pydot"):
        FxGraphDrawer(symbolic_trace(f), "net")
