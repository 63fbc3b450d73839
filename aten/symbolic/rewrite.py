"""Walks over expressions, and expressions rebuilt with parts replaced."""

from __future__ import annotations

from collections.abc import Callable

from aten.symbolic.core import (
    Expr,
    Number,
    add,
    as_expr,
    const,
    floordiv,
    join_division,
    mod,
    mul,
    pow_,
    sub,
    truediv,
)  # fmt: skip
from aten.symbolic.logic import (
    and_,
    eq,
    floor_,
    le,
    lt,
    max_,
    min_,
    not_,
    or_,
    signbit_,
    sqrt_,
    to_float,
    to_int,
    where_,
)  # fmt: skip


def walk(e: Expr) -> list[Expr]:
    """Every distinct node of `e`, arguments before what uses them."""
    seen: dict[Expr, None] = {}

    def visit(x: Expr):
        if x not in seen:
            for a in x.args:
                visit(a)
            seen[x] = None

    visit(e)
    return list(seen)


def _chain(fn: Callable) -> Callable:
    def build(*args):
        out = args[0]
        for a in args[1:]:
            out = fn(out, a)
        return out

    return build


BUILD: dict[str, Callable[..., Expr]] = {
    "add": _chain(add), "sub": sub, "mul": _chain(mul), "div": truediv, "floordiv": floordiv, "mod": mod, "pow": pow_,
    "min": min_, "max": max_, "eq": eq, "le": le, "lt": lt, "and": and_, "or": or_, "not": not_, "where": where_,
    "float": to_float, "int": to_int, "sqrt": sqrt_, "floor": floor_, "signbit": signbit_,
}  # fmt: skip


def rebuild(e: Expr, leaf: Callable[[Expr], Expr | None], memo: dict[Expr, Expr] | None = None) -> Expr:
    """`e` with every node for which `leaf` returns an Expr replaced by it, simplified again on the way up."""
    memo = {} if memo is None else memo

    def visit(x: Expr) -> Expr:
        done = memo.get(x)
        if done is None:
            done = leaf(x)
            if done is None:
                args = [visit(a) for a in x.args]
                done = x if all(map(_same, args, x.args)) else combine(x, args)
            memo[x] = done
        return done

    return visit(e)


def _same(a: Expr, b: Expr) -> bool:
    return a is b


def combine(x: Expr, args: list[Expr]) -> Expr:
    """The operation of `x` on other arguments."""
    return sum_of(args) if x.op == "add" and x.kind == "int" else BUILD[x.op](*args)


def sum_of(args: list[Expr]) -> Expr:
    """The sum of integer expressions, in one step."""
    terms: dict[Expr, int] = {}
    offset = 0
    for a in args:
        offset += a.offset
        for m, c in a.terms.items():
            terms[m] = terms.get(m, 0) + c
    return join_division(terms, offset)


def substitute(e: Expr, values: dict[str, Expr | Number]) -> Expr:
    """`e` with the symbols named in `values` replaced."""
    if values.keys().isdisjoint(e.free_symbols):
        return e
    exprs = {name: as_expr(v) for name, v in values.items()}
    names = exprs.keys()
    memo: dict[Expr, Expr] = {}

    def visit(x: Expr) -> Expr:
        op = x.op
        if op == "sym":
            return exprs.get(x.value, x)
        if op == "const":
            return x
        done = memo.get(x)
        if done is None:
            if names.isdisjoint(x.free_symbols):
                done = x
            elif x.kind == "int" and x.is_plain:
                done = _substitute_plain(x, exprs)
            else:
                done = combine(x, [visit(a) for a in x.args])
            memo[x] = done
        return done

    return visit(e)


def _substitute_plain(x: Expr, exprs: dict[str, Expr]) -> Expr:
    """A sum of products of symbols, term by term."""
    terms: dict[Expr, int] = {}
    offset = x.offset
    for m, c in x.terms.items():
        value = exprs.get(m.value, m) if m.op == "sym" else _product(m, exprs)
        offset += c * value.offset
        for n, d in value.terms.items():
            terms[n] = terms.get(n, 0) + c * d
    return join_division(terms, offset)


def _product(m: Expr, exprs: dict[str, Expr]) -> Expr:
    if m.op != "mul":  # a sum that was not multiplied out
        return _substitute_plain(m, exprs)
    out = const(1)
    for f in m.args:
        out = mul(out, exprs.get(f.value, f) if f.op == "sym" else _substitute_plain(f, exprs))
    return out
