"""A loop whose body asks where it is (a concatenation, a padding, a roll), as several loops that need not ask."""

from __future__ import annotations

from collections.abc import Iterable

from aten.records import replaced
from aten.symbolic.expr import Expr, as_expr, simplify, walk
from inductor.ir.index import coefficient, without
from inductor.ir.loops import Dim, Stage
from inductor.ir.nodes import Node, rewrite_indices
from inductor.ir.nodes import walk as walk_nodes

MOST = 12  # loops that one becomes: the body is written as often
SHORTEST = 32  # elements a loop on average

Segment = tuple[int, int, Stage]  # [first, last) of the loop's variable, and what runs there


def segments(stage: Stage, axis: Dim, ranges: dict) -> list[Segment]:
    """The stage over [0, size) of `axis` in parts in which every comparison of its variable with a number is decided;
    one part where there is nothing to decide, or too much."""
    if not axis.size.is_const:
        return []
    size = axis.size.value
    cuts = sorted(cut for cut in breakpoints(exprs_of(stage), axis.name) if 0 < cut < size)
    if not cuts or len(cuts) >= MOST or size < SHORTEST * (len(cuts) + 1):
        return []
    edges = [0, *cuts, size]
    return [(a, b, within(stage, axis.name, a, b, ranges)) for a, b in zip(edges, edges[1:])]


def exprs_of(stage: Stage) -> list[Expr]:
    """The indices that the values of a stage depend on."""
    return [n.index for n in walk_nodes(s.value for s in stage.body) if n.kind in ("load", "index")]


def breakpoints(exprs: Iterable[Expr], name: str) -> set[int]:
    """The values of the variable `name` from which on a comparison of it with a number comes out otherwise."""
    found = set()
    for e in exprs:
        if name not in e.free_symbols:
            continue
        for x in walk(e):
            if x.op in ("lt", "le") and name in x.free_symbols:
                slack = x.args[1] - x.args[0]  # a < b: slack > 0; a <= b: slack >= 0
                step, rest = coefficient(slack, name), None
                if step is not None and step.is_const and step.value in (1, -1):
                    rest = without(slack, name)
                if rest is not None and rest.is_const:
                    strict = x.op == "lt"
                    found.add(-rest.value + strict if step.value == 1 else rest.value + (not strict))
    return found


def within(stage: Stage, name: str, first: int, last: int, ranges: dict) -> Stage:
    """The stage where `name` is known to lie in [first, last)."""
    known = {**ranges, name: (as_expr(first), as_expr(last - 1))}
    memo: dict[Node, Node] = {}

    def value(n: Node) -> Node:
        return rewrite_indices(n, lambda e: simplify(e, known), memo)

    return Stage(stage.inner, tuple(replaced(s, value=value(s.value)) for s in stage.body))
