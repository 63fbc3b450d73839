"""Which operations have to run: those whose results something needs, and those that may fail.

A check (an index in range, a divisor that is not 0) is evaluated where its value is read. Where nothing does at every
point of the checked op, an operation of its own evaluates it: what eager raises is raised.
"""

from __future__ import annotations

from collections.abc import Iterable

from aten.symbolic.expr import ONE, ZERO, Expr, bounds, prod_, simplify, substitute, sym
from inductor.ir import nodes
from inductor.ir.buffer import Buffer
from inductor.ir.index import coefficient, divides, split_points, without
from inductor.ir.loops import Pointwise, Reduction
from inductor.ir.nodes import Node
from inductor.lowering.operations import Computed, External, Lowered, Operation, Verification
from inductor.lowering.value import domain
from inductor.schedule.dependencies import buffers_read, buffers_written


def required(lowered: Lowered) -> list[Operation]:
    """The operations that have to run, in order."""
    found = live(lowered, lowered.operations)
    if not lowered.verifications:
        return found
    seen = [Evaluated(op, lowered.ranges) for op in found if isinstance(op, Computed)]
    missing = [v for v in lowered.verifications if not any(e.covers(v) for e in seen)]
    if not missing:
        return found
    first = next((k for k, op in enumerate(lowered.operations) if isinstance(op, Computed) and op.mutates), None)
    at = len(lowered.operations) if first is None else first  # before anything is written that others see
    checks = [verifying(lowered, v, k) for k, v in enumerate(missing)]
    return live(lowered, [*lowered.operations[:at], *checks, *lowered.operations[at:]])


def live(lowered: Lowered, operations: list[Operation]) -> list[Operation]:
    """Those that write what something needs, that write an input, or that may fail."""
    needed = {lowered.buffers[o].base or o for o in lowered.outputs if isinstance(o, str)}
    out = []
    for op in reversed(operations):
        written = {lowered.buffers[n].base or n for n in buffers_written(op)}
        acts = (isinstance(op, Computed) and (op.mutates or op.verifies)) or (isinstance(op, External) and op.raises)
        if written & needed or acts:
            out.append(op)
            needed |= {lowered.buffers[n].base or n for n in buffers_read(op)}
    return out[::-1]


def verifying(lowered: Lowered, v: Verification, number: int) -> Computed:
    """An operation that evaluates a check at every point: the largest value that was checked, which nobody reads."""
    name = f"check{number}"
    dtype = v.checked.dtype
    read = (lowered.buffers[n.buffer].device for n in nodes.walk([v.checked]) if n.kind == "load")
    lowered.buffers[name] = Buffer(name, dtype, (), (), device=next(read, "cpu"))  # where what is checked lies
    single = all(s is ONE for s in v.sizes)
    at = {f"i{d}": ZERO for d in range(len(v.sizes))}
    loops = (
        Pointwise((), nodes.replace(v.checked, at))
        if single
        else Reduction(v.sizes, tuple(range(len(v.sizes))), "max", dtype, v.checked)
    )
    return Computed(name, loops, ZERO, dtype, v.lines, verifies=True)


class Evaluated:
    """The checked nodes that an operation evaluates whatever the values of its operands are."""

    def __init__(self, op: Computed, ranges: dict):
        self.sizes = op.loops.sizes
        self.ranges = {**ranges, **domain(self.sizes)}
        roots = [op.loops.body, *getattr(op.loops, "where", ())]
        self.checked = [n for n in unconditional(roots) if n.kind == "checked"]
        self.walks = {k for n in self.checked if (k := walked(n, self.sizes, self.ranges)) is not None}

    def covers(self, v: Verification) -> bool:
        """Whether it evaluates the check at every point."""
        if v.checked in self.checked:
            own = dict(enumerate(v.sizes))
            if len(own) <= len(self.sizes) and all(
                s is own.get(d) or (f"i{d}" not in v.checked.symbols and bounds(s, self.ranges)[0] > 0)
                for d, s in enumerate(self.sizes)
            ):
                return True
        if not self.walks:
            return False
        return walked(v.checked, v.sizes, {**self.ranges, **domain(v.sizes)}) in self.walks


def unconditional(roots: Iterable[Node]) -> list[Node]:
    """The nodes under `roots` that are evaluated whatever their conditions say: not those behind a mask."""
    seen: dict[Node, None] = {}
    stack = list(roots)
    while stack:
        n = stack.pop()
        if n not in seen:
            seen[n] = None
            stack.extend((n.args[0], n.args[2]) if n.kind == "masked" else n.args)
    return list(seen)


def walked(n: Node, sizes: tuple[Expr, ...], ranges: dict) -> tuple | None:
    """What a checked node says of the elements of one buffer, if it runs over a dense range of them: equal for equal
    ranges, in whatever shape. None if it reads anything else."""
    leaves = [x for x in nodes.walk([n]) if not x.args and x.kind != "const"]
    if len(leaves) != 1 or leaves[0].kind != "load":
        return None
    (leaf,) = leaves
    index, loops = undivided(leaf.index, {f"i{d}": s for d, s in enumerate(sizes)}, ranges)
    offset, steps = index, []
    for name, size in loops.items():
        step = coefficient(index, name)
        if step is None:
            return None
        if step is not ZERO:
            steps.append((step, size))
            offset = without(offset, name)
        elif bounds(size, ranges)[0] <= 0:
            return None
    left, expected = list(steps), ONE
    while left:  # innermost first
        found = next((x for x in left if x[0] is expected), None)
        if found is None:
            return None
        left.remove(found)
        expected = expected * found[1]
    pattern = nodes.rewrite(n, lambda x: nodes.load(x.buffer, sym("walked"), x.dtype) if x is leaf else None)
    return pattern, offset, prod_(s for _, s in steps)


def undivided(index: Expr, loops: dict[str, Expr], ranges: dict) -> tuple[Expr, dict[str, Expr]]:
    """An index that divides its variables (i0 // 3), over loops cut where it does."""
    for name, size in loops.items():
        for point in split_points([index], name):
            outer = divides(point, size)
            if outer is None or outer is ONE:
                continue
            fine = {f"{name}a": outer, f"{name}b": point}
            known = {**ranges, **{k: (ZERO, s - 1) for k, s in fine.items()}}
            index = simplify(substitute(index, {name: sym(f"{name}a") * point + sym(f"{name}b")}), known)
            return undivided(index, {**{k: s for k, s in loops.items() if k != name}, **fine}, known)
    return index, loops
