"""A lowered graph → a Schedule: fuse, build kernels."""

from __future__ import annotations

from collections import Counter

from aten.symbolic.expr import prod_, sum_, sym
from inductor import choices
from inductor.codegen.cpp_product import ProductBody
from inductor.codegen.kernel import values_of
from inductor.ir import nodes
from inductor.ir.buffer import Extern, Kernel, Schedule
from inductor.ir.loops import Accumulate, Nest, Store
from inductor.lowering.operations import Accumulation, Attention, Lowered
from inductor.schedule.dependencies import Group, points
from inductor.schedule.fuse import fuse
from inductor.schedule.in_place import in_place
from inductor.schedule.loop_order import tidy
from inductor.schedule.nests import NestBuilder


def schedule(lowered: Lowered, prefix: str = "kernel") -> Schedule:
    """The Schedule of a lowered graph. Kernels are called prefix0, prefix1, …."""
    return in_place(build(lowered, fuse(lowered), prefix))


def build(lowered: Lowered, groups: list[Group], prefix: str) -> Schedule:
    """Kernels and external steps of fused groups, in order."""
    steps: list[Kernel | Extern] = []
    needed = needed_by_group(groups, lowered)
    for batch in batches(groups, lowered):
        g = batch[0]
        name = f"{prefix}{len(steps)}"
        if isinstance(g.external, Attention):
            steps.append(attention_kernel(name, g.external))
        elif g.external is not None:
            e = g.external
            steps.append(Extern(e.op, e.args, e.kwargs, e.outputs, e.lines, e.allocates))
        elif g.product is not None:
            steps.append(product_kernel(name, g, lowered, needed[g], lines_of(g)))
        else:
            nests = tuple(nest_of(x, needed[x], lowered) for x in batch)
            lines = tuple(dict.fromkeys(line for x in batch for line in lines_of(x)))
            steps.append(loop_kernel(name, nests, lines, sum_(points(x.dims) for x in batch)))
    used = set()
    for s in steps:
        used.update(s.args if isinstance(s, Kernel) else [*s.outputs, *buffers_read_by(s)])
    used.update(o for o in lowered.outputs if isinstance(o, str))
    used.update(i for i in lowered.inputs if isinstance(i, str))
    used.update(lowered.buffers[u].base for u in list(used) if lowered.buffers[u].base)
    buffers = {name: b for name, b in lowered.buffers.items() if name in used}
    return Schedule(lowered.inputs, buffers, steps, tuple(lowered.outputs), lowered.mutated)


def buffers_read_by(step: Extern) -> set[str]:
    from inductor.schedule.dependencies import references

    return set(references((step.args, step.kwargs)))


def needed_by_group(groups: list[Group], lowered: Lowered) -> dict[Group, set[str]]:
    """By group, the buffers written by it that something else reads: another group, or whoever called. What is computed
    for its checks is stored."""
    outputs = {lowered.buffers[o].base or o for o in lowered.outputs if isinstance(o, str)}
    outputs |= {m.op.buffer for g in groups for m in g.members if m.op.verifies}
    users = Counter(name for g in groups for name in g.reads | g.writes)
    return {g: {name for name in g.writes if users[name] > 1 or name in outputs} for g in groups}


def lines_of(g: Group) -> tuple[str, ...]:
    return tuple(dict.fromkeys(line for m in g.members for line in m.op.lines))


def nest_of(g: Group, needed: set[str], lowered: Lowered) -> Nest:
    return tidy(NestBuilder(g, needed, lowered.ranges).build(), lowered.ranges)


def batches(groups: list[Group], lowered: Lowered) -> list[list[Group]]:
    """Neighbours that do not depend on each other and are small run in one kernel: an optimizer's step over many
    parameters is one launch."""
    out: list[list[Group]] = []
    last_small = False
    for g in groups:
        small = choices.small(points(g.dims), lowered.hints) and plain(g)
        if last_small and small and not g.before & set(out[-1]) and device_of(g, lowered) == device_of(out[-1][0], lowered):
            out[-1].append(g)
        else:
            out.append([g])
        last_small = small
    return out


def device_of(g: Group, lowered: Lowered) -> str:
    return lowered.buffers[next(iter(g.writes))].device


def plain(g: Group) -> bool:
    """Loops only, that may run in any order and cannot fail."""
    return (
        g.product is None
        and g.external is None
        and not any(isinstance(m.op.loops, Accumulation) or nodes.checks([m.op.loops.body]) for m in g.members)
    )


def product_kernel(name: str, g: Group, lowered: Lowered, needed: set[str], lines: tuple[str, ...]) -> Kernel:
    """The kernel of a matrix product; what joined it becomes the epilogue, over (batch, row, column)."""
    p = g.product
    builder = NestBuilder(g, needed, lowered.ranges)
    epilogue = builder.epilogue(p.buffer if p.buffer in needed else None)
    plain = loop_kernel(name, (epilogue,), (), 0)
    args = tuple(dict.fromkeys((p.a.buffer, p.b.buffer, *plain.args)))
    symbols = set().union(*(e.free_symbols for e in (*p.sizes, p.k, p.a.offset, *p.a.strides, p.b.offset, *p.b.strides)))
    symbols |= {s.value for s in plain.symbols}
    body = ProductBody(p.sizes, p.k, p.a, p.b, p.batch, epilogue)
    work = points(g.dims) * p.k
    return Kernel(
        name,
        args,
        plain.writes,
        tuple(sym(s) for s in sorted(symbols)),
        body,
        tuple(dict.fromkeys((*p.lines, *lines))),
        (),
        work,
    )


def attention_kernel(name: str, a: Attention) -> Kernel:
    """The kernel of a part of an attention. (Its writer says what it is passed.)"""
    d = a.domain
    work = prod_(d.batch) * d.rows * d.columns * (d.depth + d.width)
    return Kernel(name, tuple(dict.fromkeys((*a.reads, *a.writes))), a.writes, (), a, a.lines, (), work)


def loop_kernel(name: str, nests: tuple[Nest, ...], lines: tuple[str, ...], work) -> Kernel:
    """A kernel of nests: what it reads and writes, in the order of first use."""
    args, writes, symbols, roots = {}, {}, set(), []
    for nest in nests:
        loops = {d.name for d in nest.dims}
        for d in nest.dims:
            symbols |= d.size.free_symbols
        for stage in nest.stages:
            values = values_of(stage)
            roots += values
            inner = set()
            for n in nodes.walk(values):
                if n.kind == "load":
                    args[n.buffer] = None
                inner |= {a.symbol.value for a in n.args}
                symbols |= n.symbols - loops
            for s in stage.body:
                if isinstance(s, (Store, Accumulate)):
                    args[s.buffer] = writes[s.buffer] = None
                    where = {w.symbol.value for w in getattr(s, "where", ())}
                    symbols |= s.index.free_symbols - loops - where
    return Kernel(
        name,
        tuple(args),
        tuple(writes),
        tuple(sym(s) for s in sorted(symbols)),
        nests,
        lines,
        tuple(nodes.checks(roots)),
        work,
    )
