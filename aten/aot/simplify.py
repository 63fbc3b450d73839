"""Rewrites of joint graphs: what derivatives leave behind, said in fewer or larger steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten.fx.emit import emit
from aten.fx.graph import Graph
from aten.fx.node import Node, is_final
from aten.fx.targets import is_op
from aten.meta import known_equal
from aten.op import registry


def _is(node: Any, name: str) -> bool:
    return type(node) is Node and node.op == "call_function" and is_op(node.target) and node.target.name == name


def _insert(graph: Graph, before: Node, name: str, *args: Any) -> Node:
    """A call of an op on core arguments in front of `before`, with its line and its part of the graph."""
    with graph.inserting_before(before):
        node = emit(graph, name, *args, line=before.meta.get("line"))
    if "derived" in before.meta:
        node.meta["derived"] = before.meta["derived"]
    return node


def _replace(graph: Graph, node: Node, new: Node) -> None:
    node.replace_all_uses_with(new)
    graph.erase_node(node)


def _terms(root: Node) -> list[Node] | None:
    """The paddings whose sum `root` is, or None if it is anything else."""
    found, stack = [], [root]
    while stack:
        node = stack.pop()
        if node is not root and len(node.users) > 1:
            return None
        if _is(node, "constant_pad_nd") and _value(node) == 0 and type(node.args[0]) is Node:
            found.append(node)
        elif _is(node, "add") and all(type(a) is Node for a in node.args[:2]):
            stack += reversed(node.args[:2])
        else:
            return None
    return found


def _value(pad: Node) -> Any:
    return pad.args[2] if len(pad.args) > 2 else pad.kwargs.get("value", 0)


def _padded_dim(pad: Node) -> int | None:
    """The only dim that is padded."""
    amounts = pad.args[1]
    ndim = pad.meta["val"].ndim
    dims = [ndim - 1 - i // 2 for i in range(0, len(amounts), 2) if not (_zero(amounts[i]) and _zero(amounts[i + 1]))]
    return dims[0] if len(dims) == 1 else None


def _zero(n: Any) -> bool:
    return type(n) is int and n == 0


def pads_to_cat(graph: Graph) -> bool:
    """pad(a) + pad(b) + pad(c) → cat([a, b, c]) where the parts lie side by side and fill the whole.

    The gradient of a tensor that was split is such a sum.
    """
    changed = False
    for node in graph.nodes:
        if not _is(node, "add") or not node.users or any(_is(u, "add") and len(node.users) == 1 for u in node.users):
            continue
        terms = _terms(node)
        if terms is None or any(t.meta["val"] != node.meta["val"] for t in terms):
            continue
        dims = {_padded_dim(t) for t in terms}
        dim = next(iter(dims))
        if len(dims) != 1 or dim is None:
            continue
        at = 2 * (node.meta["val"].ndim - 1 - dim)
        parts = _side_by_side({id(t): (t.args[1][at], t.args[0], t.args[1][at + 1]) for t in terms}.values(), dim)
        if parts is None or parts[0].meta["val"].dtype is not node.meta["val"].dtype:
            continue
        _replace(graph, node, _insert(graph, node, "cat", parts, dim))
        changed = True
    return changed


def _side_by_side(pieces: Any, dim: int) -> list[Node] | None:
    """The parts (each with how much lies before and after it) in order, if each begins where the last one ends."""
    left = list(pieces)
    place: Any = 0
    parts: list[Node] = []
    while left:
        found = next((p for p in left if known_equal(p[0], place)), None)
        if found is None:
            return None
        left.remove(found)
        parts.append(found[1])
        place = place + found[1].meta["val"].sizes[dim]
        if not left and not _zero(found[2]):
            return None
    return parts


def scatter_to_where(graph: Graph) -> bool:
    """zeros.scatter_add(dim, index, src) → where(index == arange(n), src, 0) where index has size 1 along dim.

    Each element then receives at most one addend, and the whole is pointwise. The gradient of a gather of one element a
    row, as in a cross entropy, is such a scatter. One that is a result is `scatter`: nothing is computed of it, so that all but
    one element of a row need only be filled (nll_loss of [418,627] and its gradient: 28 us instead of 57).
    """
    changed = False
    for node in graph.nodes:
        if not (_is(node, "scatter_add") and _is(node.args[0], "full") and node.args[0].args[1] == 0):
            continue
        _, dim, index, src = node.args
        sizes, at = node.meta["val"].sizes, index.meta["val"].sizes
        if (
            len(sizes) == 0
            or index.meta["val"].dtype.name != "int64"
            or not all(known_equal(a, 1 if d == dim else s) for d, (s, a) in enumerate(zip(sizes, at)))
        ):
            continue
        if not all(map(known_equal, src.meta["val"].sizes, at)):
            continue
        changed = True
        if is_final(node):
            _replace(graph, node, _insert(graph, node, "scatter", node.args[0], dim, index, src))
            continue
        arange = registry["arange"]
        device = {"device": node.meta["val"].device}
        args = arange.normal_fn(*arange.schema.bind((sizes[dim],), device, "arange"))
        places = _insert(graph, node, "arange", *args)
        for _ in range(len(sizes) - 1 - dim):
            places = _insert(graph, node, "unsqueeze", places, places.meta["val"].ndim)
        _replace(graph, node, _insert(graph, node, "where", _insert(graph, node, "eq", index, places), src, 0))
    return changed


PASSES: tuple[Callable[[Graph], bool], ...] = (pads_to_cat, scatter_to_where)


def simplify(graph: Graph) -> bool:
    """All of these; whether anything changed. Leaves dead nodes behind."""
    return any([fn(graph) for fn in PASSES])


__all__ = ["pads_to_cat", "scatter_to_where", "simplify"]
