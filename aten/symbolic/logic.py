"""Comparisons, logic, extremes, choices and casts of expressions."""

from __future__ import annotations

from collections.abc import Callable

from aten.scalar.unpatched import math
from aten.symbolic.core import (
    FALSE,
    TRUE,
    ZERO,
    Expr,
    Number,
    add,
    as_expr,
    as_int,
    const,
    from_terms,
    make,
    mod,
    mul,
    sub,
)

# ------------------------------------------------------------------------------------------- order and logic


def _numeric(a, b) -> tuple[Expr, Expr]:
    return as_int(as_expr(a)), as_int(as_expr(b))


def _sides(terms: dict[Expr, int], offset: int) -> tuple[Expr, Expr]:
    """(left, right) with non-negative coefficients and left - right equal to the sum."""
    left = from_terms({m: c for m, c in terms.items() if c > 0}, offset if offset > 0 else 0)
    right = from_terms({m: -c for m, c in terms.items() if c < 0}, -offset if offset < 0 else 0)
    return left, right


def eq(a: Expr | Number, b: Expr | Number) -> Expr:
    """a == b. For integers the difference is reduced: `2*s0 == 8` becomes `s0 == 4`."""
    a, b = as_expr(a), as_expr(b)
    if a.kind == "bool" and b.kind == "bool":
        if a.op == "const" or b.op == "const":
            c, e = (a, b) if a.op == "const" else (b, a)
            return e if c.value else not_(e)
        return TRUE if a is b else make("eq", tuple(sorted((a, b), key=str)), "bool")
    a, b = _numeric(a, b)
    if a.kind == "float" or b.kind == "float":
        if a.op == "const" and b.op == "const":
            return const(a.value == b.value)
        return make("eq", (a, b), "bool")
    d = sub(a, b)
    if not d.terms:
        return const(d.offset == 0)
    g = math.gcd(*d.terms.values())
    if d.offset % g:
        return FALSE
    for m, k in d.terms.items():  # c * (x // c) == x says that c divides x
        if m.op == "floordiv" and m.args[1].op == "const" and k % m.args[1].value == 0:
            x, c = m.args
            if not d.offset and sub(d, mul(m, k)) is mul(x, -k // c.value):
                return eq(mod(x, c), ZERO)
    if d.terms[min(d.terms, key=str)] < 0:
        g = -g
    if g != 1:
        d = from_terms({m: c // g for m, c in d.terms.items()}, d.offset // g)
    return make("eq", _sides(d.terms, d.offset), "bool")


def ne(a: Expr | Number, b: Expr | Number) -> Expr:
    """a != b"""
    return not_(eq(a, b))


def le(a: Expr | Number, b: Expr | Number) -> Expr:
    """a <= b. For integers the only order kept: `a < b` is `a + 1 <= b`, divided by common factors."""
    a, b = _numeric(a, b)
    if a.kind == "float" or b.kind == "float":
        return const(a.value <= b.value) if a.op == b.op == "const" else make("le", (a, b), "bool")
    d = sub(a, b)  # d <= 0
    if not d.terms:
        return const(d.offset <= 0)
    g = math.gcd(*d.terms.values())
    if g > 1:
        d = from_terms({m: c // g for m, c in d.terms.items()}, -(-d.offset // g))
    return make("le", _sides(d.terms, d.offset), "bool")


def lt(a: Expr | Number, b: Expr | Number) -> Expr:
    """a < b"""
    a, b = _numeric(a, b)
    if a.kind == "float" or b.kind == "float":
        return const(a.value < b.value) if a.op == b.op == "const" else make("lt", (a, b), "bool")
    return le(add(a, 1), b)


def ge(a: Expr | Number, b: Expr | Number) -> Expr:
    """a >= b"""
    return le(b, a)


def gt(a: Expr | Number, b: Expr | Number) -> Expr:
    """a > b"""
    return lt(b, a)


def _extreme(op: str, pick: Callable, items: tuple[Expr | Number, ...]) -> Expr:
    args: list[Expr] = []
    for item in items:
        e = as_int(as_expr(item))
        args.extend(e.args if e.op == op and e.kind == "int" else (e,))
    if any(e.kind == "float" for e in args):
        if all(e.op == "const" for e in args):
            return const(pick(e.value for e in args))
        # A maximum of floats is not reordered: which of 0.0 and -0.0, or of nan, Python returns depends on the order.
        out = args[0]
        for e in args[1:]:
            out = make(op, (out, e), "float") if e is not out else out
        return out
    kept: list[Expr] = []
    for e in args:
        for i, k in enumerate(kept):
            d = sub(e, k)
            if not d.terms:  # the two differ by a constant: one of them is never chosen
                if pick(d.offset, 0) != 0:
                    kept[i] = e
                break
        else:
            kept.append(e)
    if len(kept) == 1:
        return kept[0]
    return make(op, tuple(sorted(kept, key=lambda e: (e.op == "const", str(e)))), "int")


def min_(*items: Expr | Number) -> Expr:
    """The smallest."""
    return _extreme("min", min, items)


def max_(*items: Expr | Number) -> Expr:
    """The largest."""
    return _extreme("max", max, items)


def _truth(e: Expr | Number) -> Expr:
    e = as_expr(e)
    return e if e.kind == "bool" else ne(e, 0)


def _junction(op: str, neutral: Expr, absorbing: Expr, items) -> Expr:
    args: list[Expr] = []
    for item in items:
        e = _truth(item)
        for x in e.args if e.op == op else (e,):
            if x is absorbing or not_(x) in args:
                return absorbing
            if x is not neutral and x not in args:
                args.append(x)
    if not args:
        return neutral
    return args[0] if len(args) == 1 else make(op, tuple(args), "bool")


def and_(*items: Expr | Number) -> Expr:
    """Whether all hold (True if none is given)."""
    return _junction("and", TRUE, FALSE, items)


def or_(*items: Expr | Number) -> Expr:
    """Whether any holds (False if none is given)."""
    return _junction("or", FALSE, TRUE, items)


def not_(e: Expr | Number) -> Expr:
    """Whether `e` does not hold."""
    e = _truth(e)
    if e.op == "const":
        return const(not e.value)
    if e.op == "not":
        return e.args[0]
    if e.op == "le" and all(a.kind == "int" for a in e.args):  # with floats nan forbids it
        return lt(e.args[1], e.args[0])
    return make("not", (e,), "bool")


def where_(condition: Expr | Number, a: Expr | Number, b: Expr | Number) -> Expr:
    """`a` if the condition holds, else `b`."""
    condition, a, b = _truth(condition), as_expr(a), as_expr(b)
    if condition.op == "const":
        return a if condition.value else b
    if a is b:
        return a
    if condition.op == "not":
        condition, a, b = condition.args[0], b, a
    if a.kind != b.kind:
        kind = "float" if "float" in (a.kind, b.kind) else "int"
        a, b = (to_float(a), to_float(b)) if kind == "float" else (as_int(a), as_int(b))
    return make("where", (condition, a, b), a.kind)


# ------------------------------------------------------------------------------------------- casts


def _unary(op: str, e: Expr, kind: str, fn: Callable) -> Expr:
    return const(fn(e.value)) if e.op == "const" else make(op, (e,), kind)


def to_float(e: Expr | Number) -> Expr:
    """float(e)"""
    e = as_int(as_expr(e))
    return e if e.kind == "float" else _unary("float", e, "float", float)


def to_int(e: Expr | Number) -> Expr:
    """int(e): a float is cut towards zero."""
    e = as_int(as_expr(e))
    if e.op == "float":
        return e.args[0]
    return e if e.kind == "int" else _unary("int", e, "int", int)


def sqrt_(e: Expr | Number) -> Expr:
    """The square root, as a float."""
    return _unary("sqrt", to_float(e), "float", math.sqrt)


def signbit_(e: Expr | Number) -> Expr:
    """Whether a float has a sign: what tells -0.0 from 0.0, which are equal."""
    return _unary("signbit", to_float(e), "bool", lambda value: math.copysign(1, value) < 0)


def floor_(e: Expr | Number) -> Expr:
    """The largest integer that is not above `e`."""
    e = as_int(as_expr(e))
    return e if e.kind == "int" else _unary("floor", e, "int", math.floor)
