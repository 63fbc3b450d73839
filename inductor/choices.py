"""Every decision that changes speed but never results."""

from __future__ import annotations

from aten.symbolic.expr import Expr, evaluate
from inductor.ir import scalar
from inductor.ir.nodes import Node, walk

MAX_NODES = 160  # of one body: beyond, a value is stored and read again
MAX_LOADS = 12
SMALL_NEST = 1 << 18
EXPENSIVE = 8  # additions: what is worth keeping rather than computing again
MAX_BUFFERS = 40  # that one nest reads and writes
MAX_KEPT_BYTES = 1 << 20  # of a row that stays in cache between two stages
FEW_ROWS = 4  # fewer rows than this do not fill the threads ...
LONG_ROW = 1 << 16  # ... if a row is this long


def size(e: Expr | int, hints: dict[str, int], default: int = 64) -> int:
    """The likely value of a size."""
    if isinstance(e, int):
        return e
    return evaluate(e, hints) if e.free_symbols <= hints.keys() else default


def expensive(body: Node) -> bool:
    """Whether computing the value twice costs more than storing and loading it in cache."""
    total = 0
    for n in walk([body]):
        total += scalar.cost(n) if n.kind == "call" else 0
        if total >= EXPENSIVE:
            return True
    return False


def realize(body: Node, users: int) -> bool:
    """Whether a pointwise value that `users` ops read is worth a buffer of its own. Where all of them run in one kernel
    the buffer disappears again."""
    if body.kind in ("load", "const", "index"):
        return False
    count, loads, cost = 0, 0, 0
    for n in walk([body]):
        count += 1
        loads += n.kind == "load"
        cost += scalar.cost(n)
        if count > MAX_NODES or loads > MAX_LOADS:
            return True
    return users > 1 and (loads > 1 or cost > EXPENSIVE)


def worth_sharing(elements: int, points: int) -> bool:
    """Whether loops over that many points are best run as one because both read a buffer of so many elements. A scalar
    or a row of biases stays in cache, and joint loops of what is otherwise unrelated only grow."""
    return 4 * elements >= points


def small(points: Expr, hints: dict[str, int]) -> bool:
    """Whether loops over that many points are best run together with others."""
    return size(points, hints) <= SMALL_NEST
