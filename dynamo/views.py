"""Which nodes show the memory of others, and the views that only their program can make: those at the place a tensor says."""

from __future__ import annotations

import _operator as operator
from typing import Any

from aten.fx.node import Node
from aten.fx.targets import is_op
from aten.meta import Meta, dense_order
from aten.op import registry
from aten.symbolic.symint import SYMBOLIC, SymBool
from dynamo import breaks, outcome
from dynamo.breaks import Unsupported

# Composites whose result shares its argument's memory, always or for some arguments.
VIEWS = frozenset(
    "reshape transpose t T mT H mH split split_with_sizes chunk unbind movedim moveaxis flatten getitem narrow view_as "
    "expand_as contiguous to squeeze unsqueeze swapaxes swapdims ravel unflatten tensor_split hsplit vsplit dsplit "
    "diagonal real imag type_as float double half bfloat16 int long short bool positive permute broadcast_to adjoint "
    "atleast_1d atleast_2d atleast_3d reshape_as type cpu unfold select slice alias detach conj resolve_conj "
    "broadcast_tensors numpy_T".split()
)
# Those of them that may be copies.
COPIES = frozenset(
    "reshape flatten contiguous to type_as float double half bfloat16 int long short bool ravel unflatten reshape_as "
    "type cpu".split()
)
_PLACES = frozenset("int8 int16 int32 int64 uint16 uint32 uint64".split())


def viewed_by(node: Any) -> Any:
    """The node of the tensor that this one is a view of for certain, or None."""
    if node.op != "call_function" or not node.args:
        return None
    name = getattr(node.target, "name", None)
    basic = name != "getitem" or all(map(is_basic, keys_of(node.args[1])))
    is_view = node.target is operator.getitem or getattr(node.target, "kind", None) == "view" or name in VIEWS - COPIES
    return node.args[0] if is_view and basic else None


def through_gaps(node: Any) -> bool:
    """Whether it is a view that as_strided took of a tensor with gaps in its memory: what lies there no graph has."""
    while (base := viewed_by(node)) is not None:
        meta = base.meta.get("val")
        strided = getattr(node.target, "name", None) == "as_strided" and type(meta) is Meta
        if strided and not meta.is_contiguous() and dense_order(meta) is None:
            return True
        node = base
    return False


def keys_of(key: Any) -> tuple:
    return key if isinstance(key, tuple) else (key,)


def is_basic(key: Any) -> bool:
    """Whether an index is one of those that make views."""
    if isinstance(key, bool) or type(key) is SymBool:
        return False
    return type(key) in SYMBOLIC or isinstance(key, (int, slice, type(None), type(...)))


# ---- at the place that a tensor says
def is_number(key: Any) -> bool:
    """Whether a key is a tensor of one int: eager takes a view at its value, which the graph does not know."""
    val = key.meta.get("val") if hasattr(key, "meta") else None
    return type(val) is Meta and not val.sizes and val.dtype.name in _PLACES


def is_at_number(key: Any) -> bool:
    """Whether x[key] is such a view."""
    keys = keys_of(key)
    return any(map(is_number, keys)) and all(is_basic(k) or is_number(k) for k in keys)


def seen_through(node: Node) -> Node | None:
    """The view at a number that a node is, or may be a view of: the graph has a copy in its place."""
    while "by number" not in node.meta:
        if node.op != "call_function" or not node.args or not isinstance(node.args[0], Node):
            return None
        if viewed_by(node) is None:
            name = node.target.name if is_op(node.target) else ""
            if name not in COPIES or node.meta["val"].dtype is not node.args[0].meta["val"].dtype:
                return None
        node = node.args[0]
    return node


def again(emit: Any, tensor: Any) -> Any:
    """The recipe of a view at a number: the program takes it once more, behind the graph."""
    node = seen_through(tensor.node)
    assert node is not None
    step = node.meta["by number"]
    base, key = tensor.taken or (None, None)
    output = emit.output
    if output.root.broken or node is not tensor.node or base.is_of_subclass or base.node is not node.args[0]:
        raise Unsupported(breaks.NOT_REBUILT, "a view at the place that a tensor says", step)
    grad = base.meta.requires_grad and output.grad_enabled
    if tensor.meta.requires_grad is not grad or any(map(is_number, keys_of(node.args[1]))) and written_behind(node):
        raise Unsupported(breaks.NOT_REBUILT, "a view at the place that a tensor said", step)
    return outcome.Call(outcome.Const(registry["getitem"]), (emit.value(base), emit.value(key)))


def written_behind(node: Node) -> bool:
    """Whether a number among the keys of an index is written in place behind it."""
    numbers = {root(k) for k in keys_of(node.args[1]) if is_number(k)}
    behind = False
    for n in node.graph.nodes:
        behind = behind or n is node
        if behind and n.op == "call_function" and is_op(n.target) and writes(n.target) and root(n.args[0]) in numbers:
            return True
    return False


def writes(op: Any) -> bool:
    return op.kind == "inplace" or op.name == "setitem" or "effect" in op.tags


def root(node: Node) -> Node:
    """The node whose memory one may show."""
    while node.op == "call_function" and node.args and isinstance(node.args[0], Node):
        name = node.target.name if is_op(node.target) else ""
        if viewed_by(node) is None and name not in COPIES and not (is_op(node.target) and writes(node.target)):
            break
        node = node.args[0]
    return node
