"""Values: tensors that are not in memory yet, as a body over the indices of one element."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aten.records import record
from aten.symbolic.expr import ONE, ZERO, Expr, as_expr, simplify, substitute
from inductor.ir import nodes
from inductor.ir.buffer import Buffer
from inductor.ir.index import flat, grouped, refine, row_major, unflatten
from inductor.ir.loops import loop_variables
from inductor.ir.nodes import Node, compute_dtype


@record(frozen=True)
class Value:
    """A tensor of `sizes` and (nominal) `dtype` whose element at i0, i1, … is `body`.

    `body` is computed in `compute_dtype(dtype)`: rounding to a half happens where the value is stored.
    """

    sizes: tuple[Expr, ...]
    dtype: str
    body: Node

    @property
    def rank(self) -> int:
        return len(self.sizes)

    def load(self, indices: Sequence[Expr | int | Node]) -> Node:
        """The element at `indices`: Exprs, or int64 nodes where an index is data."""
        return nodes.replace(self.body, {f"i{d}": i for d, i in enumerate(indices)})

    @property
    def buffer_load(self) -> Node | None:
        """The load that the value is, if it is nothing else."""
        return self.body if self.body.kind == "load" else None


def of_buffer(b: Buffer) -> Value:
    """The tensor in a buffer."""
    index = flat(loop_variables(len(b.sizes)), b.strides)
    if b.base is not None:
        index = index + b.offset
    # A dim of size 1 has one index, whatever its stride.
    index = substitute(index, {f"i{d}": ZERO for d, s in enumerate(b.sizes) if s is ONE})
    return Value(b.sizes, b.dtype, nodes.load(b.base or b.name, index, compute_dtype(b.dtype)))


def domain(sizes: Sequence[Expr]) -> dict[str, tuple[Expr, Expr]]:
    """The ranges of i0, i1, … over a tensor of these sizes."""
    return {f"i{d}": (ZERO, s - 1) for d, s in enumerate(sizes)}


def reindex(
    x: Value, sizes: Sequence[Expr], where: Callable[[Sequence[Expr]], Sequence[Expr | int]], ranges: dict | None = None
) -> Value:
    """The tensor of `sizes` whose element at i is x's at where(i). With `ranges` (of the symbols) every index in it is
    simplified, which divisions need."""
    sizes = tuple(map(as_expr, sizes))
    at = list(map(as_expr, where(loop_variables(len(sizes)))))
    if ranges is None:
        return Value(sizes, x.dtype, x.load(at))
    known = {**ranges, **domain(sizes)}
    swap = {f"i{d}": simplify(e, known) for d, e in enumerate(at)}
    body = nodes.rewrite_indices(x.body, lambda e: simplify(substitute(e, swap), known), {})
    return Value(sizes, x.dtype, body)


def broadcast(x: Value, sizes: Sequence[Expr]) -> Value:
    """x with its dims right-aligned to `sizes`, those of size 1 repeated."""
    sizes = tuple(map(as_expr, sizes))
    if x.sizes == sizes:
        return x
    skip = len(sizes) - x.rank
    return reindex(x, sizes, lambda i: [ZERO if s is ONE else i[skip + d] for d, s in enumerate(x.sizes)])


def reshape(x: Value, sizes: Sequence[Expr], ranges: dict) -> Value:
    """x's elements in row-major order, as a tensor of other sizes."""
    sizes = tuple(map(as_expr, sizes))
    if x.sizes == sizes:
        return x
    if ZERO in sizes:  # no element to say anything about: memory is not even looked at
        nothing = reindex(x, sizes, lambda i: [ZERO] * x.rank)
        return nothing if x.dtype.startswith("complex") else Value(sizes, x.dtype, nodes.const(0, nothing.body.dtype))
    found = refine(x.sizes, sizes)
    if found is None:
        return _numbered(x, sizes, ranges)
    fine, old, new = found
    names = [f"f{k}" for k in range(len(fine))]

    def where(i: Sequence[Expr]) -> list[Expr]:
        parts = {}
        for d, group in enumerate(new):
            rest = i[d]
            for k in reversed(group[1:]):
                parts[names[k]], rest = rest % fine[k], rest // fine[k]
            if group:
                parts[names[group[0]]] = rest
        return [substitute(grouped(group, names, fine), parts) for group in old]

    return reindex(x, sizes, where, ranges)


def _numbered(x: Value, sizes: tuple[Expr, ...], ranges: dict) -> Value:
    """`reshape` where no finer dims are known: by the number of an element among the dims behind those that both have in front."""
    same = 0
    while same < min(x.rank, len(sizes)) and x.sizes[same] is sizes[same]:
        same += 1
    i, own = loop_variables(len(sizes)), loop_variables(x.rank)
    place = flat(i[same:], row_major(sizes[same:]))
    n = x.buffer_load
    if n is not None and not n.args:  # what lies in rows is read in rows: nothing divides
        rows = flat([ZERO if s is ONE else v for v, s in zip(own[same:], x.sizes[same:])], row_major(x.sizes[same:]))
        start = n.index - rows
        if not start.free_symbols & {v.value for v in own[same:]}:
            known = {**ranges, **domain(sizes)}
            return Value(sizes, x.dtype, nodes.load(n.buffer, simplify(start + place, known), n.dtype))
    known = {**ranges, **domain(sizes)}
    return reindex(x, sizes, lambda i: [*i[:same], *unflatten(place, x.sizes[same:], known)], ranges)


def number(value, dtype: str, sizes: Sequence[Expr] = ()) -> Value:
    """A number (an Expr included) as a tensor."""
    sizes = tuple(map(as_expr, sizes))
    if isinstance(value, Expr):
        if value.kind != "float":
            body = nodes.index(value, "bool" if value.kind == "bool" else "int64")
            from inductor.ir.fold import cast

            return Value(sizes, dtype, cast(body, compute_dtype(dtype)))
        return Value(sizes, dtype, nodes.index(value, compute_dtype(dtype)))
    return Value(sizes, dtype, nodes.const(value, compute_dtype(dtype)))
