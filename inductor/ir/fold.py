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
    return a if _is(b, 0) else b if _is(a, 0) else None


def _sub(args, dtype):
    a, b = args
    return a if _is(b, 0) else None


def _mul(args, dtype):
    a, b = args
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


MOST_FACTORS = 64  # beyond, a power of an integer is taken by the loop


def _pow(args, dtype):
    """The exponents that the eager kernel tells from others (`isa/binary.cpp`), by the same arithmetic; of integers, products."""
    x, e = args
    if e.kind != "const":
        return None
    if dtype not in FLOATS:
        return _product(x, e.value, dtype) if dtype != "bool" and 0 <= e.value <= MOST_FACTORS else None

    def times(a: Node, b: Node) -> Node:
        return nodes.call("mul", (a, b), dtype)

    if e.value == 0:
        return const(1, dtype)
    if e.value == 1:
        return x
    if e.value in (2, 3, -2):
        square = times(x, x)
        return square if e.value == 2 else times(square, x) if e.value == 3 else nodes.call("reciprocal", (square,), dtype)
    names = {0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"}
    return nodes.call(names[e.value], (x,), dtype) if e.value in names else None


def _product(x: Node, count: int, dtype: str) -> Node:
    """x multiplied by itself, by squares: integers wrap, so the order does not matter."""
    result, square = const(1, dtype), x
    while count:
        if count & 1:
            result = square if _is(result, 1) else nodes.call("mul", (result, square), dtype)
        count >>= 1
        if count:
            square = nodes.call("mul", (square, square), dtype)
    return result


def _where(args, dtype):
    condition, a, b = args
    if condition.kind == "const":
        return a if condition.value else b
    return a if a is b else None


def _logical_not(args, dtype):
    (a,) = args
    return const(not a.value, "bool") if a.kind == "const" else None


_RULES = {
    "add": _add, "sub": _sub, "mul": _mul, "div": _div, "pow": _pow, "where": _where, "logical_not": _logical_not,
}  # fmt: skip
