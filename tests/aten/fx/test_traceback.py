"""What nodes keep of where they come from."""

import pytest
from weft._dynamo.testing import EagerAndRecordGraphs
from weft.fx import traceback
from weft.fx.experimental.proxy_tensor import make_fx

import weft


def staged(x):
    with traceback.annotate({"stage": 1}):
        y = x.sin()
        with traceback.annotate({"part": "b"}):
            y = y * 2
    return y + 1


WANTED = [{"stage": 1}, {"stage": 1, "part": "b"}, None]


def custom(graph):
    return [node.meta.get("custom") for node in graph.nodes if node.op.startswith("call")]


@pytest.mark.parametrize("made", [lambda f, x: make_fx(f)(x), lambda f, x: weft.fx.symbolic_trace(f)], ids=["make_fx", "symbolic"])
def test_blocks_annotate_their_nodes(made):
    assert custom(made(staged, weft.ones(2)).graph) == WANTED
    with traceback.annotate({"all": 0}):
        graph = made(lambda x: x + 1, weft.ones(2)).graph
    assert custom(graph) == [{"all": 0}] and traceback.get_current_meta() == {}


def test_compiled_code_annotates():
    backend = EagerAndRecordGraphs()
    x = weft.ones(2)
    weft.testing.assert_close(weft.compile(staged, backend=backend, fullgraph=True)(x), staged(x))
    assert custom(backend.graphs[0].graph) == WANTED


def test_blocks_go_on_behind_a_break():
    def f(x):
        with traceback.annotate({"stage": 1}):
            y = x.sin()
            weft._dynamo.graph_break()
            y = y * 2
        return y + 1

    backend = EagerAndRecordGraphs()
    x = weft.ones(2)
    weft.testing.assert_close(weft.compile(f, backend=backend)(x), f(x))
    assert [c for graph in backend.graphs for c in custom(graph.graph)] == [{"stage": 1}, {"stage": 1}, None]


def test_annotated_functions():
    f = traceback.annotate_fn({"stage": 1})(lambda x: x.sin())
    backend = EagerAndRecordGraphs()
    weft.compile(lambda x: f(x) + 1, backend=backend, fullgraph=True)(weft.ones(2))
    assert custom(backend.graphs[0].graph) == [{"stage": 1}, None]


def test_graphs_that_are_run_again_keep_their_metas():
    first = make_fx(staged)(weft.ones(2))
    again = lambda: make_fx(lambda x: weft.fx.Interpreter(first).run(x))(weft.ones(2)).graph  # noqa: E731
    assert custom(again()) == [None, None, None]
    with traceback.preserve_node_meta():
        assert traceback.has_preserved_node_meta()
        assert custom(again()) == WANTED
        traceback.set_stack_trace(["here"])
        assert traceback.format_stack() == ["here"]
    assert not traceback.has_preserved_node_meta() and "test_traceback.py" in traceback.format_stack()[-1]
