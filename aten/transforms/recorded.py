"""What levels that differentiate share: the Nodes of the ordinary backward walk for the ops that they run.

A Tracer of such a level has a `grad_fn` as any tensor has one, and aten/native/engine.cpp walks the Nodes with hooks, sums and
checks as it does elsewhere. What is the level's own is said here: which Node belongs to a payload (tensors that are written get
new payloads, and views are made again from them), and what a Node keeps instead of a Tracer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aten import _native
from aten._native import Tensor
from aten.autograd import engine, function
from aten.autograd.function import Function, FunctionCtx
from aten.autograd.record import Backward
from aten.derivative import is_lost
from aten.dispatch import needs_of
from aten.meta import Meta
from aten.op import Op, node_name, registry
from aten.transforms.tracer import Level, Tracer, writes_of

Edge = tuple[Any, int]


class Kept:
    """A Tracer as a Node keeps it: what it was then, and how often it had been written."""

    __slots__ = ("payload", "meta", "version", "writes")

    def __init__(self, payload: Any, tracer: Tracer):
        self.payload, self.meta, self.writes = payload, tracer.meta, writes_of(tracer)
        self.version = self.writes.count

    def written(self) -> int:
        """How often it was written since."""
        return self.writes.count - self.version


class LevelBackward(Backward):
    """The backward of an op that a level recorded."""

    __slots__ = ("level", "line")

    def __init__(self, plan: Any, several: bool, level: RecordingLevel):
        super().__init__(plan, several)
        self.level, self.line = level, level.line

    def __call__(self, node: Any, grads: tuple) -> tuple:
        level = self.level
        level.at(self.line)
        saved = level.all_kept(node.saved, node) if self.plan.names else ()
        return level.derive(self, grads if self.several else grads[0], saved)

    def shown(self, node: Any) -> tuple:
        return self.level.tensors(node.saved, node)


class _Call:
    """The context of a Function's call, with the values that it saw and the tensors of the level that these stood for."""

    __slots__ = ("ctx", "values", "seen")

    def __init__(self, ctx: FunctionCtx, values: Sequence[Any] = (), seen: Sequence[Any] = ()):
        self.ctx, self.values, self.seen = ctx, values, seen


class FunctionBackward:
    """The backward of an autograd.Function that a level recorded. places: which output of the Node each of its outputs is."""

    __slots__ = ("level", "line", "cls", "places", "count")

    def __init__(self, level: RecordingLevel, cls: type[Function], places: dict[int, int], count: int):
        self.level, self.line, self.cls, self.places, self.count = level, level.line, cls, places, count

    def __call__(self, node: Any, grads: tuple) -> tuple:
        self.level.at(self.line)
        (call,) = node.saved
        places, ctx = self.places, self.level.context(call, node)
        given = tuple([grads[places[i]] if i in places else None for i in range(self.count)])

        def zeros(i: int) -> Tensor | None:
            if i not in places:
                return None
            sizes, dtype, device = node.metas[places[i]]
            return registry["zeros"](list(sizes), dtype=dtype, device=device)

        return function.for_tensors(self.cls, call.ctx, function.gradients(self.cls, ctx, given, zeros))


class RecordingLevel(Level):
    """A level whose Tracers have a history: `edge_of(payload)` and `set_edge` keep it."""

    differentiates = True
    line: Any = None  # of the program, noted with what is recorded

    def edge_of(self, payload: Any) -> Edge | None:
        """Where a gradient of the payload goes; None if nowhere."""
        raise NotImplementedError

    def set_edge(self, payload: Any, edge: Edge | None) -> None:
        raise NotImplementedError

    def kept(self, saved: Kept, node: Any) -> Tensor:
        """What a Node computes with, of what it kept."""
        return self.make(saved.payload, saved.meta)

    def all_kept(self, saved: Any, node: Any) -> Any:
        """The values that a Node kept, in tuples and lists."""
        if isinstance(saved, Kept):
            return self.kept(saved, node)
        return type(saved)([self.all_kept(s, node) for s in saved]) if type(saved) in (tuple, list) else saved

    def tensors(self, saved: Any, node: Any) -> Any:
        """The same as tensors of this level."""
        return self.all_kept(saved, node)

    def derive(self, backward: Backward, g: Any, saved: tuple) -> tuple:
        """The gradients of an op, from that of its result."""
        return tuple(backward.plan.gradients(g, saved))

    def context(self, call: _Call, node: Any) -> FunctionCtx:
        """What a Function's `backward` is given."""
        return call.ctx

    def at(self, line: Any) -> None:
        """Called before a Node runs that was recorded with that line."""

    def takes(self, value: Any) -> bool:
        """Whether gradients of the value are this level's business, if it requires any."""
        return self.own(value)

    # ------------------------------------------------------------------------------------ tracers

    def make(self, payload: Any, meta: Meta, requires_grad: bool = False) -> Tracer:
        t = super().make(payload, meta, requires_grad)
        edge = self.edge_of(payload)
        if edge is not None:
            t._grad_fn = edge
        return t

    def moved(self, t: Tracer) -> None:
        edge = self.edge_of(t.payload)
        if edge is None or getattr(edge[0], "variable", None) is not t:
            t._grad_fn = edge

    def replaced(self, old: Any, new: Any) -> None:
        if not _native.is_grad_enabled():  # a write that is not recorded: the history is as it was
            self.set_edge(new, self.edge_of(old))

    def forget(self, t: Tracer) -> None:
        plain = registry["detach"](t)
        t.payload = self.read(plain)
        t.cell, t.chain, t.generation, t.writes, t._grad_fn = None, (), 0, None, None

    def gradients(self, outputs: Sequence[tuple[Any, Tensor]], inputs: Sequence[Any], create_graph: bool) -> list[Any]:
        """Gradients of payloads, where (payload, gradient) are those of outputs; None where there is no dependence."""
        known = [(edge, g) for edge, g in ((self.edge_of(p), g) for p, g in outputs) if edge is not None]
        asked = [self.edge_of(p) for p in inputs]
        wanted = tuple([edge for edge in asked if edge is not None])
        if not known or not wanted:
            return [None] * len(asked)
        edges, seeds = zip(*known)
        found = iter(engine.walk(edges, seeds, True, create_graph, wanted, False, _native.run_backward))
        return [None if edge is None else next(found) for edge in asked]

    # ------------------------------------------------------------------------------------ what is recorded

    def keep(self, value: Any, outputs: tuple) -> Any:
        """What a Node with these outputs keeps of a value."""
        if type(value) in (tuple, list):
            return type(value)([self.keep(v, outputs) for v in value])
        return Kept(self.read(value), value) if self.own(value) else value

    def record(self, op: Op, args: tuple, result: Any) -> None:
        """Make a Node for `result = op(*args)` if an argument requires grad: Tracers of this level, whose payloads were read."""
        if op.vjp_fn is None and not is_lost(op, result):
            return
        needs = needs_of(op, args, self.takes)
        if needs is None:
            return
        plan = op.plan(needs)
        outputs = result if isinstance(result, tuple) else (result,)
        inputs = tuple([x if self.takes(x) else None for x in plan.inputs(args)])
        saved = tuple([self.keep(s, outputs) for s in plan.save(args, result)])
        self.note(node_name(op.name), LevelBackward(plan, isinstance(result, tuple), self), inputs, outputs, saved)

    def note(self, name: str, backward: Callable, inputs: tuple, outputs: tuple, saved: tuple) -> None:
        """Make a Node, and remember that the outputs' payloads came from it."""
        _native.record(name, backward, inputs, outputs, saved)
        for o in outputs:
            if o.requires_grad:
                self.set_edge(o.payload, _native.gradient_edge(o))

    def record_function(
        self, cls: type[Function], ctx: FunctionCtx, args: tuple, values: tuple, results: tuple, outputs: tuple
    ) -> None:
        """Make a Node for a Function's call: with `values` it gave `results`, which are `outputs` here, those of `args`."""
        places = {i: nr for nr, i in enumerate([i for i, o in enumerate(outputs) if isinstance(o, Tensor)])}
        made = tuple([outputs[i] for i in places])
        inputs = tuple([a if self.takes(a) else None for a in function.tensors_of(ctx, args)])
        given = [None if any(v is d for d in ctx._dirty) else a for v, a in zip(values, args)]
        seen = tuple([self.keep(x, made) for x in (*given, *outputs)])
        call = _Call(ctx, (*values, *results), seen)
        backward = FunctionBackward(self, cls, places, len(outputs))
        constant = [o for o, r in zip(outputs, results) if any(r is n for n in ctx._non_differentiable)]
        _native.record(f"{cls.__name__}GeneratedBackward", backward, inputs, made, (call,))
        for o in made:
            if any(o is c for c in constant):
                o._grad_fn = None
            elif o.requires_grad:
                self.set_edge(o.payload, _native.gradient_edge(o))


__all__ = ["Edge", "Kept", "RecordingLevel"]
