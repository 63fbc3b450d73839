"""Exact simplifications of scalar calls: what holds for every value, NaN and signed zeros included."""

from __future__ import annotations

from inductor.ir import nodes
from inductor.ir.nodes import FLOATS, Node, const


def fold(name: str, args: tuple[Node, ...], dtype: str) -> Node | None:
    """An equal, simpler node for name(*args), or None."""
    rule = _RULES.get(name)
    return rule(args, dtype) if rule else None


def cast(x: Node, dtype: str) -> Node:
    """`x` converted to computed dtype `dtype`."""
    if x.dtype == dtype:
        return x
    if x.kind == "const":
        value = x.value
        if dtype in FLOATS and not isinstance(value, float) or dtype == "bool":
            return const(value, dtype)
        if isinstance(value, (bool, int)) and dtype not in FLOATS:
            return const(wrap(int(value), dtype), dtype)
    if x.kind == "index" and x.dtype == "int64" and dtype == "int32":
        return nodes.index(x.index, dtype, x.args)
    return nodes.call("to_bool", (x,), "bool") if dtype == "bool" else nodes.call("cast", (x,), dtype)


def wrap(value: int, dtype: str) -> int:
    """`value` modulo 2**bits, in the range of the integer dtype."""
    bits = int(dtype.lstrip("uint"))
    value &= (1 << bits) - 1
    return value - (1 << bits) if dtype.startswith("int") and value >> (bits - 1) else value


def _is(n: Node, value: float) -> bool:
    return n.kind == "const" and n.value == value and not (value == 0 and str(n.value).startswith("-"))


def _add(args, dtype):
    a, b = args
    if dtype in FLOATS:  # x + -0.0 is x, x + 0.0 is not for x = -0.0
        return a if b.kind == "const" and b.value == 0 and str(b.value).startswith("-") else None
    if a.kind == b.kind == "index" and dtype == "int64":
        return nodes.index(a.index + b.index, dtype, a.args + b.args)
    if b.kind == "const" and a.kind == "index" and dtype == "int64":
        return nodes.index(a.index + b.value, dtype, a.args)
    return a if _is(b, 0) else b if _is(a, 0) else None


def _sub(args, dtype):
    a, b = args
    if a.kind == b.kind == "index" and dtype == "int64":
        return nodes.index(a.index - b.index, dtype, a.args + b.args)
    return a if _is(b, 0) else None


def _mul(args, dtype):
    a, b = args
    if b.kind == "const" and a.kind == "index" and dtype == "int64":
        return nodes.index(a.index * b.value, dtype, a.args)
    return a if _is(b, 1) else b if _is(a, 1) else None


def _div(args, dtype):
    a, b = args
    if _is(b, 1):
        return a
    if b.kind == "const" and b.value and abs(b.value) < 2.0**100:
        mantissa = abs(b.value).hex().partition("p")[0]
        if mantissa == "0x1.0000000000000" and abs(b.value) > 2.0**-100:  # a power of two: the product is exact as well
            return nodes.call("mul", (a, const(1 / b.value, dtype)), dtype)
    return None


def _where(args, dtype):
    condition, a, b = args
    if condition.kind == "const":
        return a if condition.value else b
    return a if a is b else None


def _order(build):
    def rule(args, dtype):
        a, b = args
        plain = a.dtype == b.dtype == "int64" and {a.kind, b.kind} <= {"index", "const"}
        if not plain:
            return None
        left, right = (n.index if n.kind == "index" else n.value for n in (a, b))
        return nodes.index(build(left, right), "bool", a.args + b.args)

    return rule


def _logical_not(args, dtype):
    (a,) = args
    return const(not a.value, "bool") if a.kind == "const" else None


def _rules():
    from aten.symbolic import expr

    return {
        "add": _add, "sub": _sub, "mul": _mul, "div": _div, "where": _where, "logical_not": _logical_not,
        "eq": _order(expr.eq), "ne": _order(expr.ne), "lt": _order(expr.lt), "le": _order(expr.le),
        "gt": _order(expr.gt), "ge": _order(expr.ge),
    }  # fmt: skip


_RULES = _rules()
