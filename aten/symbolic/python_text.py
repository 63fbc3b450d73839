"""Expressions as Python text, which `text.parse` reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aten.symbolic.core import Expr

# Binding strength in Python (and, where both have the operator, in C++).
WHERE, OR, AND, NOT, COMPARE, SUM, PRODUCT, POWER, ATOM = range(9)


def to_text(e: Expr) -> str:
    """Python text that `parse` reads back to the same object."""
    return _python(e)[0]


def at(part: tuple[str, int], strength: int) -> str:
    text, own = part
    return text if own >= strength else f"({text})"


def _python(e: Expr) -> tuple[str, int]:
    """(text, strength)"""
    op, args = e.op, e.args
    if op in ("sym", "const"):
        if isinstance(e.value, float) and e.value in (float("inf"), float("-inf")) or e.value != e.value:
            return f"float('{e.value}')", ATOM
        return str(e.value), ATOM if op == "sym" or e.value >= 0 else POWER
    if op == "add":
        return sum_text(e, _python), SUM
    if op == "mul":
        return product_text(e, _python), PRODUCT
    if op in _INFIX:
        sign, strength = _INFIX[op]
        if op == "le" and args[0].op == "const":  # a bound reads better with its variable first
            return f"{at(_python(args[1]), SUM)} >= {at(_python(args[0]), SUM)}", strength
        right = POWER if op == "pow" else strength + 1
        left = ATOM if op == "pow" else strength + (strength == COMPARE)
        return f"{at(_python(args[0]), left)}{sign}{at(_python(args[1]), right)}", strength
    if op in ("and", "or"):
        strength = AND if op == "and" else OR
        return f" {op} ".join(at(_python(a), strength + 1) for a in args), strength
    if op == "not":
        if args[0].op == "eq":
            a, b = map(_python, args[0].args)
            return f"{at(a, SUM)} != {at(b, SUM)}", COMPARE
        return f"not {at(_python(args[0]), NOT)}", NOT
    if op == "where":
        condition, a, b = map(_python, args)
        return f"{at(a, OR)} if {at(condition, OR)} else {at(b, WHERE)}", WHERE
    return f"{op}({', '.join(to_text(a) for a in args)})", ATOM


_INFIX = {
    "sub": (" - ", SUM),
    "div": (" / ", PRODUCT),
    "floordiv": ("//", PRODUCT),
    "mod": (" % ", PRODUCT),
    "pow": ("**", POWER),
    "eq": (" == ", COMPARE),
    "le": (" <= ", COMPARE),
    "lt": (" < ", COMPARE),
}


def sum_text(e: Expr, part: Callable[[Expr], tuple[str, int]]) -> str:
    out = at(part(e.args[0]), SUM)
    for a in e.args[1:]:
        text = at(part(a), PRODUCT)
        minus = text[0] == "-" and a.op in ("mul", "const")  # not of -x//2, which is (-x)//2
        out += f" - {text[1:]}" if minus else f" + {text}"
    return out


def product_text(e: Expr, part: Callable[[Expr], tuple[str, int]]) -> str:
    first, *rest = e.args
    if first.op == "const" and first.value == -1 and e.kind == "int":
        return "-" + "*".join(at(part(a), POWER) for a in rest)
    return "*".join([at(part(first), POWER), *(at(part(a), POWER) for a in rest)])


# ------------------------------------------------------------------------------------------- reading
