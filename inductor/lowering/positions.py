"""Integers that are made of loop variables and sizes, as users compute with them: `arange(n) * 3 + 1 < n`.

As index expressions they are exact integers, which addresses, conditions and simplification work on; as data they are
int64, which wraps. So arithmetic stays an expression only where bounds prove that nothing leaves int64.
"""

from __future__ import annotations

import operator

from aten.symbolic import expr
from aten.symbolic.expr import Expr, as_expr, bounds, sym, walk
from inductor.ir import nodes
from inductor.ir.nodes import Node
from inductor.lowering.value import domain

LARGEST = (1 << 63) - 1
LARGEST_SIZE = 1 << 31  # of a symbol without a bound: guarded where arithmetic needs to know
ARITHMETIC = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}
ORDERS = {"eq": expr.eq, "ne": expr.ne, "lt": expr.lt, "le": expr.le, "gt": expr.gt, "ge": expr.ge}


def combined(graph, name: str, a: Node, b: Node, sizes) -> Node | None:
    """name(a, b) of two positions over a domain of `sizes` as an index node; None where that is not one."""
    left, right = position(a), position(b)
    if left is None or right is None or a.kind == b.kind == "const":
        return None
    where = a.args + b.args
    if name in ARITHMETIC:
        value = ARITHMETIC[name](left, right)
        return nodes.index(value, "int64", where) if fits(graph, [value], sizes) else None
    if name not in ORDERS:
        return None
    condition = ORDERS[name](left, right)  # written with the terms on other sides than here
    parts = [e for e in walk(condition) if e.kind == "int"]
    return nodes.index(condition, "bool", where) if fits(graph, parts, sizes) else None


def position(n: Node) -> Expr | None:
    """The expression of an int64 that is made of loop variables, sizes and numbers."""
    if n.dtype != "int64":
        return None
    return n.index if n.kind == "index" else as_expr(n.value) if n.kind == "const" else None


def fits(graph, exprs: list[Expr], sizes) -> bool:
    """Whether all of these are in int64 at every point of a domain of `sizes`. Symbols that have no bound but are small
    in this call are guarded to be, where that decides it."""
    known = {**graph.ranges, **domain(sizes)}
    if _inside(exprs, known):
        return True
    if graph.env is None:
        return False
    free = set().union(*(e.free_symbols for e in (*exprs, *sizes)))
    tight = {}
    for name in free & graph.env.hints.keys():
        hint, (lo, hi) = graph.env.hints[name], graph.env.ranges[name]
        if type(hint) is int and 0 <= lo and hint <= LARGEST_SIZE < hi:
            tight[name] = (lo, LARGEST_SIZE)
    if not tight or not _inside(exprs, {**known, **tight}):
        return False
    for name in sorted(tight):
        graph.env.guard(expr.le(sym(name), LARGEST_SIZE))
        graph.ranges[name] = tight[name]
    return True


def _inside(exprs: list[Expr], known: dict) -> bool:
    memo: dict = {}
    return all(-LARGEST <= lo and hi <= LARGEST for lo, hi in (bounds(e, known, memo) for e in exprs))


def within(graph, n: Node, size: Expr, sizes) -> bool:
    """Whether a position is known to be in [0, size) at every point of a domain of `sizes`."""
    e = position(n)
    return e is not None and not n.args and expr.below(e, size, {**graph.ranges, **domain(sizes)})
