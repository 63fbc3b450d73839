"""Questions about flat indices: how far apart neighbours lie, which loops can be merged, split or matched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aten.symbolic.expr import ONE, ZERO, Expr, as_expr, const, mod, prod_, simplify, substitute, sym, walk


def coefficient(e: Expr, name: str) -> Expr | None:
    """How much `e` grows when the variable `name` grows by one; None if that is not one number for the whole loop."""
    if name not in e.free_symbols:
        return ZERO
    if e.terms is None:
        return None
    total = ZERO
    for monomial, k in e.terms.items():
        if name not in monomial.free_symbols:
            continue
        factors = list(monomial.args) if monomial.op == "mul" else [monomial]
        own = [f for f in factors if f.op == "sym" and f.value == name]
        if len(own) != 1:
            return None
        factors.remove(own[0])
        if any(name in f.free_symbols for f in factors):
            return None
        total = total + prod_(factors) * k
    return total


def without(e: Expr, name: str) -> Expr:
    """`e`, affine in the variable `name`, at name = 0."""
    return substitute(e, {name: ZERO})  # (a difference of large products would not cancel)


def flat(indices: Sequence[Expr | int], strides: Sequence[Expr | int], offset: Expr | int = 0) -> Expr:
    """offset + sum(indices * strides)"""
    total = as_expr(offset)
    for i, s in zip(indices, strides):
        total = total + as_expr(i) * s
    return total


def row_major(sizes: Sequence[Expr | int]) -> tuple[Expr, ...]:
    """Strides of a tensor without gaps."""
    strides, step = [], ONE
    for size in reversed(sizes):
        strides.append(step)
        step = step * size
    return tuple(reversed(strides))


def without_gaps(sizes: Sequence[Expr], strides: Sequence[Expr]) -> tuple[Expr, ...]:
    """Strides without gaps, of dims that lie in memory in the order of these; sizes and strides are numbers."""
    found, step = list(strides), ONE
    for d in sorted(range(len(sizes)), key=lambda d: (strides[d].value, -d)):
        if sizes[d].value != 1:
            found[d] = step
            step = step * sizes[d]
    return tuple(found)


def unflatten(linear: Expr, sizes: Sequence[Expr | int], ranges: dict) -> tuple[Expr, ...]:
    """The row-major indices of the element number `linear`."""
    out = []
    for d, step in enumerate(row_major(sizes)):
        i = linear // step if step is not ONE else linear
        out.append(simplify(i if d == 0 else mod(i, as_expr(sizes[d])), ranges))
    return tuple(out)


def divides(a: Expr, b: Expr) -> Expr | None:
    """b / a where a is known to divide b, else None."""
    if a is ONE:
        return b
    if a is b:
        return ONE
    if a.is_const and a.value == 0:
        return None
    return b // a if mod(b, a) is ZERO else None


def refine(a: Sequence[Expr], b: Sequence[Expr]) -> tuple[list[Expr], list[list[int]], list[list[int]]] | None:
    """The coarsest sizes of which both row-major domains are groupings: (sizes, groups of a, groups of b), where groups
    list the positions in sizes that make up each dim, outermost first. None if there are none, or it cannot be known.

    refine([6, 4], [2, 12]) is ([2, 3, 4], [[0, 1], [2]], [[0], [1, 2]]). Dims of size 1 have empty groups.
    """
    sizes: list[Expr] = []  # innermost first
    groups_a: list[list[int]] = [[] for _ in a]
    groups_b: list[list[int]] = [[] for _ in b]
    i, j = len(a) - 1, len(b) - 1
    left, right = ONE, ONE  # what remains of a[i], b[j]
    while True:
        while left is ONE and i >= 0:
            left, i = a[i], i - 1
        while right is ONE and j >= 0:
            right, j = b[j], j - 1
        if left is ONE and right is ONE:
            break
        common = left if left is right else None
        if common is None:
            if (rest := divides(left, right)) is not None and left is not ONE:
                common, left, right = left, ONE, rest
            elif (rest := divides(right, left)) is not None and right is not ONE:
                common, left, right = right, rest, ONE
            else:
                return None
        else:
            left = right = ONE
        groups_a[i + 1].append(len(sizes))
        groups_b[j + 1].append(len(sizes))
        sizes.append(common)
    last = len(sizes) - 1
    return (
        sizes[::-1],
        [[last - k for k in reversed(g)] for g in groups_a],
        [[last - k for k in reversed(g)] for g in groups_b],
    )


def grouped(group: Iterable[int], names: Sequence[str], sizes: Sequence[Expr]) -> Expr:
    """The index of a dim that is made of the loops `group` (outermost first)."""
    total = ZERO
    for k in group:
        total = total * sizes[k] + sym(names[k])
    return total


def split_points(exprs: Iterable[Expr], name: str) -> set[Expr]:
    """The divisors by which the exprs divide what contains the variable `name` as `name // d` or `name % d`."""
    found = set()
    for e in exprs:
        if name not in e.free_symbols:
            continue
        for x in walk(e):
            if x.op in ("floordiv", "mod") and x.kind == "int" and name in x.args[0].free_symbols:
                step = coefficient(x.args[0], name)
                divisor = x.args[1]
                if step is None or name in divisor.free_symbols:
                    continue
                d = divides(step, divisor)
                if d is None or d.is_const and abs(d.value) == 1:
                    continue
                if d.is_const:
                    found.add(const(abs(d.value)))  # (a flipped dimension runs downwards)
                elif not any(e.is_const and e.value < 0 for e in walk(d)):
                    found.add(d)
    return found


def divisions(e: Expr, names: set[str]) -> set[Expr]:
    """The quotients and remainders in `e` of what contains one of these variables."""
    if not names & e.free_symbols:
        return set()
    return {x for x in walk(e) if x.op in ("floordiv", "mod") and x.kind == "int" and names & x.free_symbols}


def stays_divided(exprs: Iterable[Expr], name: str, size: Expr, ranges: dict) -> bool:
    """Whether `exprs` divide what contains the variable `name` wherever its loop of `size` points is cut: in the inner one too."""
    exprs = [e for e in exprs if divisions(e, {name})]
    for p in split_points(exprs, name):
        if (times := divides(p, size)) is not None:
            known = {**ranges, "outer": (ZERO, times - 1), "inner": (ZERO, p - 1)}
            cut = [simplify(substitute(e, {name: sym("outer") * p + sym("inner")}), known) for e in exprs]
            if not any(divisions(e, {"inner"}) for e in cut):
                return False
    return bool(exprs)
