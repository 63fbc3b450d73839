"""replace_pattern: sub-graphs given as functions are found and replaced by others (torch.fx.subgraph_rewriter)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from aten.fx.graph import Graph
from aten.fx.graph_module import GraphModule
from aten.fx.node import Node, map_arg
from aten.fx.targets import is_op
from aten.fx.tracing import symbolic_trace

# Python's operators are the ops of these names, and methods those of their own.
_OPERATORS = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide", "mod": "remainder", "pow": "pow",
    "matmul": "matmul", "neg": "neg", "eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge", "and_": "bitwise_and",
    "or_": "bitwise_or", "xor": "bitwise_xor", "invert": "bitwise_not", "abs": "abs",
}  # fmt: skip


class Match(NamedTuple):
    """One place where the pattern was: the node of its result, and the node for each of the pattern's."""

    anchor: Node
    nodes_map: dict[Node, Any]


def _kind(node: Node) -> Any:
    """What a call computes, however it is written: `x + y`, `x.add(y)` and `weft.add(x, y)` are one."""
    if node.op == "call_method":
        return node.target
    if node.op != "call_function":
        return (node.op, node.target)
    if is_op(node.target):
        return node.target.name
    if getattr(node.target, "__module__", None) == "_operator":
        return _OPERATORS.get(node.target.__name__, node.target)
    return node.target


def _graph(pattern: Any) -> Graph:
    if isinstance(pattern, Graph):
        return pattern
    return pattern.graph if isinstance(pattern, GraphModule) else symbolic_trace(pattern).graph


def _matches(pattern: Any, value: Any, found: dict[Node, Any]) -> bool:
    if type(pattern) is Node:
        if pattern in found:
            return found[pattern] is value
        if pattern.op != "placeholder":
            if type(value) is not Node or value.op == "placeholder" or _kind(pattern) != _kind(value):
                return False
            if not _matches(pattern.args, value.args, found) or not _matches(pattern.kwargs, value.kwargs, found):
                return False
        found[pattern] = value
        return True
    if type(pattern) in (tuple, list):
        if type(value) not in (tuple, list) or len(pattern) != len(value):
            return False
        return all(_matches(p, v, found) for p, v in zip(pattern, value))
    if type(pattern) is dict:
        return (
            type(value) is dict and pattern.keys() == value.keys() and all(_matches(p, value[k], found) for k, p in pattern.items())
        )
    return type(pattern) is type(value) and pattern == value


def _match_at(result: Node, node: Node) -> dict[Node, Any] | None:
    """The match whose result is `node`: inner nodes may have no users outside of it."""
    found: dict[Node, Any] = {}
    if not _matches(result, node, found):
        return None
    inside = {v for p, v in found.items() if p.op not in ("placeholder", "get_attr")}
    if any(user not in inside for n in inside if n is not node for user in n.users):
        return None
    return found


def replace_pattern(gm: GraphModule, pattern: Any, replacement: Any) -> list[Match]:
    """Replace every sub-graph of `gm` that computes what `pattern` does, in place; returns the matches.

    pattern and replacement are functions of the same inputs (traced symbolically), or graphs. Matches do not overlap:
    what comes first in the graph is replaced.
    """
    source, target = _graph(pattern), _graph(replacement)
    result = source.output_node.args[0]
    inputs = target.placeholders
    if type(result) is not Node or len(inputs) != len(source.placeholders):
        raise ValueError("a pattern returns one value, and its replacement takes the same inputs")
    matches: list[Match] = []
    for node in gm.graph.nodes:
        found = None if node.op in ("placeholder", "output") else _match_at(result, node)
        if found is None:
            continue
        _replace(gm.graph, node, target, {new: found.get(old) for new, old in zip(inputs, source.placeholders)})
        for p in reversed(list(found)):
            old = found[p]
            if p.op not in ("placeholder", "get_attr") and not old._erased and not old.users:
                gm.graph.erase_node(old)
        matches.append(Match(node, found))
    gm.recompile()
    return matches


def _replace(graph: Graph, node: Node, target: Graph, env: dict[Node, Any]) -> None:
    with graph.inserting_before(node):
        for n in target.nodes:
            if n.op == "output":
                new = map_arg(n.args[0], env.__getitem__)
            elif n not in env:
                env[n] = graph.node_copy(n, env.__getitem__)
                env[n].meta["line"] = node.meta.get("line")
                env[n].meta["val"] = _meta(env[n])
    if new.meta.get("val") is None:
        new.meta["val"] = node.meta.get("val")
    node.replace_all_uses_with(new)


def _meta(node: Node) -> Any:
    """The Meta of an op's result where those of its arguments are known."""
    if node.op != "call_function" or not is_op(node.target):
        return None
    if any(n.meta.get("val") is None for n in node.all_input_nodes):
        return None
    values: Callable = lambda n: n.meta["val"]
    return node.target.meta(*map_arg(node.args, values), **map_arg(node.kwargs, values))
