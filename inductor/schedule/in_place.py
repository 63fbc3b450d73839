"""A buffer that is read for the last time where a result of the same form is stored is that result, from the first kernel that
fills it on: a loop then writes over what it reads, and less memory passes through the caches (softmax of a row of 262144, whose
maximum, sum and quotients are kernels of their own).
"""

from __future__ import annotations

from collections.abc import Iterator

from aten.records import replaced
from inductor.codegen.kernel import accesses, values_of
from inductor.ir.buffer import Buffer, Extern, Kernel, Schedule
from inductor.ir.loops import Accumulate, Nest, Stage, Store
from inductor.ir.nodes import Node, load, loads, rewrite
from inductor.schedule.dependencies import references


def in_place(s: Schedule) -> Schedule:
    """The schedule with fewer buffers; what it takes and returns has the names that it had."""
    uses = _uses(s)
    pinned = {name for name in (*s.inputs, *s.outputs, *s.mutated) if isinstance(name, str)}
    pinned |= {b.base for b in s.buffers.values() if b.base}
    steps, gone = list(s.steps), set()
    for k in range(len(steps)):
        for old, new in _pairs(steps[k], s.buffers):
            first, last = uses[old][0], uses[old][-1]
            if old in pinned | gone or first == k or last != k or uses[new][0] != k:
                continue
            if not all(_of_loops(steps[u], old) for u in uses[old]):
                continue
            for u in uses[old]:
                steps[u] = _renamed(steps[u], old, new)
            uses[new] = sorted({*uses[old], *uses[new]})
            gone.add(old)
            break  # (of a step that has changed the pairs are others)
    return replaced(s, steps=steps, buffers={name: b for name, b in s.buffers.items() if name not in gone})


def _uses(s: Schedule) -> dict[str, list[int]]:
    """By name of a buffer the numbers of the steps that read or write it."""
    found: dict[str, list[int]] = {}
    for k, step in enumerate(s.steps):
        names = step.args if isinstance(step, Kernel) else (*step.outputs, *references((step.args, step.kwargs)))
        for name in dict.fromkeys(names):
            found.setdefault(name, []).append(k)
    return found


def _of_loops(step: Kernel | Extern, buffer: str = "") -> bool:
    """Whether the step is a kernel of loops, which read the buffer, if at all, at places known beforehand."""
    if not isinstance(step, Kernel) or not isinstance(step.body, tuple):
        return False
    if any(isinstance(x, Accumulate) for nest in step.body for x in nest.statements):
        return False
    return not any(n.args and n.buffer == buffer for nest in step.body for stage in nest.stages for n in loads(values_of(stage)))


def _pairs(step: Kernel | Extern, buffers: dict[str, Buffer]) -> Iterator[tuple[str, str]]:
    """(what a loop reads, what it stores) where the step touches neither anywhere else than at the element that is stored."""
    if not _of_loops(step):
        return
    assert isinstance(step, Kernel)
    touched: dict[str, list] = {}  # by buffer, where
    for nest in step.body:
        for name, index in accesses(nest):
            touched.setdefault(name, []).append(index)
    for nest in step.body:
        stores = [x for x in nest.statements if isinstance(x, Store)]
        if nest.reduced or len(nest.stages) > 1 or len(stores) != len(nest.statements):
            continue
        own = accesses(nest)
        for x in stores:
            for n in loads([x.value]):
                if not _alike(buffers[n.buffer], buffers[x.buffer]):
                    continue
                both = [index for name in {n.buffer, x.buffer} for index in touched.get(name, ())]
                alone = len(both) == sum(name in (n.buffer, x.buffer) for name, _ in own) and all(i is x.index for i in both)
                if alone and sum(y.buffer == x.buffer for y in stores) == 1:
                    yield n.buffer, x.buffer


def _alike(old: Buffer, new: Buffer) -> bool:
    return replaced(old, name=new.name) == new and new.kind == "computed" and new.device == "cpu"


def _renamed(step: Kernel, old: str, new: str) -> Kernel:
    """The step with one buffer instead of another."""
    memo: dict[Node, Node] = {}
    name = lambda x: new if x == old else x

    def leaf(n: Node) -> Node | None:
        return load(new, n.index, n.dtype) if n.kind == "load" and n.buffer == old else None

    def of(x):
        changed = replaced(x, value=rewrite(x.value, leaf, None, memo))
        return replaced(changed, buffer=name(x.buffer)) if hasattr(x, "buffer") else changed

    body = tuple(Nest(n.dims, tuple(Stage(st.inner, tuple(map(of, st.body))) for st in n.stages)) for n in step.body)
    names = lambda found: tuple(dict.fromkeys(map(name, found)))
    return replaced(step, args=names(step.args), writes=names(step.writes), body=body)
