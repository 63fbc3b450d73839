"""Passes that make a graph smaller without changing what it computes."""

from __future__ import annotations

import operator
from typing import Any

from aten.fx.graph import Graph
from aten.fx.node import Node, has_effect
from aten.fx.targets import is_op
from aten.symbolic.symint import SYMBOLIC


def dce(graph: Graph) -> bool:
    """Erase nodes whose results nobody uses. In-place and random ops stay, and those that may fail. Returns whether any
    was erased."""
    return graph.eliminate_dead_code(checks=True)


def is_functional(graph: Graph) -> bool:
    """Whether no node writes into an existing tensor."""
    return not any(
        n.op == "call_method" or (n.op == "call_function" and is_op(n.target) and n.target.kind == "inplace") for n in graph.nodes
    )


def _key(arg: Any) -> Any:
    """A hashable stand-in that is equal for equal arguments (1, 1.0 and True are different arguments)."""
    t = type(arg)
    if t is Node:
        return arg
    if t is tuple or t is list:
        return (t, *map(_key, arg))
    if t is dict:
        return (t, *((k, _key(v)) for k, v in arg.items()))
    if t is slice:
        return (t, _key(arg.start), _key(arg.stop), _key(arg.step))
    if t in SYMBOLIC:
        return arg.expr
    if t is float:
        return (t, arg.hex())
    if t is int or t is bool or t is str or arg is None:
        return (t, arg)
    return (t, id(arg)) if t.__hash__ is None else arg


def cse(graph: Graph) -> bool:
    """Let equal calls be one. Random and in-place ops are never merged; a graph that mutates is left alone.

    Returns whether any was merged. Two outputs may become the same node.
    """
    if not is_functional(graph):
        return False
    seen: dict[Any, Node] = {}
    changed = False
    for node in graph.nodes:
        if node.op not in ("call_function", "get_attr") or has_effect(node):
            continue
        key = (
            (node.op, _key(node.target), _key(node.args), _key(node.kwargs))
            if node.kwargs
            else (node.op, _key(node.target), _key(node.args))
        )
        first = seen.setdefault(key, node)
        if first is not node:
            node.replace_all_uses_with(first)
            graph.erase_node(node)
            changed = True
    return changed


def fold(graph: Graph) -> bool:
    """Drop calls that return their argument: views, casts and copies that change nothing, x * 1, padding by nothing.

    For functional graphs: what was a copy may then be the argument itself.
    """
    changed = False
    for node in graph.nodes:
        if node.op != "call_function" or not node.users:
            continue
        same = _identity(node)
        if same is not None:
            node.replace_all_uses_with(same)
            graph.erase_node(node)
            changed = True
    return changed


_VIEWS = frozenset({"view", "permute", "expand", "squeeze", "unsqueeze", "slice", "alias", "as_strided"})


def _identity(node: Node) -> Node | None:
    """The argument that `node` returns unchanged, or None."""
    target = node.target
    if target is operator.getitem:
        source, i = node.args
        return source[i] if type(source) in (tuple, list) and type(i) is int and type(source[i]) is Node else None
    if not is_op(target) or not node.args or type(node.args[0]) is not Node:
        return None
    source = node.args[0]
    name = target.name
    if name == "cast":
        val = source.meta.get("val")
        return source if val is not None and val.dtype is node.args[1] else None
    if name == "permute" and source.op == "call_function" and source.target is target:
        inner, dims = source.args[0], [source.args[1][d] for d in node.args[1]]
        if dims == list(range(len(dims))):
            return inner
    if name == "view" and source.op == "call_function" and source.target is target:
        if _same_layout(source.args[0], node):
            return source.args[0]
    if name in _VIEWS or _keeps_values(name, node):
        return source if _same_layout(source, node) else None
    return None


def _keeps_values(name: str, node: Node) -> bool:
    """Whether the op returns the elements of its first argument as they are."""
    if name in ("mul", "div"):
        return type(node.args[1]) in (int, float) and node.args[1] == 1
    if name == "sub":  # not x + 0, which makes 0.0 of -0.0
        return type(node.args[1]) in (int, float) and node.args[1] == 0 and not str(node.args[1]).startswith("-")
    if name == "constant_pad_nd":
        return all(type(n) is int and n == 0 for n in node.args[1])
    return name in ("clone", "row_major")  # nothing writes in place in a functional graph; outputs are separated later


def _same_layout(a: Node, b: Node) -> bool:
    x, y = a.meta.get("val"), b.meta.get("val")
    if x is None or y is None or not hasattr(x, "sizes") or not hasattr(y, "sizes"):
        return False
    return x == y


def merge_views(graph: Graph) -> bool:
    """view(view(x)) → view(x); permute(permute(x)) → permute(x); expand of expand likewise."""
    changed = False
    for node in graph.nodes:
        if node.op != "call_function" or not is_op(node.target) or node.target.name not in ("view", "permute", "expand"):
            continue
        source = node.args[0]
        if type(source) is not Node or source.op != "call_function" or source.target is not node.target:
            continue
        if node.target.name == "permute":
            node.args = (source.args[0], [source.args[1][d] for d in node.args[1]])
        elif node.target.name == "view" and not source.args[0].meta["val"].is_contiguous():
            continue  # whether the sizes fit the strides is known only step by step
        else:
            node.args = (source.args[0], *node.args[1:])
        changed = True
    return changed


def cleanup(graph: Graph) -> Graph:
    """All of these, once each in an order that leaves little behind."""
    fold(graph)
    merge_views(graph)
    dce(graph)
    cse(graph)
    fold(graph)
    dce(graph)
    return graph
