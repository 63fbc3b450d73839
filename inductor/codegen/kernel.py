"""What every code generator decides about a nest before it writes a line, and the walk over values that all share.

`plan` picks the axis along which vectors (or blocks) run and with it the mode:

    point    no reduced dims: vectors run along one of the dims
    row      vectors run along a reduced dim; what is reduced is combined across lanes at the end of a row
    column   vectors run along a kept dim; every lane reduces its own column

`Walk` turns nodes into named values once each, at the outermost loop at which they are known.
"""

from __future__ import annotations

from collections.abc import Sequence

from aten import settings
from aten.records import field, record
from aten.symbolic.expr import ONE, Expr, bounds, prod_, simplify
from inductor import choices
from inductor.ir import scalar
from inductor.ir.buffer import ITEMSIZE, Buffer
from inductor.ir.index import coefficient
from inductor.ir.loops import Accumulate, Dim, Nest, Reduce, Running, Stage, Store
from inductor.ir.nodes import Node, loads, unknown, walk

SMALL = 1 << 31


@record(frozen=True)
class Plan:
    """How a nest runs: see the module. `outer` are the kept dims but the vector axis, `serial` the reduced ones."""

    nest: Nest
    mode: str
    axis: Dim
    outer: tuple[Dim, ...]
    serial: tuple[Dim, ...]


def values_of(stage: Stage) -> list[Node]:
    """The roots of a stage: what its statements compute, and what their addresses depend on."""
    out = []
    for s in stage.body:
        out.append(s.value)
        if isinstance(s, Accumulate):
            out.extend(s.where)
    return out


def accesses(nest: Nest, inner_only: bool = False) -> list[tuple[str, Expr]]:
    """(buffer, index) of every load and store of the nest, or of its inner stages."""
    out = []
    for stage in nest.stages:
        if inner_only and not stage.inner:
            continue
        out += [(n.buffer, n.index) for n in loads(values_of(stage))]
        out += [(s.buffer, s.index) for s in stage.body if isinstance(s, (Store, Accumulate))]
    return out


def axis_scores(nest: Nest, buffers: dict[str, Buffer]) -> dict[str, float]:
    """For every dim, the bytes an element that would not be gathered or scattered if vectors ran along it: those that
    lie side by side, and those that are the same for all lanes."""
    wide = bool(nest.reduced)
    scores = dict.fromkeys((d.name for d in nest.dims), 0.0)
    seen = set()
    for stage in nest.stages:
        if wide and not stage.inner:
            continue
        for n in loads(values_of(stage)):
            if (n.buffer, n.index) not in seen:
                seen.add((n.buffer, n.index))
                _score(scores, n, n.index, ITEMSIZE[buffers[n.buffer].dtype] if n.buffer in buffers else 4)
        for s in stage.body:
            if isinstance(s, (Store, Accumulate)):
                _score(scores, s.value, s.index, 1.5 * ITEMSIZE[s.dtype])
    return scores


def _score(scores: dict[str, float], n: Node, index: Expr, size: float) -> None:
    for name in scores:
        step = coefficient(index, name)
        if name not in index.free_symbols:
            scores[name] += size if name not in n.symbols else 0
        elif step is not None and step.is_const and step.value == 1:
            scores[name] += size


def plan(nest: Nest, buffers: dict[str, Buffer], hints: dict[str, int], axis: Dim | None = None) -> Plan:
    """The mode and axis of a nest, if that is not given. `hints` are likely values of the symbols: they choose, they never
    decide results."""
    scores = axis_scores(nest, buffers)
    several = sum(1 for stage in nest.stages if stage.inner) > 1
    candidates = [d for d in nest.dims if not several or d.reduced != by_columns(nest, scores, hints)]
    if in_order(nest):  # vectors run along the innermost of the reduced loops, or along none of them
        candidates = [d for d in candidates if not d.reduced or d is nest.reduced[-1]]
    position = {d.name: k for k, d in enumerate(nest.dims)}
    many = not settings.exact and any(choices.size(d.size, hints) >= choices.MANY_ROWS for d in nest.kept)

    def worth(d: Dim):
        scanned = d.reduced and any(isinstance(s, Running) for s in nest.statements)  # short rows, turned: cpp_across
        least = choices.SHORT_ROW if many and not scanned and (d.reduced or divided(nest, d.name)) else 4
        least = 2 if piece_of_column(nest, d) is not None else least
        return (choices.size(d.size, hints) >= least, scores[d.name], position[d.name])

    axis = axis or max(candidates, key=worth)
    mode = "point" if not nest.reduced else "row" if axis.reduced else "column"
    outer = tuple(d for d in nest.kept if d is not axis)
    serial = tuple(d for d in nest.reduced if d is not axis)
    return Plan(nest, mode, axis, _by_stride(nest, outer), serial)


def piece_of_column(nest: Nest, columns: Dim) -> Dim | None:
    """The dim along which elements of a column follow one another, if all that a nest does is to put a few columns side by side
    (float32 [4,50000], turned: 18 us instead of 55)."""
    s = nest.statements[0]
    if len(nest.statements) > 1 or not isinstance(s, Store) or s.value.kind != "load" or s.value.args:
        return None
    size = columns.size
    if not size.is_const or not 1 < size.value <= choices.WIDEST_STEP or coefficient(s.index, columns.name) is not ONE:
        return None
    ends = [d for d in nest.dims if coefficient(s.index, d.name) is size and coefficient(s.value.index, d.name) is ONE]
    apart = coefficient(s.value.index, columns.name)
    return ends[0] if ends and apart is not None and not (apart.is_const and apart.value <= 1) else None


def by_columns(nest: Nest, scores: dict[str, float], hints: dict[str, int]) -> bool:
    """Whether several loops over the reduced dims run a lane a column: memory runs along a kept dim (softmax over channels)."""
    if in_order(nest) or any(isinstance(s, Accumulate) for s in nest.statements):
        return False
    wide = [scores[d.name] for d in nest.kept if choices.size(d.size, hints) >= choices.FEWEST_COLUMNS]
    return bool(wide) and max(wide) > max(scores[d.name] for d in nest.reduced)


def in_order(nest: Nest) -> bool:
    """Whether results depend on the order in which the reduced points come."""
    return any(isinstance(s, Running) or (isinstance(s, Reduce) and s.kind.startswith("arg")) for s in nest.statements)


def divided(nest: Nest, name: str) -> bool:
    """Whether an index divides by that loop variable: then every vector along it computes its indices anew, and gathers."""
    nodes = walk([v for stage in nest.stages for v in values_of(stage)])
    found = [n for n in nodes if n.kind == "load" or (n.kind == "index" and n.dtype != "bool")]
    return any(name in n.index.free_symbols and coefficient(n.index, name) is None for n in found)


def _by_stride(nest: Nest, dims: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """Outer loops in the order of the strides of the first store, largest first, where those are numbers."""
    stores = [s for s in nest.statements if isinstance(s, Store)]
    if not stores or len(dims) < 2:
        return dims
    steps = [coefficient(stores[0].index, d.name) for d in dims]
    if any(s is None or not s.is_const for s in steps):
        return dims
    order = sorted(range(len(dims)), key=lambda k: -steps[k].value)
    return tuple(dims[k] for k in order)


def extent(dims: tuple[Dim, ...]) -> Expr:
    """The number of points of a domain."""
    return prod_(d.size for d in dims)


def fits_int32(e: Expr, ranges: dict) -> bool:
    """Whether every value of `e` is known to fit 32 bits."""
    lo, hi = bounds(e, ranges)
    return -SMALL <= lo and hi < SMALL


def work_of(nest: Nest) -> int:
    """About how many additions one point of the domain takes."""
    total = 0
    for stage in nest.stages:
        if stage.inner or not nest.reduced:
            total += sum(scalar.cost(n) for n in walk(values_of(stage))) + len(stage.body)
    return total


# ------------------------------------------------------------------------------------------------------------- walk


@record
class Scope:
    """One loop body being written: the loop variables it binds, its lines so far, and the values named in them."""

    variables: frozenset[str]
    lines: list[str] = field(default_factory=list)
    names: dict[Node, str] = field(default_factory=dict)
    inverses: dict[Node, str] = field(default_factory=dict)  # what divides by them
    firsts: dict[Node, str] = field(default_factory=dict)  # of values that are the same in all lanes, as scalars
    divisors: dict[str, str] = field(default_factory=dict)  # the same of sizes, by their text
    lanes: str = "n"  # text: which lanes exist
    guard: bool = False  # a block that runs under a condition: nothing is moved out of it
    labels: set[str] = field(default_factory=set)  # what has been declared besides


class _Named:
    """The nodes that a walk has named in the scopes that are open."""

    def __init__(self, walk: Walk):
        self.find = walk.find

    def __contains__(self, n: object) -> bool:
        return self.find(n) is not None  # type: ignore[arg-type]


class Walk:
    """Names the value of nodes, each once, in the scope of the outermost loop that knows it.

    A generator derives from it and writes the lines: `write_<kind>(node, scope) -> text`. `ranges` bound the symbols.
    """

    def __init__(self, plan: Plan, ranges: dict):
        self.plan = plan
        self.ranges = {**ranges, **plan.nest.ranges}
        self.scopes: list[Scope] = [Scope(frozenset())]
        self.rows: dict[str, int] = {}  # rows and kept values: the number of the scope that knows them
        self.counter = 0
        self._level: dict[Node, int] = {}
        self._varies: dict[Node, bool] = {}

    # ---- where a value belongs

    def level(self, n: Node) -> int:
        """The number of the outermost open scope in which `n` is known."""
        for x in unknown(n, self._level):
            level = self.own_level(x) if x.kind in ("row", "kept") else max((self._level[a] for a in x.args), default=0)
            for k, scope in enumerate(self.scopes):
                if k > level and x.symbols & scope.variables:
                    level = k
            self._level[x] = level
        return self._level[n]

    def own_level(self, n: Node) -> int:
        """The level of a row or a kept value."""
        return self.rows[n.name]

    def varies(self, n: Node) -> bool:
        """Whether lanes of `n` differ."""
        for x in unknown(n, self._varies):
            self._varies[x] = (
                self.plan.axis.name in x.symbols
                or x.kind == "kept"
                or (x.kind == "row" and (self.plan.mode == "column" or x.name in self.running))
                or any(self._varies[a] for a in x.args)
            )
        return self._varies[n]

    @property
    def running(self) -> set[str]:
        return {s.name for s in self.plan.nest.statements if isinstance(s, Running)}

    def open(self, variables) -> Scope:
        """A new innermost scope."""
        self._level.clear()
        self.scopes.append(Scope(frozenset(variables)))
        return self.scopes[-1]

    def close(self) -> Scope:
        """End the innermost scope."""
        self._level.clear()
        return self.scopes.pop()

    # ---- names

    def fresh(self, prefix: str = "t") -> str:
        self.counter += 1
        return f"{prefix}{self.counter}"

    def emit(self, n: Node) -> str:
        """The name of the value of `n`, writing what it takes."""
        for x in unknown(n, _Named(self), self.operands):
            scope = self.home(x)
            scope.names[x] = getattr(self, "write_" + x.kind)(x, scope)
        name = self.find(n)
        assert name is not None
        return name

    def operands(self, n: Node) -> Sequence[Node]:
        """The nodes that writing `n` names where it is written, in that order."""
        return (n.args[0], n.args[2]) if n.kind == "masked" else n.args

    def find(self, n: Node) -> str | None:
        for scope in reversed(self.scopes):
            if n in scope.names:
                return scope.names[n]
        return None

    def home(self, n: Node) -> Scope:
        """The scope in which `n` is to be written."""
        last = self.scopes[-1]
        if last.guard:
            return last
        return self.scopes[min(self.level(n), len(self.scopes) - 1)]

    def simplified(self, e: Expr) -> Expr:
        return simplify(e, self.ranges)
