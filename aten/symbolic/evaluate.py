"""The value of an expression, in Python's arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from aten.scalar.unpatched import math
from aten.symbolic.nodes import Expr, Number


def _sum(*args):
    total = args[0]
    for a in args[1:]:
        total = total + a
    return total


VALUE: dict[str, Callable] = {
    "add": _sum,
    "sub": lambda a, b: a - b,
    "mul": lambda *args: math.prod(args[1:], start=args[0]),
    "div": lambda a, b: a / b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "pow": lambda a, b: a**b,
    "min": min,
    "max": max,
    "eq": lambda a, b: a == b,
    "le": lambda a, b: a <= b,
    "lt": lambda a, b: a < b,
    "not": lambda a: not a,
    "float": float,
    "int": int,
    "sqrt": math.sqrt,
    "signbit": lambda a: math.copysign(1, a) < 0,
    "floor": math.floor,
}


def evaluate(e: Expr, values: Mapping[str, Number]) -> Number:
    """The number `e` is when the symbols have these values.

    Only the chosen branch of a `where` is evaluated, and `and`, `or` stop early, as in Python.
    Raises KeyError for a symbol without a value, ZeroDivisionError as Python would.
    """
    op = e.op
    if op == "const":
        return e.value
    if op == "sym":
        return values[e.value]
    if op == "where":
        return evaluate(e.args[1 if evaluate(e.args[0], values) else 2], values)
    if op == "and":
        return all(evaluate(a, values) for a in e.args)
    if op == "or":
        return any(evaluate(a, values) for a in e.args)
    return VALUE[op](*[evaluate(a, values) for a in e.args])
