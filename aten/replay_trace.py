"""What a call that is to be replayed does, traced: core ops with native kernels, composites that stay whole, and which of them are
recorded for backward. `replay.py` writes programs of it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from aten import _native
from aten._native import Tensor
from aten.autograd.record import record
from aten.derivative import is_lost
from aten.dispatch import needs_of
from aten.fx.graph import Graph
from aten.fx.node import Node, may_raise
from aten.learners import NEVER, whole
from aten.meta import Meta
from aten.op import Op
from aten.transforms.trace import TraceLevel
from aten.transforms.tracer import meta_of_call, opened, public

# Composites with native rules that make views of their argument which are results of one Node.
SEVERAL_VIEWS = frozenset({"split", "chunk", "unbind"})


class NoProgram(Exception):
    """The call is none to be replayed."""


class Later(int):
    """A number that a step will give: it may be handed on, not computed with."""

    node: Any

    def _refuse(self, *others: Any) -> Any:
        raise NoProgram

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __floordiv__ = __mod__ = __and__ = __rshift__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = __bool__ = _refuse  # type: ignore[assignment]
    __hash__ = int.__hash__


class Recorder(TraceLevel):
    """Records what a call of `top` does as ops that native code can call.

    needing: the values that require grad. recorded: which core arguments want a gradient of the Nodes that the call makes; None of
    an op that sees to it itself.
    """

    def __init__(self, graph: Graph, top: Any):
        super().__init__(graph)
        self.top = top
        self.needing: set[Node] = set()
        self.recorded: dict[Node, tuple[Any, ...] | None] = {}

    def handle(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given = [self.payload_of(t) for t in tensors_of(args) if self.own(t)] if op in whole else []
        if any(op is not self.top or node.op != "placeholder" for node in given):
            return self._whole(op, op.join(args, kwargs))
        if op.name in SEVERAL_VIEWS and op is not self.top and _native.is_grad_enabled() and args[0].requires_grad:
            return self._whole(op, op.join(args, kwargs))
        if op.kind == "composite":
            return NotImplemented
        return super().handle(op, args, kwargs)

    def _whole(self, op: Op, args: tuple[Any, ...]) -> Any:
        made = meta_of_call(op, args)
        positional, keywords = op.split(tuple([self.payload_of(a) for a in args]))
        if type(made) is not Meta and op.name not in SEVERAL_VIEWS:
            raise NoProgram
        node = self.graph.create_node("call_function", op, positional, keywords, None, made)
        result = self._results(node, made)
        if _native.is_grad_enabled() and any(t.requires_grad for t in tensors_of(args)):
            self.recorded[node] = None
            for one in result if type(result) is tuple else (result,):
                if one.dtype.is_floating_point or one.dtype.is_complex:
                    self.needing.add(one.payload)
                    self.leaf(one)
        return result

    def _results(self, node: Node, metas: Any) -> Any:
        """The results of a node as Tracers."""
        if type(metas) is not tuple:
            return self.make(node, metas)
        items = [self.graph.create_node("call_function", operator.getitem, (node, i), None, None, m) for i, m in enumerate(metas)]
        return tuple(map(self.make, items, metas))

    def record(self, op: Op, args: tuple[Any, ...], result: Any) -> None:
        super().record(op, args, result)
        needs = needs_of(op, args, self.takes)
        if needs is None or (op.vjp_fn is None and not is_lost(op, result)):
            return
        results = result if type(result) is tuple else (result,)
        self.needing.update(r.payload for r in results if r.requires_grad)
        self.recorded[results[0].payload.args[0] if type(result) is tuple else result.payload] = needs

    def assign(self, target: Any, result: Any) -> None:
        if target.requires_grad or result.requires_grad:
            raise NoProgram  # the history of what is written is kept by eager code alone
        super().assign(target, result)

    def call_function(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any], asked: tuple[Any, ...], place: int) -> Any:
        if any(t.requires_grad for t in tensors_of(args)):
            raise NoProgram
        return NotImplemented

    def payload_of(self, a: Any) -> Any:
        return a.node if type(a) is Later else super().payload_of(a)

    def process(self, op: Op, args: tuple[Any, ...]) -> Any:
        if op.name in NEVER or op.traced_fn is not None or ("dynamic" in op.tags and op.name != "philox_reserve"):
            raise NoProgram
        if op.name == "philox_reserve":
            node = self.graph.create_node("call_function", op, args, {}, None, (None, None))
            numbers = []
            for i in range(2):
                numbers.append(Later(0))
                numbers[i].node = self.graph.create_node("call_function", operator.getitem, (node, i), None, None, None)
            return tuple(numbers)
        needs = needs_of(op, args, self.takes) if _native.is_grad_enabled() else None
        if needs is not None and op.recorded_fn is not None:
            with opened(self):
                return op.recorded_fn(*args)
        if op.kernel_fn is None and op.decompose_fn is not None and op.anywhere_fn is None:
            if needs is not None and op.vjp_fn is not None:
                return public(op, self._made_apart(op, args))
            with opened(self):
                return op.decompose_fn(*args)
        return super().process(op, args)

    def _made_apart(self, op: Op, args: tuple[Any, ...]) -> Any:
        """The result of an op's decomposition, of which only the op is recorded."""
        before = _native.set_grad_enabled(False)
        try:
            with opened(self):
                result = op.decompose_fn(*args)
        finally:
            _native.set_grad_enabled(before)
        results = result if type(result) is tuple else (result,)
        values = [self.payload_of(r) for r in results if self.own(r)]
        if len(values) != len(results) or any(v.op != "call_function" for v in values):
            raise NoProgram
        metas = tuple([r.meta for r in results])
        given = (op, *map(self.payload_of, args), tuple(values) if type(result) is tuple else values[0])
        meta: Any = metas if type(result) is tuple else metas[0]
        result = self._results(self.graph.create_node("call_function", as_recorded, given, {}, None, meta), meta)
        self.record(op, args, result)
        return result


def as_recorded(op: Op, *values: Any) -> Any:
    """The last of the values, results of steps that recorded nothing, as those of the op with the others as arguments."""
    return values[-1]


def record_values(op: Op, needs: tuple[Any, ...], *values: Any) -> Any:
    record(op, values[:-1], values[-1], needs)
    return values[-1]


def traced(top: Any, function: Callable[[Sequence[Any]], Any], tensors: Sequence[Tensor]) -> tuple[Recorder, Any]:
    """function(tensors), recorded, and its result, in Nodes."""
    graph = Graph()
    level = Recorder(graph, top)
    recording = _native.is_grad_enabled() and any(t.requires_grad for t in tensors)
    inputs = [level.placeholder(f"arg{i}", Meta.of(t.detach()), recording and t.requires_grad) for i, t in enumerate(tensors)]
    level.needing.update(t.payload for t in inputs if t.requires_grad)
    _native.asked_for_tracer()
    before = _native.set_grad_enabled(recording)
    try:
        with opened(level):
            result = function(inputs)
        if _native.asked_for_tracer():
            raise NoProgram
        for t in inputs:
            if t._version:
                raise NoProgram
        leave = _leaver(level)
        result = leave(result)
    finally:
        _native.set_grad_enabled(before)
    graph.constants = level.constants  # type: ignore[attr-defined]
    graph.output(nodes_of(result))
    if any(may_raise(node) and not node.users for node in graph.nodes):  # a check: a program has but what its result is made of
        raise NoProgram
    graph.eliminate_dead_code()
    return level, result


def _leaver(level: Recorder) -> Callable[[Any], Any]:
    def leave(value: Any) -> Any:
        if isinstance(value, Tensor):
            payload = level.payload_of(value)
            if value.requires_grad and payload not in level.needing:  # it was told to
                raise NoProgram
            return payload
        if type(value) in (list, tuple):
            return type(value)(map(leave, value))
        if isinstance(value, tuple) and hasattr(value, "_make"):
            return value._make(map(leave, value))
        if value is None:
            return None
        raise NoProgram

    return leave


def nodes_of(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(map(nodes_of, value))
    return value


def tensors_of(values: Any) -> list[Tensor]:
    found: list[Tensor] = []
    for v in values:
        if isinstance(v, Tensor):
            found.append(v)
        elif isinstance(v, (list, tuple)):
            found += tensors_of(v)
    return found


__all__ = ["SEVERAL_VIEWS", "Later", "NoProgram", "Recorder", "as_recorded", "nodes_of", "record_values", "tensors_of", "traced"]
