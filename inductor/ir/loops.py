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

from dataclasses import dataclass

from aten.symbolic.expr import Expr, as_expr, sym
from inductor.ir.nodes import Node

REDUCTIONS = ("sum", "prod", "max", "min", "any", "all", "argmax", "argmin")


def loop_variables(rank: int) -> tuple[Expr, ...]:
    """i0, i1, …: the variables of a lowering's body, one a dimension of the full domain."""
    return tuple(sym(f"i{d}") for d in range(rank))


@dataclass(frozen=True)
class Pointwise:
    """buffer[store] = body, for every point of `sizes`."""

    sizes: tuple[Expr, ...]
    body: Node

    @property
    def reduced(self) -> tuple[int, ...]:
        return ()


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class Scan:
    """The running reduction `kind` of `body` along one dim of `sizes`, inclusive."""

    sizes: tuple[Expr, ...]
    reduced: tuple[int, ...]
    kind: str
    dtype: str
    body: Node


# ------------------------------------------------------------------------------------------------------------- nests


@dataclass(frozen=True)
class Dim:
    """One loop: the variable `name` runs over [0, size)."""

    name: str
    size: Expr
    reduced: bool = False

    @property
    def var(self) -> Expr:
        return sym(self.name)


@dataclass(frozen=True)
class Store:
    """buffer[index] = value (index flat, in elements), rounded to `dtype`, the buffer's."""

    buffer: str
    index: Expr
    value: Node
    dtype: str


@dataclass(frozen=True)
class Accumulate:
    """buffer[index] += value, in the order of the loops: never split over threads. `where`: nodes the index
    mentions."""

    buffer: str
    index: Expr
    value: Node
    dtype: str
    where: tuple[Node, ...] = ()


@dataclass(frozen=True)
class Reduce:
    """Combine `value` over the stage; later stages read it as row(name)."""

    name: str
    kind: str
    value: Node
    dtype: str


@dataclass(frozen=True)
class Running:
    """Combine `value` along the reduced dim; this stage's later statements read row(name)."""

    name: str
    kind: str
    value: Node
    dtype: str


@dataclass(frozen=True)
class Keep:
    """Remember `value` of this point; later stages read it as kept(name)."""

    name: str
    value: Node


Statement = Store | Accumulate | Reduce | Running | Keep


@dataclass(frozen=True)
class Stage:
    """Statements for every point of the kept dims, or (`inner`) of all dims."""

    inner: bool
    body: tuple[Statement, ...]


@dataclass(frozen=True)
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
        from inductor.ir.printer import nest_text

        return nest_text(self)
