"""Writes that autograd does not see, through `data` and `detach()`, into what an op of the graph has saved for its gradient.

In eager that gradient is then of the value written; a compiled graph may have used the old one already. The graph breaks before
the op, so that Python saves what the write changes (and a write that counts, through `detach()`, has the gradient refused).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from aten.dtype import DType
from aten.fx.node import Node, leaves
from aten.fx.targets import is_op
from aten.meta import Meta
from dynamo import breaks
from dynamo.breaks import Unsupported
from dynamo.views import root, viewed_by


def check_write(output: Any, what: str, target: Node, recorded: bool) -> None:
    """Refuse to write what is a view of cut memory that was saved, or of which the write is recorded: in a graph such a view has
    no history of its own. Raises Unsupported; so does the other one."""
    if is_detached(target):
        check_memory(output, what, target)
        if recorded and _may_have_history(target):
            raise Unsupported(breaks.MUTATED_ALIAS, f"{what} records a write into what is cut from the history of its memory")


def check_memory(output: Any, what: str, node: Node) -> None:
    """Refuse to change the memory of a tensor unseen where an op has saved it whose gradient has not been asked for yet."""
    memory = root(node)
    readers = [n for n in _readers(memory) if "step" in n.meta and n not in output.used_up and _saves(n, memory)]
    if readers:
        first = min(readers, key=lambda n: n.meta["step"])
        raise Unsupported(breaks.WRITTEN_UNSEEN, f"{what} behind {first.target.name}", first.meta["step"])


def _readers(memory: Node) -> Iterator[Node]:
    """What is memory, a view of it, or has one as an argument."""
    views = [memory]
    for view in views:  # (grows)
        yield view
        for user in view.users:
            if viewed_by(user) is view:
                views.append(user)
            else:
                yield user


def is_detached(node: Any) -> bool:
    """Whether a tensor is, or is a view of, what is cut from the history of its memory."""
    while node is not None and not is_cut(node):
        node = viewed_by(node)
    return node is not None


def is_cut(node: Any) -> bool:
    """Whether an op gives what is cut from the history of its argument, as memory read in another dtype is."""
    name = getattr(node.target, "name", None)
    if name == "view":
        return any(isinstance(a, DType) for a in (*node.args[1:], *node.kwargs.values()))
    return name in ("detach", "detach_", "data_of")


def _may_have_history(node: Node) -> bool:
    meta = node.meta.get("val")
    return type(meta) is not Meta or meta.dtype.is_floating_point or meta.dtype.is_complex


def _saves(node: Node, memory: Node) -> bool:
    """Whether an op keeps this memory for its gradient; of those that are no core ops it is taken for granted."""
    op = node.target
    if not is_op(op) or op.kind == "view" or not any(map(_has_history, leaves(node.meta.get("val")))):
        return False
    given = {p.name: a for p, a in zip(op.schema.params, node.args)} | node.kwargs
    shown = {name for name, a in given.items() if any(isinstance(n, Node) and root(n) is memory for n in leaves(a))}
    if op.kind != "core":
        return viewed_by(node) is None and bool(shown)
    kept = op.plan(tuple([p.differentiable and _needs(given.get(p.name)) for p in op.core])).names
    return any(name in shown for name in kept) or (root(node) is memory and any(name not in given for name in kept))


def _needs(value: Any) -> Any:
    """Whether gradients are wanted of an argument; of a list, of which."""
    if isinstance(value, (tuple, list)):
        return tuple(map(_needs, value))
    return isinstance(value, Node) and _has_history(value.meta.get("val"))


def _has_history(meta: Any) -> bool:
    return type(meta) is Meta and meta.requires_grad


__all__ = ["check_memory", "check_write", "is_cut", "is_detached"]
