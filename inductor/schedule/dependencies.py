"""Groups: operations that will share one nest, and how one more may join.

A group's dims are its loops, in the row-major order of the tensors it works on; reduced dims are marked. Every
member maps the indices i0, i1, … of its own domain to expressions of the group's dims. Its place is "full" (computed
for every point) or "kept" (once for every point of the kept dims).
"""

from __future__ import annotations

from collections.abc import Iterator

from aten.records import field, record
from aten.symbolic.expr import ONE, ZERO, Expr, prod_, simplify, substitute, sym
from inductor.ir.index import flat, grouped, refine, row_major
from inductor.ir.loops import Dim, Pointwise, Reduction
from inductor.ir.nodes import Node, loads, walk
from inductor.lowering.operations import Accumulation, Attention, Computed, External, Operation, Product


@record
class Member:
    """An operation in a group. `at`: its i0, i1, … in terms of the group's dims."""

    op: Computed
    place: str
    at: dict[str, Expr]

    @property
    def reduces(self) -> bool:
        return not isinstance(self.op.loops, Pointwise)


@record(frozen=True)
class Match:
    """A way for an operation to join: the group's new dims, its old dims in terms of them, and the new member."""

    place: str
    dims: tuple[Dim, ...]
    old: dict[str, Expr]
    at: dict[str, Expr]


@record(eq=False)
class Group:
    """Operations that become one kernel's nest; a product stands at most with its epilogue, attention and external ops alone."""

    number: int
    dims: tuple[Dim, ...] = ()
    members: list[Member] = field(default_factory=list)
    product: Product | None = None
    product_dims: tuple[Expr, ...] = ()  # the product's batch, row and column in terms of the dims
    external: External | Attention | None = None
    before: set[Group] = field(default_factory=set)  # groups that must run first
    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    work: int = 0  # scalar operations for one point
    _names: int = 0

    @property
    def reduced(self) -> bool:
        return any(d.reduced for d in self.dims)

    def follows(self, other: Group) -> bool:
        """Whether `other` must run before this one, by any path."""
        seen, stack = set(), list(self.before)
        while stack:
            g = stack.pop()
            if g is other:
                return True
            if g not in seen:
                seen.add(g)
                stack.extend(g.before)
        return False

    def fresh(self) -> str:
        self._names += 1
        return f"d{self._names - 1}"

    @property
    def stores(self) -> dict[str, tuple[Member, Expr]]:
        """Buffers written here: who writes them, and where in terms of the group's dims."""
        return {m.op.buffer: (m, substitute(m.op.store, m.at)) for m in self.members}


def domain_of(op: Computed) -> tuple[Expr, ...]:
    return op.loops.sizes


def work_of(op: Computed) -> int:
    """How many scalar operations one point of it takes."""
    return sum(n.kind in ("call", "masked", "checked") for n in walk([op.loops.body]))


def loads_of(op: Operation) -> list[Node]:
    """The loads of an operation, those that its indices need included."""
    if not isinstance(op, Computed):
        return []
    roots = [op.loops.body]
    if isinstance(op.loops, Accumulation):
        roots += op.loops.where
    return loads(roots)


def buffers_read(op: Operation) -> set[str]:
    """The names of the buffers that an operation reads (views stand for themselves)."""
    if isinstance(op, Computed):
        names = {n.buffer for n in loads_of(op)}
        return names | {op.buffer} if isinstance(op.loops, Accumulation) else names
    if isinstance(op, Product):
        return {op.a.buffer, op.b.buffer}
    if isinstance(op, Attention):
        return set(op.reads)
    return set(references((op.args, op.kwargs)))


def references(args) -> Iterator[str]:
    """The buffers named in the arguments of an external op."""
    from inductor.ir.buffer import Ref

    if isinstance(args, Ref):
        yield args.name
    elif isinstance(args, (tuple, list)):
        for a in args:
            yield from references(a)
    elif isinstance(args, dict):
        yield from references(list(args.values()))


def buffers_written(op: Operation) -> tuple[str, ...]:
    if isinstance(op, Attention):
        return op.writes
    return op.outputs if isinstance(op, External) else (op.buffer,)


# ------------------------------------------------------------------------------------------------------------- matching


def start_group(number: int, op: Operation) -> Group:
    """A group of one operation."""
    g = Group(number)
    if isinstance(op, External | Attention):
        g.external = op
        return g
    if isinstance(op, Product):
        g.product = op
        g.dims = tuple(Dim(g.fresh(), s) for s in op.sizes)
        g.product_dims = tuple(d.var for d in g.dims)
        return g
    sizes, reduced = domain_of(op), op.loops.reduced
    dims, at = [], {}
    for d, s in enumerate(sizes):
        if s is ONE:
            at[f"i{d}"] = ZERO
        else:
            dims.append(Dim(g.fresh(), s, d in reduced))
            at[f"i{d}"] = dims[-1].var
    g.dims = tuple(dims)
    g.members.append(Member(op, "full", at))
    g.work = work_of(op)
    return g


def matches(g: Group, op: Computed) -> Iterator[Match]:
    """The ways in which the domain of `op` fits the loops of `g`, the likeliest first."""
    sizes, reduced = domain_of(op), op.loops.reduced
    if not reduced:
        if g.reduced and (found := _refined(g, _kept(g), sizes, ())) is not None:
            yield Match("kept", *found)
        if (found := _refined(g, g.dims, sizes, ())) is not None:
            yield Match("full", *found)
        return
    if (found := _refined(g, g.dims, sizes, reduced)) is not None:
        yield Match("full", *found)
    if not g.reduced and (found := _inserted(g, sizes, reduced)) is not None:
        yield Match("full", *found)


def _kept(g: Group) -> tuple[Dim, ...]:
    return tuple(d for d in g.dims if not d.reduced)


def _refined(g: Group, dims: tuple[Dim, ...], sizes, reduced):
    """(dims, old, at) if `sizes` and the group's `dims` have a common refinement with consistent marks."""
    found = refine([d.size for d in dims], list(sizes))
    if found is None:
        return None
    fine, of_group, of_op = found
    marks_op = {k: d in reduced for d, group in enumerate(of_op) for k in group}
    marks_group = {k: d.reduced for d, group in zip(dims, of_group) for k in group}
    if reduced:
        if g.reduced and any(marks_op[k] != marks_group[k] for k in range(len(fine))):
            return None
        marks = marks_op
    else:
        marks = marks_group
    names, new_dims, old = [], {}, {}
    for d, group in zip(dims, of_group):
        own = [d.name] if len(group) == 1 else [g.fresh() for _ in group]
        for name, k in zip(own, group):
            new_dims[k] = Dim(name, fine[k], marks[k])
    names = [new_dims[k].name for k in range(len(fine))]
    for d, group in zip(dims, of_group):
        old[d.name] = grouped(group, names, fine)
    at = {f"i{d}": grouped(group, names, fine) for d, group in enumerate(of_op)}
    by_dim = {d.name: [new_dims[k] for k in group] for d, group in zip(dims, of_group)}
    out = []
    for d in g.dims:
        if d.name in by_dim:
            out.extend(by_dim[d.name])
        else:
            out.append(d)
            old[d.name] = d.var
    return tuple(out), old, at


def _inserted(g: Group, sizes, reduced):
    """(dims, old, at) if the group's dims are the kept dims of a reduction over `sizes`: its reduced dims join them."""
    kept = [s for d, s in enumerate(sizes) if d not in reduced]
    found = _refined(g, g.dims, kept, ())
    if found is None:
        return None
    dims, old, kept_at = found
    at, order, position = {}, [], 0
    left = [d for d in range(len(sizes)) if d not in reduced]
    for d, s in enumerate(sizes):
        if d in reduced:
            dim = Dim(g.fresh(), s, True)
            at[f"i{d}"] = dim.var
            order.append(dim)
        else:
            e = kept_at[f"i{left.index(d)}"]
            at[f"i{d}"] = e
            own = [x for x in dims if x.name in e.free_symbols]
            order.extend(own)
            position += len(own)
    if position != len(dims):
        return None
    return tuple(order), old, at


def ranges_of(dims: tuple[Dim, ...], ranges: dict) -> dict:
    return {**ranges, **{d.name: (ZERO, d.size - 1) for d in dims}}


def aligned(g: Group, op: Computed, match: Match, ranges: dict) -> bool:
    """Whether every element of the group's own buffers that `op` reads is the one computed at that very point."""
    known = ranges_of(match.dims, ranges)
    stores = None
    for n in loads_of(op):
        if n.buffer not in g.writes:
            continue
        if g.product is not None and n.buffer == g.product.buffer:
            store = _product_store(g, match)
        else:
            stores = stores or {b: substitute(e, match.old) for b, (_, e) in g.stores.items()}
            store = stores[n.buffer]
        if n.args or simplify(substitute(n.index, match.at), known) is not simplify(store, known):
            return False
    return True


def _product_store(g: Group, match: Match) -> Expr:
    return substitute(flat(g.product_dims, row_major(g.product.sizes)), match.old)


def join(g: Group, op: Computed, match: Match) -> None:
    """Make `op` a member."""
    old = {k: v for k, v in match.old.items() if v is not sym(k)}
    if old:
        g.product_dims = tuple(substitute(e, old) for e in g.product_dims)
        for m in g.members:
            m.at = {k: substitute(e, old) for k, e in m.at.items()}
    if match.place == "full" and isinstance(op.loops, Reduction) and not g.reduced:
        inserted = {d.name for d in match.dims} - set().union(*(e.free_symbols for e in match.old.values()), set())
        if inserted:  # the group's own members do not run over the new dims
            for m in g.members:
                m.place = "kept"
    g.dims = match.dims
    g.members.append(Member(op, match.place, match.at))
    g.work += work_of(op)


def points(dims) -> Expr:
    return prod_(d.size for d in dims)
