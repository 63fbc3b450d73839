"""Nodes of the scalar vocabulary (aten/scalar/table.py)."""

from __future__ import annotations

from aten.scalar.table import Scalar, defined, table
from inductor.ir.nodes import Node, call


def apply(name: str, *args: Node) -> Node:
    """The node name(*args), simplified where that is exact. The arguments have one dtype (where's last two)."""
    from inductor.ir.fold import fold

    dtype = "bool" if table[name].result == "bool" else args[-1].dtype
    return fold(name, args, dtype) or call(name, args, dtype)


def cost(n: Node) -> int:
    """About how many additions the node itself takes (not its arguments)."""
    if n.kind == "call":
        return table[n.name].cost
    return 1 if n.kind in ("load", "masked", "checked") else 0


__all__ = ["Scalar", "apply", "cost", "defined", "table"]
