"""A few values side by side in memory (a stack along a new last dim, the parts of complex numbers): one loop over the rows, with a
store for each of them.

As a loop of their own they would be several passes over the result, each of which writes every second (or third, or fourth)
element, and at every element asks which pass it is.
"""

from __future__ import annotations

from collections.abc import Callable

from aten.records import record, replaced
from aten.symbolic.expr import ONE, Expr, as_expr, simplify, substitute
from inductor import choices
from inductor.ir.index import coefficient
from inductor.ir.loops import Dim, Nest, Stage, Store
from inductor.ir.nodes import Node, rewrite_indices
from inductor.ir.segments import breakpoints, exprs_of

FEWEST = 16  # rows


@record(frozen=True)
class SideBySide:
    """`nest`, of whose stores `parts` at a time lie side by side, those of one row of `rows` after those of the row before."""

    nest: Nest
    rows: Dim
    parts: int


def side_by_side(nest: Nest, size_hint: Callable[[Expr], int], ranges: dict) -> SideBySide | None:
    """The nest without the dim along which its stores run, if that is so short and its body asks where on it it is."""
    stores = [s for s in nest.statements if isinstance(s, Store)]
    if nest.reduced or len(nest.stages) != 1 or len(stores) != len(nest.statements):
        return None
    stage = nest.stages[0]
    for d in nest.dims:
        rows = _rows_of(d, nest, stores)
        if rows is not None and size_hint(rows.size) >= FEWEST and breakpoints(exprs_of(stage), d.name):
            parts = [_at(s, d, k, ranges) for s in stores for k in range(d.size.value)]
            dims = tuple(e for e in nest.dims if e is not d)
            return SideBySide(Nest(dims, (Stage(stage.inner, tuple(parts)),)), rows, d.size.value)
    return None


def _rows_of(d: Dim, nest: Nest, stores: list[Store]) -> Dim | None:
    """The dim along which all stores step over `d`, along which they run."""
    if not d.size.is_const or not 1 < d.size.value <= choices.WIDEST_STEP:
        return None
    if not all(coefficient(s.index, d.name) is ONE for s in stores):
        return None
    return next((e for e in nest.dims if all(coefficient(s.index, e.name) is d.size for s in stores)), None)


def _at(s: Store, d: Dim, k: int, ranges: dict) -> Store:
    """The store where the variable of `d` is k."""
    here = {d.name: as_expr(k)}
    memo: dict[Node, Node] = {}
    value = rewrite_indices(s.value, lambda e: simplify(substitute(e, here), ranges), memo)
    return replaced(s, index=substitute(s.index, here), value=value)
