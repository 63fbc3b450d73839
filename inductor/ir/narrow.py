"""Integers of 64 bits that loops make of their places alone, in 32 bits where bounds prove that they fit: twice the lanes.

`(i - j).abs() * 0.1` of a bias by distance is computed so; comparisons of places and what they choose among as well.
"""

from __future__ import annotations

from collections.abc import Callable

from aten.records import replaced
from aten.symbolic.expr import bounds
from aten.symbolic.expr import walk as parts_of
from inductor.ir import nodes
from inductor.ir.loops import Nest, Stage
from inductor.ir.nodes import FLOATS, Node, rewrite, walk

LIMIT = 1 << 31
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
Bounds = tuple[float, float]


def narrowed(nest: Nest, ranges: dict) -> Nest:
    """The nest with such integers in 32 bits, where they become floats or truth values."""
    if not any(n.kind == "index" and n.dtype == "int64" for n in walk(s.value for s in nest.statements)):
        return nest
    narrow = Narrowing({**ranges, **nest.ranges})
    memo: dict[Node, Node] = {}
    value = lambda s: rewrite(s.value, narrow.end, None, memo)
    return Nest(nest.dims, tuple(Stage(g.inner, tuple(replaced(s, value=value(s)) for s in g.body)) for g in nest.stages))


class Narrowing:
    """Rewrites int64 nodes. `ranges` bound the symbols."""

    def __init__(self, ranges: dict):
        self.ranges = ranges
        self.found: dict[Node, tuple[Node, Bounds] | None] = {}

    def end(self, n: Node) -> Node | None:
        """A float or truth value that is made of 64-bit integers, made of 32-bit ones; None of anything else."""
        if n.kind != "call" or not (n.name in COMPARISONS or (n.name == "cast" and n.dtype in FLOATS)):
            return None
        if any(a.dtype != "int64" for a in n.args) or not any(map(self.computes, n.args)):
            return None
        parts = [self.narrow(a) for a in n.args]
        return None if None in parts else nodes.call(n.name, tuple(p[0] for p in parts if p), n.dtype)

    def computes(self, n: Node) -> bool:
        return any(x.kind == "index" for x in walk([n]))

    def narrow(self, n: Node) -> tuple[Node, Bounds] | None:
        """The node in 32 bits and its bounds, if all that it is made of fits."""
        if n not in self.found:
            made = self.made(n)
            self.found[n] = made if made is not None and fits(made[1]) else None
        return self.found[n]

    def made(self, n: Node) -> tuple[Node, Bounds] | None:
        if n.kind == "index" and not n.args:
            inner = all(fits(bounds(e, self.ranges)) for e in parts_of(n.index) if e.kind == "int")
            return (nodes.index(n.index, "int32"), bounds(n.index, self.ranges)) if inner else None
        if n.kind == "const":
            return nodes.const(n.value, "int32"), (n.value, n.value)
        if n.kind != "call" or n.name not in EXTENT or any(a.dtype != "int64" for a in n.args):
            return None
        parts = [self.narrow(a) for a in n.args]
        if None in parts:
            return None
        given = [p for p in parts if p]
        return nodes.call(n.name, tuple(p[0] for p in given), "int32"), EXTENT[n.name](*(p[1] for p in given))


def fits(b: Bounds) -> bool:
    return -LIMIT < b[0] and b[1] < LIMIT


def _product(a: Bounds, b: Bounds) -> Bounds:
    ends = [x * y for x in a for y in b]
    return min(ends), max(ends)


EXTENT: dict[str, Callable[..., Bounds]] = {
    "abs": lambda a: (0, max(abs(a[0]), abs(a[1]))),
    "neg": lambda a: (-a[1], -a[0]),
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "sub": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "mul": _product,
    "maximum": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "minimum": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
}
