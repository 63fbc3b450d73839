"""Which operations share a kernel: each joins the group of what it reads, or of what reads the same, where that is
legal (no cycle, every shared element at the same point) and pays."""

from __future__ import annotations

from aten import logs, settings
from aten.symbolic.expr import Expr, prod_, substitute
from inductor import choices
from inductor.ir.buffer import ITEMSIZE
from inductor.ir.index import coefficient
from inductor.ir.loops import Dim, Pointwise, Reduction
from inductor.ir.nodes import checks, walk
from inductor.lowering.operations import Accumulation, Attention, Computed, External, Lowered, Operation
from inductor.schedule.dependencies import (
    Group,
    Match,
    aligned,
    buffers_read,
    buffers_written,
    join,
    loads_of,
    matches,
    points,
    start_group,
    work_of,
)
from inductor.schedule.required import required

log = logs.get("fusion")


class Fuser:
    """Groups the operations of one graph."""

    def __init__(self, lowered: Lowered):
        self.lowered = lowered
        self.hints = lowered.hints
        self.groups: list[Group] = []
        self.writers: dict[str, list[Group]] = {}
        self.readers: dict[str, list[Group]] = {}
        self.failing: list[Group] = []  # groups that may fail

    def base(self, name: str) -> str:
        return self.lowered.buffers[name].base or name

    # ---- order

    def before(self, op: Operation) -> set[Group]:
        """The groups that must run before the operation."""
        out = set()
        for name in map(self.base, buffers_read(op)):
            out.update(self.writers.get(name, ()))
        for name in map(self.base, buffers_written(op)):
            out.update(self.writers.get(name, ()))
            out.update(self.readers.get(name, ()))
        if isinstance(op, Computed) and op.mutates:
            out.update(self.failing)
        return out

    def may_fail(self, op: Operation) -> bool:
        if isinstance(op, External):
            return True
        return isinstance(op, Computed) and bool(checks([op.loops.body, *getattr(op.loops, "where", ())]))

    def add(self, op: Operation) -> None:
        before = self.before(op)
        group = self.home(op, before) if isinstance(op, Computed) and settings.fusion else None
        if group is None:
            group = start_group(len(self.groups), op)
            self.groups.append(group)
        group.before |= before - {group}
        reads = set(map(self.base, buffers_read(op)))
        writes = set(map(self.base, buffers_written(op)))
        for names, table in ((reads, self.readers), (writes, self.writers)):
            for name in names:
                known = table.setdefault(name, [])
                if group not in known:
                    known.append(group)
        group.reads |= reads
        group.writes |= writes
        if self.may_fail(op) and group not in self.failing:
            self.failing.append(group)

    # ---- joining

    def home(self, op: Computed, before: set[Group]) -> Group | None:
        """The group that `op` joins; None if it starts its own."""
        if isinstance(op.loops, Accumulation) or op.verifies:
            return None
        for g in self.candidates(op):
            if g.external is not None or self.device_of(g) != self.lowered.buffers[op.buffer].device:
                continue
            if any(b is not g and b.follows(g) for b in before):
                continue
            if op.mutates and (g in self.failing or not self.reads_in_place(g, op)):
                continue
            if self.may_fail(op) and any(m.op.mutates for m in g.members):
                continue
            for match in matches(g, op):
                if aligned(g, op, match, self.lowered.ranges) and self.worthwhile(g, op, match):
                    join(g, op, match)
                    return g
        return None

    def device_of(self, g: Group) -> str:
        """Where a group's kernel runs."""
        return self.lowered.buffers[next(iter(g.writes))].device

    def candidates(self, op: Computed) -> list[Group]:
        """Groups that write what `op` reads, then groups that read much of the same, each the latest first."""
        reads = list(dict.fromkeys(n.buffer for n in loads_of(op)))
        producers = {g for name in reads for g in self.writers.get(name, ())}
        points = choices.size(prod_(op.loops.sizes), self.hints)
        large = [name for name in reads if choices.worth_sharing(self.elements(name), points)]
        sharing = {g for name in large for g in self.readers.get(name, ())} - producers
        by_age = lambda groups: sorted(groups, key=lambda g: -g.number)
        return by_age(producers) + by_age(g for g in sharing if g.product is None)

    def elements(self, name: str) -> int:
        return choices.size(prod_(self.lowered.buffers[name].sizes), self.hints)

    def reads_in_place(self, g: Group, op: Computed) -> bool:
        """Whether all that the group reads of the input that `op` overwrites is the element it overwrites."""
        mine = [n for m in g.members for n in loads_of(m.op) if n.buffer == op.buffer]
        if not mine:
            return True
        for match in matches(g, op):
            target = substitute(op.store, match.at)
            if all(
                substitute(substitute(n.index, m.at), match.old) is target
                for m in g.members
                for n in loads_of(m.op)
                if n.buffer == op.buffer
            ):
                return True
        return False

    def worthwhile(self, g: Group, op: Computed, match: Match) -> bool:
        """Whether the joint nest is one that runs well."""
        if len(g.reads | g.writes | buffers_read(op)) > choices.MAX_BUFFERS:
            return False
        if g.work + work_of(op) > settings.max_fusion_size:
            return False
        if g.product is not None:
            return self.fits_epilogue(g, op, match)
        accumulates = any(isinstance(m.op.loops, Accumulation) for m in g.members)
        if accumulates:
            return False
        return self.fits_stages(g, op, match)

    def fits_epilogue(self, g: Group, op: Computed, match: Match) -> bool:
        """Pointwise on the product's own domain, its columns in one piece."""
        if not settings.epilogue_fusion or not isinstance(op.loops, Pointwise) or match.place != "full":
            return False
        p = g.product
        if len(p.sizes) > 2 and choices.adds_apart(p.sizes[-2], p.sizes[-1], p.k, p.dtype):
            return False
        column = substitute(g.product_dims[-1], match.old)
        reads_it = any(n.buffer in g.writes for n in loads_of(op))
        return reads_it and column.op == "sym" and not any(n.kind == "checked" for n in walk([op.loops.body]))

    def fits_stages(self, g: Group, op: Computed, match: Match) -> bool:
        joint = [*(m.op for m in g.members), op]
        scans = [o for o in joint if not isinstance(o.loops, (Pointwise, Reduction))]
        if scans and len({op.loops.reduced for op in joint if op.loops.reduced}) > 1:
            return False
        reduced = any(d.reduced for d in match.dims)
        if not reduced:
            return True
        trailing = is_trailing(match.dims)
        stage = self.stage_of(g, op)
        if stage == 0:
            if trailing:
                return not (isinstance(op.loops, Pointwise) and match.place == "full" and not self.shares(g, op))
            if not g.reduced:
                return False  # a reduction across rows leaves the pointwise kernel that feeds it alone
            return match.place == "kept" or not isinstance(op.loops, Pointwise)
        if match.place == "kept":
            return True
        if not trailing or not self.contiguous(g, op, match):
            return not scans and self.by_columns(g, op, match)
        rows = choices.size(points(d for d in match.dims if not d.reduced), self.hints)
        length = choices.size(points(d for d in match.dims if d.reduced), self.hints)
        return not (rows < choices.FEW_ROWS and length > choices.LONG_ROW) and 4 * length <= choices.MAX_KEPT_BYTES

    def shares(self, g: Group, op: Computed) -> bool:
        return bool({n.buffer for n in loads_of(op)} & (g.reads | g.writes))

    def stage_of(self, g: Group, op: Computed) -> int:
        """How many reductions of the group must be complete before `op` can run for a point."""
        levels: dict[str, int] = {}
        for m in g.members:
            level = max((levels.get(n.buffer, 0) for n in loads_of(m.op)), default=0)
            levels[m.op.buffer] = level + (1 if isinstance(m.op.loops, Reduction) else 0)
        return max((levels.get(n.buffer, 0) for n in loads_of(op)), default=0)

    def contiguous(self, g: Group, op: Computed, match: Match) -> bool:
        """Whether the last reduced dim is the one along which memory is read."""
        last = [d.name for d in match.dims if d.reduced][-1]
        score = self.scores(match, self.read(g, op, match, {last}))
        return score[last] >= max(score.values())

    def by_columns(self, g: Group, op: Computed, match: Match) -> bool:
        """Whether stages over columns, which lie side by side, run as one nest: a block of columns stays in cache."""
        reduced = {d.name for d in match.dims if d.reduced}
        read = self.read(g, op, match, reduced)
        score = self.scores(match, read)
        best = max((d for d in match.dims if not d.reduced), key=lambda d: score[d.name], default=None)
        if best is None or self.device_of(g) != "cpu" or settings.exact or score[best.name] <= max(score[name] for name in reduced):
            return False
        rows = choices.size(points(d for d in match.dims if d.reduced), self.hints)
        return rows <= choices.LONGEST_COLUMN and self.columns(match, best, read) >= choices.FEWEST_COLUMNS

    def columns(self, match: Match, dim: Dim, read: list[tuple[str, Expr]]) -> int:
        """How many columns lie side by side along a kept dim, and along those before it whose elements follow one another."""
        step, count = dim.size, choices.size(dim.size, self.hints)
        for d in reversed(match.dims[: match.dims.index(dim)]):
            if d.reduced or any(coefficient(index, d.name) is not step for _, index in read if dim.name in index.free_symbols):
                break
            step, count = step * d.size, count * choices.size(d.size, self.hints)
        return count

    def read(self, g: Group, op: Computed, match: Match, names: set[str]) -> list[tuple[str, Expr]]:
        """(buffer, index) of the loads of the joint stages that mention one of `names`: what is read once a row does not count."""
        members = [(m.op, {k: substitute(e, match.old) for k, e in m.at.items()}) for m in g.members if m.place == "full"]
        found = [(n.buffer, substitute(n.index, at)) for o, at in [*members, (op, match.at)] for n in loads_of(o)]
        return [(buffer, index) for buffer, index in found if names & index.free_symbols]

    def scores(self, match: Match, read: list[tuple[str, Expr]]) -> dict[str, int]:
        """By dim, the bytes a point that are read side by side along it."""
        score = dict.fromkeys((d.name for d in match.dims), 0)
        for buffer, index in read:
            for name in score:
                c = coefficient(index, name)
                if c is not None and c.is_const and c.value == 1:
                    score[name] += ITEMSIZE[self.lowered.buffers[buffer].dtype]
        return score


def is_trailing(dims: tuple[Dim, ...]) -> bool:
    """Whether the reduced dims are the last ones."""
    marks = [d.reduced for d in dims]
    return marks == sorted(marks)


def fuse(lowered: Lowered) -> list[Group]:
    """The groups, in an order in which they can run."""
    fuser = Fuser(lowered)
    for op in required(lowered):
        fuser.add(op)
    ordered, done = [], set()

    def visit(g: Group) -> None:
        stack = [(g, False)]
        while stack:
            g, ready = stack.pop()
            if ready:
                if g not in done:
                    done.add(g)
                    ordered.append(g)
            elif g not in done:
                stack.append((g, True))
                stack.extend((b, False) for b in sorted(g.before - done, key=lambda b: -b.number))

    for g in fuser.groups:
        visit(g)
    if log.on:
        for g in ordered:
            log(describe(g))
    return ordered


def describe(g: Group) -> str:
    """One line: the loops of a group and what it holds."""
    dims = ", ".join(f"{d.size}{'*' if d.reduced else ''}" for d in g.dims)
    if isinstance(g.external, Attention):
        return str(g.external)
    if g.external is not None:
        return f"{g.external.op} -> {', '.join(g.external.outputs)}"
    names = [m.op.buffer for m in g.members]
    head = f"product {g.product.buffer}, then " if g.product is not None else ""
    return f"[{dims}] {head}{', '.join(names)}"
