"""A group → one nest: which stage every member belongs to, which buffers vanish, what is kept between stages."""

from __future__ import annotations

from aten.symbolic.expr import Expr, simplify, substitute
from inductor import choices
from inductor.ir import nodes
from inductor.ir.index import flat, row_major
from inductor.ir.loops import Accumulate, Dim, Keep, Nest, Pointwise, Reduce, Reduction, Running, Scan, Stage, Store
from inductor.ir.nodes import Node, kept, row
from inductor.lowering.operations import Accumulation
from inductor.schedule.dependencies import Group, Member, loads_of, ranges_of


class NestBuilder:
    """Builds the nest of one group. `needed` are the buffers that something outside the group reads."""

    def __init__(self, group: Group, needed: set[str], ranges: dict):
        self.group = group
        self.needed = needed
        self.ranges = ranges_of(group.dims, ranges)
        self.by_buffer: dict[str, Member] = {m.op.buffer: m for m in group.members if not m.op.mutates}
        self.stages: dict[str, int] = {}  # of each buffer: the stage in which its member runs
        self.keeps: dict[str, Node] = {}
        self.memo: dict[tuple[int, int], dict] = {}
        self.owned: dict[tuple[str, int], Node | None] = {}  # by buffer and stage: what stands for its value
        self.rows = {m.op.buffer: f"row_{m.op.buffer}" for m in group.members}

    def available(self, name: str) -> int:
        """The first stage in which the value of an own buffer can be read."""
        m = self.by_buffer[name]
        return self.stages[name] + (1 if isinstance(m.op.loops, Reduction) else 0)

    def place(self) -> None:
        for m in self.group.members:
            own = [n.buffer for n in loads_of(m.op) if n.buffer in self.by_buffer and n.buffer in self.stages]
            stage = max((self.available(b) for b in own), default=0)
            self.stages[self.key(m)] = stage
        last = max((s for m in self.group.members if m.place == "full" for s in [self.stages[self.key(m)]]), default=0)
        for m in self.group.members:
            if m.op.mutates:  # in place: after everything that reads the old value
                self.stages[self.key(m)] = last if m.place == "full" else max(last + 1, self.stages[self.key(m)])

    def key(self, m: Member) -> str:
        return m.op.buffer + ("'" if m.op.mutates else "")

    # ---- values

    def body(self, m: Member, stage: int) -> Node:
        """The member's value at the group's point, as the given stage computes it."""
        memo = self.memo.setdefault((id(m), stage), {})
        return self.rewritten(m.op.loops.body, dict(m.at), stage, memo)

    def rewritten(self, body: Node, values: dict[str, Expr], stage: int, memo: dict) -> Node:
        self.prepare(body, stage)

        def leaf(n: Node) -> Node | None:
            return self.owned[n.buffer, stage] if self.is_own(n) else None

        return nodes.rewrite(body, leaf, values, memo)

    def is_own(self, n: Node) -> bool:
        """Whether a node is a load of what the group computes for the same point."""
        return n.kind == "load" and n.buffer in self.by_buffer and not n.args

    def prepare(self, body: Node, stage: int) -> None:
        """Know what stands for the loads of own buffers in `body`, those that these depend on first."""
        stack = [(n.buffer, stage) for n in nodes.loads([body]) if self.is_own(n)]
        while stack:
            name, s = stack[-1]
            if (name, s) in self.owned:
                stack.pop()
                continue
            missing = [key for key in self.before(name, s) if key not in self.owned]
            if missing:
                stack += missing
            else:
                stack.pop()
                self.owned[name, s] = self.own(name, s)

    def before(self, name: str, stage: int) -> list[tuple[str, int]]:
        """What the value of an own buffer in a stage is made of: own buffers, each with the stage that computes it."""
        loops = self.by_buffer[name].op.loops
        if not isinstance(loops, Pointwise):
            return []
        read = dict.fromkeys(n.buffer for n in nodes.loads([loops.body]) if self.is_own(n))
        return [(b, s) for s in dict.fromkeys((stage, self.stages[name])) for b in read]

    def own(self, name: str, stage: int) -> Node | None:
        """What stands for a load of an own buffer at the same point; None: memory does."""
        m = self.by_buffer[name]
        loops = m.op.loops
        if isinstance(loops, Accumulation):
            return None
        if isinstance(loops, Reduction):
            return row(self.rows[name], "int64" if loops.kind.startswith("arg") else loops.dtype)
        at = self.stages[name]
        if isinstance(loops, Scan):
            value = row(self.rows[name], loops.dtype)
            return value if stage == at else self.keep(name, value)
        value = self.body(m, stage)
        if m.place == "kept" or stage == at:
            return value
        return self.keep(name, self.body(m, at)) if choices.expensive(value) else value

    def keep(self, name: str, value: Node) -> Node:
        self.keeps[name] = value
        return kept(f"keep_{name}", value.dtype)

    # ---- the nest

    def build(self) -> Nest:
        self.place()
        inner: dict[int, list] = {}
        outer: dict[int, list] = {}
        reduced = self.group.reduced
        for m in self.group.members:
            stage = self.stages[self.key(m)]
            full = m.place == "full" and reduced
            statements = (inner if full else outer).setdefault(stage, [])
            statements.extend(self.statements(m, stage))
        for stage, stores in self.reduction_stores().items():
            outer.setdefault(stage, []).extend(stores)
        for name, value in self.keeps.items():
            inner[self.stages[name]].append(Keep(f"keep_{name}", value))
        stages = []
        for s in range(max([*inner, *outer, 0]) + 1):
            for table, is_inner in ((outer, False), (inner, True)):
                if table.get(s):
                    stages.append(Stage(is_inner, tuple(sorted(table[s], key=_rank))))
        return Nest(self.group.dims, tuple(stages))

    def epilogue(self, raw: str | None) -> Nest:
        """What follows a product, for one of its elements: loops over batch, row and column, whose element is
        row("acc"). `raw`: the buffer that takes the product itself, if something needs it."""
        g, p = self.group, self.group.product
        assert p is not None
        self.place()
        acc = row("acc", nodes.compute_dtype(p.dtype))
        dims = tuple(Dim(n, s) for n, s in zip(("batch", "row", "col")[-len(p.sizes) :], p.sizes))
        values = self.inverse(dims)
        strides = row_major(p.sizes)
        own = flat([d.var for d in dims], strides)
        memo: dict[Node, Node] = {}

        def leaf(n: Node) -> Node | None:
            return acc if n.kind == "load" and n.buffer == p.buffer else None

        stores = [Store(raw, own, acc, p.dtype)] if raw is not None else []
        known = ranges_of(dims, self.ranges)
        for m in g.members:
            for s in self.statements(m, 0):
                value = nodes.rewrite(s.value, leaf, values, memo)
                stores.append(Store(s.buffer, simplify(substitute(s.index, values), known), value, s.dtype))
        return Nest(dims, (Stage(False, tuple(stores)),))

    def inverse(self, dims: tuple[Dim, ...]) -> dict[str, Expr]:
        """The group's dims in terms of the product's own (each is a piece of one of them)."""
        known = ranges_of(dims, self.ranges)
        out = {}
        for d, base in zip(dims, self.group.product_dims):
            rest = d.var
            pieces = [x for x in self.group.dims if x.name in base.free_symbols]
            for k, x in enumerate(reversed(pieces)):
                last = k == len(pieces) - 1
                out[x.name] = simplify(rest if last else rest % x.size, known)
                rest = rest // x.size
        return out

    def statements(self, m: Member, stage: int) -> list:
        op, loops = m.op, m.op.loops
        value = self.body(m, stage)
        name = self.rows[op.buffer]
        store = simplify(substitute(op.store, m.at), self.ranges)
        if isinstance(loops, Accumulation):
            values, memo = dict(m.at), {}
            where = tuple(self.rewritten(w, values, stage, memo) for w in loops.where)
            swap = {**values, **{w.symbol.value: new.symbol for w, new in zip(loops.where, where)}}
            return [Accumulate(op.buffer, substitute(op.store, swap), value, op.dtype, where, loops.kind)]
        wanted = op.buffer in self.needed or op.mutates
        if isinstance(loops, Pointwise):
            return [Store(op.buffer, store, unrounded(value, op.dtype), op.dtype)] if wanted else []
        if isinstance(loops, Scan):
            out = [Running(name, loops.kind, value, loops.dtype)]
            return [*out, Store(op.buffer, store, row(name, loops.dtype), op.dtype)] if wanted else out
        return [Reduce(name, loops.kind, value, loops.dtype)]

    def reduction_stores(self) -> dict[int, list]:
        """Stores of reduced values: in the stage after the one that reduces."""
        out: dict[int, list] = {}
        for m in self.group.members:
            loops = m.op.loops
            if isinstance(loops, Reduction) and m.op.buffer in self.needed:
                dtype = "int64" if loops.kind.startswith("arg") else loops.dtype
                store = simplify(substitute(m.op.store, m.at), self.ranges)
                value = row(self.rows[m.op.buffer], dtype)
                out.setdefault(self.stages[m.op.buffer] + 1, []).append(Store(m.op.buffer, store, value, m.op.dtype))
        return out


def unrounded(value: Node, dtype: str) -> Node:
    """A value before it is rounded to the dtype in which it is stored, as storing rounds it."""
    return value.args[0] if value.kind == "call" and value.name == f"round_{dtype}" else value


_ORDER = {Running: 0, Reduce: 1, Keep: 2, Accumulate: 3, Store: 4}


def _rank(statement) -> int:
    return _ORDER[type(statement)]
