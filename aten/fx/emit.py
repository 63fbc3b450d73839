"""Adding a call of an op to a graph by its name, with the Meta of its result."""

from __future__ import annotations

from typing import Any

from aten.fx.graph import Graph
from aten.fx.node import Node


def emit(graph: Graph, name: str, *args: Any, line: Any = None) -> Node:
    """`aten.name(*args)` on core arguments, at the graph's insertion point; `line` becomes its user line."""
    from aten.op import registry

    op = registry[name]
    positional, keywords = op.split(args)
    node = graph.create_node("call_function", op, positional, keywords, None, op.rule(*map(_meta, args)))
    node.meta["line"] = line
    return node


def _meta(a: Any) -> Any:
    if type(a) is Node:
        return a.meta["val"]
    return [_meta(x) for x in a] if type(a) is list else a
