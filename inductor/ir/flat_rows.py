"""Rows of few elements as one loop over all of them: of [N, 5] vectors along a row would be a third full.

What every row reads alike (the biases of [N, 5] + [5]) repeats along the joint loop with the period of a row, what is read once
a row (a mean) comes for several elements in turn; everything else lies side by side.
"""

from __future__ import annotations

from collections.abc import Callable

from aten.records import record
from aten.symbolic.expr import ONE, ZERO, Expr, mod, prod_, substitute
from inductor.ir.index import coefficient, row_major
from inductor.ir.loops import Dim, Nest, Stage, Store
from inductor.ir.nodes import Node, rewrite_indices, walk

SHORT = 16  # elements of the innermost dim: fewer leave lanes empty
LONGEST = 256  # of a period, which is copied once
FEWEST = 2048  # elements


@record(frozen=True)
class FlatRows:
    """`nest`, where rows of `period` elements are the loop `axis`. By the index of a load in it, the index of what `repeats`
    (over the dims `inner` of a row), and of what is read `once` a row (where the first is, and how far apart they are)."""

    nest: Nest
    axis: Dim
    inner: tuple[Dim, ...]
    period: int
    repeats: dict[Expr, Expr]
    once: dict[Expr, tuple[Expr, Expr]]


def flat_rows(nest: Nest, size_hint: Callable[[Expr], int]) -> FlatRows | None:
    """The nest with one loop for its short rows, if it has such and reads nothing in another order."""
    stores = [s for s in nest.statements if isinstance(s, Store)]
    if nest.reduced or not stores or len(stores) != len(nest.statements):
        return None
    dims = _without_gaps(nest, stores[0].index)
    if len(dims) < 2 or not dims[-1].size.is_const or dims[-1].size.value >= SHORT:
        return None
    if size_hint(prod_(d.size for d in dims)) < FEWEST:
        return None
    if any(n.kind in ("masked", "checked") for n in walk([s.value for s in stores])):
        return None
    for k in range(len(dims) - 1, 0, -1):
        inner = dims[k:]
        if not all(d.size.is_const for d in inner) or prod_(d.size for d in inner).value > LONGEST:
            return None
        found = Flattening(nest, dims[:k], inner).result()
        if found is not None:
            return found
    return None


def _without_gaps(nest: Nest, index: Expr) -> tuple[Dim, ...]:
    """The dims that a store goes along without gaps, outermost first."""
    found: list[Dim] = []
    step, left = ONE, list(nest.dims)
    while True:
        d = next((d for d in left if coefficient(index, d.name) is step), None)
        if d is None:
            return tuple(reversed(found))
        left.remove(d)
        found.append(d)
        step = step * d.size


class Refused(Exception):
    """An index that goes along rows in another order."""


class Flattening:
    """A nest whose dims `rows` and `inner` become one."""

    def __init__(self, nest: Nest, rows: tuple[Dim, ...], inner: tuple[Dim, ...]):
        self.nest, self.rows, self.inner = nest, rows, inner
        self.period = prod_(d.size for d in inner)
        joint = (*rows, *inner)
        self.axis = Dim(inner[-1].name, prod_(d.size for d in joint))
        self.steps = dict(zip((d.name for d in joint), row_major([d.size for d in joint])))
        self.repeats: dict[Expr, Expr] = {}
        self.once: dict[Expr, tuple[Expr, Expr]] = {}

    def result(self) -> FlatRows | None:
        memo: dict[Node, Node] = {}
        try:
            stages = [
                Stage(s.inner, tuple(Store(x.buffer, self.beside(x.index), self.value(x.value, memo), x.dtype) for x in s.body))
                for s in self.nest.stages
            ]
        except Refused:
            return None
        return self.made(tuple(stages))

    def made(self, stages: tuple[Stage, ...]) -> FlatRows:
        dims = (*(d for d in self.nest.dims if d.name not in self.steps), self.axis)
        return FlatRows(Nest(dims, stages), self.axis, self.inner, self.period.value, self.repeats, self.once)

    def value(self, n: Node, memo: dict[Node, Node]) -> Node:
        for x in walk([n]):
            if x.kind == "index" or (x.kind == "load" and x.args):
                self.beside(x.index)  # numbers and what they lead to go along all rows, or not at all
        return rewrite_indices(n, self.changed, memo)

    def steps_of(self, e: Expr) -> dict[str, Expr]:
        found = {name: coefficient(e, name) for name in self.steps}
        if any(step is None for step in found.values()):
            raise Refused
        return {name: step for name, step in found.items() if step is not None}

    def beside(self, e: Expr) -> Expr:
        """An index that goes along all rows as the store does, by any step, or along none of them."""
        steps = self.steps_of(e)
        one = steps[self.axis.name]
        if any(step is not one * self.steps[name] for name, step in steps.items()):
            raise Refused
        return substitute(e, {name: ZERO for name in self.steps if name != self.axis.name})

    def changed(self, e: Expr) -> Expr:
        """An index over the joint loop."""
        steps = self.steps_of(e)
        if all(steps[d.name] is ZERO for d in self.rows) and any(steps[d.name] is not ZERO for d in self.inner):
            v = self.axis.var
            new = substitute(e, {d.name: mod(v // self.steps[d.name], d.size) for d in self.inner})
            self.repeats[new] = e
            return new
        if all(steps[d.name] is ZERO for d in self.inner) and any(steps[d.name] is not ZERO for d in self.rows):
            one = steps[self.rows[-1].name]
            in_order = row_major([d.size for d in self.rows])
            if any(steps[d.name] is not one * step for d, step in zip(self.rows, in_order)):
                raise Refused
            first = substitute(e, {name: ZERO for name in self.steps})
            new = first + (self.axis.var // self.period) * one
            self.once[new] = first, one
            return new
        return self.beside(e)
