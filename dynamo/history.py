"""Tensors whose history was walked within the graph, or begins there: what becomes of those that leave it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from aten.autograd.used import used_up
from aten.fx.node import Node
from aten.fx.targets import is_op
from aten.meta import Meta
from aten.op import registry
from aten.tensor import Parameter
from dynamo import breaks, outcome
from dynamo.breaks import Unsupported
from dynamo.views import root, writes


def history(node: Node) -> Iterator[Node]:
    """A node and those that it is computed from with a history."""
    seen = {node}
    stack = [node]
    while stack:
        n = stack.pop()
        yield n
        new = [x for x in n.all_input_nodes if x not in seen and _tracked(x.meta.get("val"))]
        seen.update(new)
        stack += new


def depends(node: Node, nodes: set[Node]) -> bool:
    """Whether a node is among these or is computed from them with a history."""
    return any(n in nodes for n in history(node))


def _tracked(val: Any) -> bool:
    return any(map(_tracked, val)) if isinstance(val, (tuple, list)) else getattr(val, "requires_grad", False)


def written_since(graph: Any, walked: set[Node]) -> bool:
    """Whether a tensor is written in place behind an operation of the walked history that has read it, and may have kept it."""
    read: set[Node] = set()
    for node in graph.nodes:
        op = node.target
        if node.op != "call_function" or not is_op(op):
            continue
        if writes(op):
            if root(node.args[0]) in read:
                return True
        elif node in walked and op.kind != "view":
            read.update(map(root, node.all_input_nodes))
    return False


def written_behind(since: Node, tensor: Node) -> bool:
    """Whether the memory of a tensor is written in place behind a node of its graph."""
    nodes, memory = iter(tensor.graph.nodes), root(tensor)
    for node in nodes:
        if node is since:
            break
    return any(
        node.op == "call_function" and is_op(node.target) and writes(node.target) and root(node.args[0]) is memory
        for node in nodes
    )


def begins_or_ends(output: Any, tensor: Any) -> bool:
    """Whether a tensor has a history of which a part was used up, or begins, in the graph."""
    if not tensor.meta.requires_grad or tensor.source is not None or not (output.used_up or output.own_leaves):
        return False
    return depends(tensor.node, {*output.used_up, *(leaf.node for leaf in output.own_leaves)})


def recipe(emit: Any, tensor: Any) -> Any:
    """The recipe of such a tensor: without history, with one that cannot be walked again."""
    output = emit.output
    if any(tensor is leaf for leaf in output.own_leaves):
        plain = output.graph.call_function(registry["detach"], (tensor.node,), {}, val=_without_grad(tensor.meta))
        return outcome.Call(outcome.Const(leaf_of), (emit.graph_output(plain), outcome.Const(tensor.cls)))
    for leaf in output.own_leaves:
        if not depends(tensor.node, output.used_up):
            raise Unsupported(breaks.NOT_REBUILT, "a tensor with a history that begins in the graph", leaf.node.meta.get("born"))
    plain = output.graph.call_function(registry["detach"], (tensor.node,), {}, val=_without_grad(tensor.meta))
    found = set(history(tensor.node))
    leaves = [leaf for leaf in dict.fromkeys(output.used_leaves) if leaf.node in found]
    return outcome.Call(outcome.Const(used_up), (emit.graph_output(plain), *map(emit.value, leaves)))


def leaf_of(tensor: Any, cls: type) -> Any:
    """A leaf of this class on the memory of what a graph has made."""
    return cls(tensor) if issubclass(cls, Parameter) else tensor.requires_grad_()


def _without_grad(meta: Meta) -> Meta:
    return Meta(meta.dtype, meta.device, meta.sizes, meta.strides, meta.offset)
