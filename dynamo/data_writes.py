"""`x.data.masked_fill_(…)` of a value that the graph computes: autograd goes on as if x had not been written.

The graph writes a copy of x's memory, and gives it to x. That is eager's result as long as nobody else has looked at that memory:
no saved result of the op that made x, no op before the write, no other view.
"""

from __future__ import annotations

import weakref
from typing import Any

from aten.fx.node import Node
from aten.fx.targets import set_data
from aten.op import Op
from dynamo.variables.base import Variable
from dynamo.variables.tensor import TensorVariable
from dynamo.views import viewed_by

# Ops whose gradients ask for their arguments alone.
_OF_ARGUMENTS = frozenset(
    "linear matmul einsum bmm mm mv addmm baddbmm add sub mul neg sum where masked_fill cat stack index_select gather embedding "
    "conv1d conv2d conv3d".split()
)


def opened(output: Any, frame: Any, args: list[Variable], kwargs: dict[str, Variable]) -> tuple | None:
    """Before the write: its target becomes a copy. Returns (the tensor whose data it was, the copy of the whole memory), or None
    where the write is to be recorded as it stands."""
    target: Any = args[0]
    owner = target.node.meta.get("data of") if isinstance(target, TensorVariable) else None
    if owner is None or target.root is not owner.root or not owner.root.meta.requires_grad or owner.root.source is not None:
        return None
    views = _views(owner, target)
    if views is None or any(isinstance(a, TensorVariable) and a.meta.requires_grad for a in (*args[1:], *kwargs.values())):
        return None
    data: Any = owner.root.op(frame, "detach", owner.root)
    data.node.meta["data"] = frame.output.root.group_step
    whole: Any = owner.root.op(frame, "clone", data)
    whole.root = whole
    target.node, target.root = _seen(output, whole.node, views), whole
    return owner, whole, views


def close(output: Any, frame: Any, target: TensorVariable, written: tuple) -> None:
    """Behind the write: the memory is given to the tensor; what it is to autograd stays."""
    owner, whole, views = written
    root = owner.root
    root.set_data(frame, whole)
    if owner is not root:
        owner.node = _seen(output, root.node, views)
    made = owner.get_data(frame)
    made.node.meta["held by"] = weakref.ref(target)
    target.node, target.root = made.node, root


def _views(owner: TensorVariable, target: TensorVariable) -> list[Node] | None:
    """The nodes that lead from the owner of the memory to a view of it, none of which has been looked at; None if one has been."""
    chain: list[Node] = []
    node: Any = owner.node
    while node is not owner.root.node:
        chain.append(node)
        node = viewed_by(node)
        if node is None:
            return None
    chain.reverse()
    for at, following in zip((node, *chain), (*chain, None)):
        if any(user is not following and not _is_over(user, target) for user in at.users):
            return None
    return chain if len(chain) < 2 and _saves_no_result(owner.root.node) else None  # (what lies between would stay as it was)


def _is_over(user: Node, target: TensorVariable) -> bool:
    """Whether a reader of the memory sees no write that follows: it was its `data`, nobody holds it, and no view is of it."""
    if "data" not in user.meta or any(viewed_by(reader) is user for reader in user.users):
        return False
    held = user.meta.get("held by")
    return user is target.node or held is None or held() is None or held().node is not user


def _saves_no_result(node: Node) -> bool:
    while node.target is set_data:  # written before
        (node,) = [a for a in node.args[:1] if isinstance(a, Node)]
    return node.op == "call_function" and isinstance(node.target, Op) and node.target.name in _OF_ARGUMENTS


def _seen(output: Any, memory: Node, views: list[Node]) -> Node:
    """The same views of other memory."""
    for view in views:
        memory = output.graph.call_function(view.target, (memory, *view.args[1:]), view.kwargs, val=view.meta["val"])
    return memory


__all__ = ["close", "opened"]
