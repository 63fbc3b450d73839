"""Loops: what a lowering makes (`Pointwise`, `Reduction`, `Scan`), and what a kernel runs (`Nest`).

A lowering's result says one thing about one buffer. A nest is several of them that share their loops: for every
point of its kept dims it runs its stages in order; a stage with `inner` runs its body for every point of the reduced
dims as well.

    softmax of [8, 100]:  Nest(dims = i0:8, r0:100 reduced
        inner: m = max(x[i0, r0])
        inner: keep e = exp(x[i0, r0] - m);  s = sum(e)
        inner: out[i0, r0] = e / s)
"""

from __future__ import annotations

from aten.records import record
from aten.symbolic.expr import Expr, as_expr, substitute, sym
from inductor.ir.nodes import Node, walk

REDUCTIONS = ("sum", "prod", "max", "min", "any", "all", "argmax", "argmin")


def loop_variables(rank: int) -> tuple[Expr, ...]:
    """i0, i1, …: the variables of a lowering's body, one a dimension of the full domain."""
    return tuple(sym(f"i{d}") for d in range(rank))


@record(frozen=True)
class Pointwise:
    """buffer[store] = body, for every point of `sizes`."""

    sizes: tuple[Expr, ...]
    body: Node

    @property
    def reduced(self) -> tuple[int, ...]:
        return ()


@record(frozen=True)
class Reduction:
    """The reduction `kind` of `body` over the dims `reduced` of the domain `sizes`.

    argmax and argmin give the int64 position (row-major over the reduced dims) of the first extreme, or of the first
    NaN.
    """

    sizes: tuple[Expr, ...]
    reduced: tuple[int, ...]
    kind: str
    dtype: str
    body: Node


@record(frozen=True)
class Scan:
    """The running reduction `kind` of `body` along one dim of `sizes`, inclusive."""

    sizes: tuple[Expr, ...]
    reduced: tuple[int, ...]
    kind: str
    dtype: str
    body: Node


# ------------------------------------------------------------------------------------------------------------- nests


@record(frozen=True)
class Dim:
    """One loop: the variable `name` runs over [0, size)."""

    name: str
    size: Expr
    reduced: bool = False

    @property
    def var(self) -> Expr:
        return sym(self.name)


@record(frozen=True)
class Store:
    """buffer[index] = value (index flat, in elements), rounded to `dtype`, the buffer's."""

    buffer: str
    index: Expr
    value: Node
    dtype: str


@record(frozen=True)
class Accumulate:
    """buffer[index] += value, in the order of the loops: never split over threads. `where`: nodes the index
    mentions. `kind`: "accumulate", "replace" (= instead, in no order) or "largest" (the larger of both)."""

    buffer: str
    index: Expr
    value: Node
    dtype: str
    where: tuple[Node, ...] = ()
    kind: str = "accumulate"


@record(frozen=True)
class Reduce:
    """Combine `value` over the stage; later stages read it as row(name)."""

    name: str
    kind: str
    value: Node
    dtype: str


@record(frozen=True)
class Running:
    """Combine `value` along the reduced dim; this stage's later statements read row(name)."""

    name: str
    kind: str
    value: Node
    dtype: str


@record(frozen=True)
class Keep:
    """Remember `value` of this point; later stages read it as kept(name)."""

    name: str
    value: Node


Statement = Store | Accumulate | Reduce | Running | Keep


@record(frozen=True)
class Stage:
    """Statements for every point of the kept dims, or (`inner`) of all dims."""

    inner: bool
    body: tuple[Statement, ...]


@record(frozen=True)
class Nest:
    """Loops and what they run. `dims` are in loop order but for the choice of the vector axis, which codegen makes."""

    dims: tuple[Dim, ...]
    stages: tuple[Stage, ...]

    @property
    def kept(self) -> tuple[Dim, ...]:
        return tuple(d for d in self.dims if not d.reduced)

    @property
    def reduced(self) -> tuple[Dim, ...]:
        return tuple(d for d in self.dims if d.reduced)

    @property
    def statements(self) -> tuple[Statement, ...]:
        return tuple(s for stage in self.stages for s in stage.body)

    @property
    def ranges(self) -> dict[str, tuple[Expr, Expr]]:
        """Loop variables to their (first, last) values."""
        return {d.name: (as_expr(0), d.size - 1) for d in self.dims}

    def __str__(self) -> str:
        return nest_text(self)


# ---------------------------------------------------------------------------------------------------- text
class _Writer:
    """Names for nodes, and their lines."""

    def __init__(self):
        self.names: dict[Node, str] = {}

    def index(self, e: Expr, where: tuple[Node, ...]) -> str:
        return repr(str(substitute(e, {w.symbol.value: sym(self.names[w]) for w in where})))

    def define(self, roots) -> list[str]:
        """Lines for what of `roots` has no name yet."""
        lines = []
        for n in walk(roots):
            if n not in self.names:
                text = self.text(n)
                self.names[n] = f"t{len(self.names)}"
                lines.append(f"{self.names[n]} = {text}")
        return lines

    def text(self, n: Node) -> str:
        args = [self.names[a] for a in n.args]
        if n.kind == "load":
            parts = [repr(n.buffer), self.index(n.index, n.args), *args]
        elif n.kind == "index":
            parts = [self.index(n.index, n.args), *args]
        elif n.kind == "const":
            parts = [repr(n.value) if isinstance(n.value, bool | int) else repr(n.fields[1])]
        elif n.kind == "call":
            parts = [repr(n.name), *args]
        elif n.kind == "checked":
            kind, size, check = n.fields
            parts = [repr(kind), repr(str(size)), *(repr(x) for x in (check.op, check.argument, check.line)), *args]
        elif n.kind == "masked":
            parts = args
        else:
            parts = [repr(n.name)]
        return f"{n.kind}.{n.dtype}({', '.join(parts)})"

    def statement(self, s: Statement) -> list[str]:
        where = s.where if isinstance(s, Accumulate) else ()
        lines = self.define([*where, s.value])
        value = self.names[s.value]
        if isinstance(s, Reduce | Running):
            kind = "reduce" if isinstance(s, Reduce) else "running"
            return [*lines, f"{s.name} = {kind}.{s.kind}.{s.dtype}({value})"]
        if isinstance(s, Keep):
            return [*lines, f"{s.name} = keep({value})"]
        kind = "store" if isinstance(s, Store) else s.kind
        parts = [repr(s.buffer), self.index(s.index, where), value, *(self.names[w] for w in where)]
        return [*lines, f"{kind}.{s.dtype}({', '.join(parts)})"]


def nest_text(nest: Nest) -> str:
    """The nest as text, which `reader.parse_nest` reads."""
    dims = ", ".join(f"{d.name}={str(d.size)!r}" if not d.size.is_const else f"{d.name}={d.size}" for d in nest.dims)
    writer, lines = _Writer(), [f"nest({dims}):"]
    for stage in nest.stages:
        lines.append("    inner:" if stage.inner else "    outer:")
        for s in stage.body:
            lines += ["        " + line for line in writer.statement(s)]
    return "\n".join(lines)
