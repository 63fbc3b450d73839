"""Exact mode: what a loop computes with the very bits of the eager op; the rest runs as the eager op, a step of its own.

A scalar function is eager's own (vecmath.h, the same expression, no contraction), a move of elements changes nothing, and
integers wrap whatever the order. Sums of floats have the order of the eager kernel, and only the eager kernel has it.
Extremes of floats are left to it as well: of -0 and 0 each takes the one that it meets first.

Outside of it halves are rounded where they are stored, where an op makes integers or truth of them, and after each op that
leads to a jump (the nearest pixel of a place that lies between two).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from aten.fx.node import Node as FxNode
from aten.symbolic.expr import ONE
from inductor.ir import scalar
from inductor.ir.nodes import HALF, Node, const
from inductor.ir.scalar import apply
from inductor.lowering.value import Value

VIEWS = frozenset("view permute expand squeeze unsqueeze slice select diagonal unfold as_strided alias detach".split())
_MOVES = VIEWS | frozenset(
    "clone row_major copy slice_scatter select_scatter diagonal_scatter tril triu cat constant_pad_nd flip roll gather scatter "
    "index_select index embedding masked_fill where full arange eye bitcast rand_philox randn_philox randint_philox "
    "sort topk searchsorted cummax cummin".split()
)
# Eager's loops of these are made from the texts of the vocabulary, and from definitions that the lowerings repeat.
_SCALARS = frozenset(name for name, row in scalar.table.items() if row.eager) | frozenset(
    "relu silu gelu clamp cast conj_physical".split()
)
_FOLDS = frozenset(
    "sum prod amax amin any all argmax argmin max_dim min_dim cumsum cumprod scatter_add index_add index_put "
    "embedding_backward".split()
)


def lowers(node: FxNode) -> bool:
    """Whether the loops for a node's op have the bits of the eager op."""
    name = getattr(node.target, "name", "")
    if name in _FOLDS:
        return not any(_is_float(v) for v in (node.meta["val"], *(a.meta["val"] for a in node.all_input_nodes)))
    if name == "pow":  # eager looks at the exponent where it is one number for all: a loop sees that of a number only
        return not any(isinstance(a, FxNode) for a in node.args[1:2]) or not _is_float(node.meta["val"])
    if name == "nextafter" and node.meta["val"].dtype.name in HALF:  # of the half type, not of float32
        return False
    return name in _MOVES or name in _SCALARS or not hasattr(node.target, "name")


def _is_float(val: Any) -> bool:
    if isinstance(val, (tuple, list)):
        return any(map(_is_float, val))
    dtype = getattr(val, "dtype", None)
    return dtype is not None and (dtype.is_floating_point or dtype.is_complex)


def stored_for_steps(node: FxNode) -> bool:
    """Whether an op that stays a step reads the node, or a view of it: then it lies in memory as eager has it, since the order
    of a sum may depend on where its terms lie."""
    for user in node.users:
        if user.op != "call_function":
            continue
        if getattr(user.target, "name", "") in VIEWS:
            if stored_for_steps(user):
                return True
        elif not lowers(user):
            return True
    return False


def dense_symbols(sizes, strides) -> bool:
    """Whether strides are products of the sizes in some order."""
    left, expected = [(n, s) for n, s in zip(sizes, strides) if n is not ONE], ONE
    while left:
        found = next((d for d in reversed(left) if d[1] is expected), None)
        if found is None:
            return False
        left.remove(found)
        expected = expected * found[0]
    return True


def decides(node: FxNode) -> bool:
    """Whether an op's result may change by a whole where an argument changes in its last bit: it then takes halves as eager has
    them, infinite where they overflow, in every mode."""
    val = node.meta["val"]
    results = val if isinstance(val, (tuple, list)) else (val,)
    return getattr(node.target, "name", "") in _JUMPS or not all(map(_is_float, results))


def before_jumps(nodes: Iterable[FxNode]) -> set[FxNode]:
    """The elementwise ops whose halves lead to a jump, by others of the kind alone: each is rounded as eager does it, for a
    different rounding on the way is a different whole there."""
    found: set[FxNode] = set()
    for n in reversed(list(nodes)):
        jumps = n.op == "call_function" and (getattr(n.target, "name", "") in _JUMPS or _makes_whole(n))
        if jumps or n in found:
            found.update(a for a in n.all_input_nodes if _is_half_op(a))
    return found


def _makes_whole(node: FxNode) -> bool:
    """Whether a node cuts off what is behind the point of floats."""
    dtype = getattr(node.meta.get("val"), "dtype", None)
    whole = dtype is not None and not (dtype.is_floating_point or dtype.is_complex or dtype.name == "bool")
    return whole and getattr(node.target, "name", "") == "cast"


def _is_half_op(node: FxNode) -> bool:
    dtype = getattr(node.meta.get("val"), "dtype", None)
    if node.op != "call_function" or getattr(dtype, "name", "") not in HALF:
        return False
    return getattr(node.target, "name", "") in VIEWS or "pointwise" in getattr(node.target, "tags", ())


def in_half(value: Any, loads: Callable[[Node], bool] = lambda n: True) -> Any:
    """A value as elements of its dtype, if that is a half type; anything else as it is. `loads` as for `is_half`."""
    if isinstance(value, (list, tuple)):
        return type(value)([in_half(v, loads) for v in value])
    if not isinstance(value, Value) or value.dtype not in HALF or is_half(value.body, value.dtype, loads):
        return value
    if value.body.kind == "const":
        return Value(value.sizes, value.dtype, const(as_half(value.body.value, value.dtype), value.body.dtype))
    return Value(value.sizes, value.dtype, apply("round_" + value.dtype, value.body))


def as_half(number: float, dtype: str) -> float:
    """A number in a half type, rounded once."""
    import ml_dtypes  # as most graphs have none

    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.float16
    with np.errstate(all="ignore"):
        return float(np.float32(number).astype(kind))


_JUMPS = frozenset("floor ceil round trunc frac sign sgn heaviside floor_divide remainder fmod".split())
_KEEP = frozenset(("neg", "abs", "maximum", "minimum", "fmax", "fmin", "relu", "copysign"))


def is_half(n: Node, dtype: str, loads: Callable[[Node], bool] = lambda n: True) -> bool:
    """Whether every value of the node is one of the half type, as are those `loads` says it of (all: of buffers of that dtype,
    as what is cast has been rounded)."""
    if n.kind == "load":
        return loads(n)
    if n.kind == "const":
        return n.value in (-1, 0, 1) or n.value != n.value or as_half(n.value, dtype) == n.value
    if n.kind == "masked" or (n.kind == "call" and n.name == "where"):
        return all(is_half(a, dtype, loads) for a in n.args[-2:])
    if n.kind == "call" and n.name in _KEEP:
        return all(is_half(a, dtype, loads) for a in n.args)
    return n.kind == "call" and n.name == "round_" + dtype


__all__ = ["VIEWS", "as_half", "before_jumps", "decides", "dense_symbols", "in_half", "is_half", "lowers", "stored_for_steps"]
