"""What a core graph is lowered to: operations on buffers, plain data that prints.

`Computed` are loops that fill a buffer, `Product` is a matrix product, `Attention` a part of one, `External` an op of aten.
"""

from __future__ import annotations

from typing import Any

from aten.records import record
from aten.symbolic.expr import Expr
from inductor.ir.buffer import Buffer
from inductor.ir.loops import Pointwise, Reduction, Scan
from inductor.ir.nodes import Node, loads, node_text, walk


@record(frozen=True)
class Accumulation:
    """buffer[index] += body over the domain, in order along the dims `reduced`; `where`: nodes the index mentions.
    `kind`: "accumulate"; on a device also "replace" (= instead, in no order) and "largest" (the larger of both)."""

    sizes: tuple[Expr, ...]
    reduced: tuple[int, ...]
    body: Node
    index: Expr
    where: tuple[Node, ...]
    kind: str = "accumulate"


@record
class Computed:
    """Loops that fill `buffer`: its element at flat `store` (over i0, i1, …) for every point of the domain.

    `mutates`: the buffer is an input, written in place. `verifies`: it is run for the checks in it.
    """

    buffer: str
    loops: Pointwise | Reduction | Scan | Accumulation
    store: Expr
    dtype: str
    lines: tuple[str, ...] = ()
    mutates: bool = False
    verifies: bool = False


@record(frozen=True)
class Matrix:
    """An operand of a product: `buffer`, offset and strides in elements (batch, row, column)."""

    buffer: str
    dtype: str
    offset: Expr
    strides: tuple[Expr, ...]


@record
class Product:
    """buffer[batch…, m, n] = a @ b"""

    buffer: str
    sizes: tuple[Expr, ...]  # batch…, M, N
    k: Expr
    a: Matrix
    b: Matrix
    dtype: str
    batch: tuple[Expr, ...] = ()  # the batch dim as the operands' strides see it
    lines: tuple[str, ...] = ()


@record(frozen=True)
class Domain:
    """Of an attention: `rows` queries and `columns` keys of `depth` numbers, values of `width`."""

    batch: tuple[Expr, ...]
    rows: Expr
    columns: Expr
    depth: Expr
    width: Expr


@record(frozen=True)
class Attention:
    """A part of an attention, on a device.

    kind      what it makes
    forward   `out`
    rows      the gradient of `query`; of each row the `sums` (logarithm of its exponentials' sum) and `weighted` sum, for:
    columns   the gradients of `key` and `value`

    The weights are softmax(query @ keyᵀ * scale + mask), where `mask` (bool: where it holds; else added) and `causal` let them be,
    times `keep`. operands: by name, loads at (i0, i1, …, row or col, e of the depth or w of the width); mask and keep are nodes
    over (i0, i1, …, row, col). stores: by name (buffer, index)."""

    kind: str
    domain: Domain
    operands: dict[str, Node]
    stores: dict[str, tuple[str, Expr]]
    mask: Node | None
    keep: Node | None
    causal: bool
    scale: Expr
    dtype: str
    lines: tuple[str, ...] = ()

    @property
    def reads(self) -> tuple[str, ...]:
        """The buffers that it reads."""
        values = [n for n in (*self.operands.values(), self.mask, self.keep) if n is not None]
        return tuple(dict.fromkeys(n.buffer for n in loads(values)))

    @property
    def writes(self) -> tuple[str, ...]:
        """The buffers that it writes."""
        return tuple(buffer for buffer, _ in self.stores.values())

    def __str__(self) -> str:
        d = self.domain
        sizes = ", ".join(map(str, (*d.batch, d.rows, d.columns)))
        operands = ", ".join(f"{name} {node_text(n)}" for name, n in self.operands.items())
        return f"attention {self.kind} [{sizes}] over {d.depth}, {d.width}: {operands} -> {', '.join(self.writes)}"


@record
class External:
    """The op `op` on buffers."""

    op: str
    args: tuple
    kwargs: dict[str, Any]
    outputs: tuple[str, ...]
    lines: tuple[str, ...] = ()
    allocates: bool = False
    raises: bool = False  # the values of its arguments may make it fail: it runs though nobody reads its results


@record(frozen=True)
class Verification:
    """At every point of a domain of `sizes` the `checked` node must hold, whoever reads its value."""

    checked: Node
    sizes: tuple[Expr, ...]
    lines: tuple[str, ...]


Operation = Computed | Product | Attention | External


def operation_text(op) -> str:
    """A lowered operation in a few lines."""
    line = f"    # {'; '.join(op.lines)}" if op.lines else ""
    if isinstance(op, Computed):
        loops = op.loops
        sizes = ", ".join(f"i{d}:{s}{'*' if d in loops.reduced else ''}" for d, s in enumerate(loops.sizes))
        kind = type(loops).__name__.lower() + (f" {loops.kind}" if hasattr(loops, "kind") else "")
        body = node_text(loops.body) if sum(1 for _ in walk([loops.body])) < 200 else "…"
        return f"{op.buffer}[{op.store}] = {kind} [{sizes}] {body}{line}"
    if isinstance(op, Product):
        return f"{op.buffer} = {op.a.buffer} @ {op.b.buffer}  [{', '.join(map(str, op.sizes))}] over {op.k}{line}"
    if isinstance(op, Attention):
        return f"{op}{line}"
    return f"{', '.join(op.outputs)} = {op.op}({', '.join(map(str, op.args))}){line}"


@record
class Lowered:
    """What `lower` returns: see the module. `outputs` name buffers, or are Exprs or None."""

    inputs: tuple
    buffers: dict[str, Buffer]
    operations: list[Operation]
    outputs: list
    ranges: dict
    hints: dict[str, int]
    mutated: tuple[str, ...] = ()
    verifications: tuple[Verification, ...] = ()

    def __str__(self) -> str:
        return "\n".join(map(operation_text, self.operations))
