"""Calls of users' custom ops in compiled code: one node, which also stands for what the op writes."""

from __future__ import annotations

from typing import Any

from aten.declared_ops import DeclaredOp, Overloads
from aten.library import CustomOp, meets
from dynamo import breaks, higher_order, trace_rules
from dynamo.breaks import Unsupported
from dynamo.recording import check_target
from dynamo.variables.base import Variable
from dynamo.variables.constant import ConstantVariable
from dynamo.variables.exception import raise_exception
from dynamo.variables.tensor import TensorVariable


@trace_rules.handle(CustomOp.__call__)
def _call(frame: Any, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
    custom = args[0].realize(frame).example()
    frame.world.same(args[0].source, custom) if args[0].source is not None else None
    return call(frame, custom, list(args[1:]), kwargs)


@trace_rules.handle(DeclaredOp.__call__)
def _declared(frame: Any, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
    custom = args[0].realize(frame).example()
    frame.world.same(args[0].source, custom) if args[0].source is not None else None
    if custom.definition is not None and not custom.has_kernel:
        return frame.world.known(custom.definition).call(frame, list(args[1:]), kwargs)
    if custom.with_gradients is not None:
        raise Unsupported(breaks.UNKNOWN_CALL, f"{custom.name}, whose derivative is a function of its own")
    return call(frame, custom, list(args[1:]), kwargs)


def call(frame: Any, custom: CustomOp, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
    """The results, and what is written is known to be."""
    output = frame.output
    if custom.writer is None:
        result = output.record(frame, custom.op, args, kwargs)
        return _nested(frame, custom, result) if custom._nested else result
    if frame.is_caught():
        from dynamo import caught  # (what few programs ask for)

        caught.refuse_call(frame, custom.name)
    schema = custom.writer.schema
    named = {**dict(zip((p.name for p in schema.params), args)), **kwargs}
    written = [v for i in custom.mutates for v in _tensors(frame, named.get(schema.params[i].name))]
    for v in written:
        check_target(output, frame, custom.writer, [v], {})
    shared = _shares_what_it_writes(frame, written, [t for v in named.values() for t in _tensors(frame, v)])
    result = output.record(frame, custom.writer, args, kwargs)
    if shared:
        next(n for n in reversed(output.graph.nodes) if n.target is custom.writer).meta["whole"] = True
    for v in written:
        v.known = v.root.known = None
        if v.root.source is not None:
            output.mutated.add(v.root)
    return result


def _shares_what_it_writes(frame: Any, written: list[TensorVariable], given: list[TensorVariable]) -> bool:
    """Whether a call shows the op some of what it writes twice: no function without effects is that, so it runs as it is."""
    def twice(v: TensorVariable) -> bool:
        same = [t for t in given if t.root is v.root]
        return sum(t is v for t in same) > 1 or any(t is not v and meets(t.meta, v.meta) for t in same)

    shared = any(map(twice, written))
    if shared and frame.output.graph is not frame.output.frame_graph:
        raise Unsupported(breaks.UNKNOWN_CALL, "an op that writes what another argument shows, in a function of control flow")
    return shared


def _tensors(frame: Any, given: Variable | None) -> list[TensorVariable]:
    """The tensors of an argument: one, several, or None."""
    given = None if given is None else given.realize(frame)
    if given is None or given.is_same(frame.values.NONE):
        return []
    if isinstance(given, TensorVariable):
        return [given]
    return [v for v in map(lambda v: v.realize(frame), given.unpack(frame)) if isinstance(v, TensorVariable)]


def _nested(frame: Any, custom: CustomOp, result: Variable) -> Variable:
    """The tensors nested, beside numbers, as the shape rule said."""
    spec, numbers, is_tensor = custom._spec
    rest = iter(result.unpack(frame))
    leaves = [next(rest) if t else ConstantVariable(n) for t, n in zip(is_tensor, numbers)]
    return higher_order.unflatten(frame, leaves, spec)


@trace_rules.handle(Overloads.__call__)
def _overloads(frame: Any, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
    """The first overload that takes the arguments."""
    overloads = args[0].realize(frame).example()
    metas = [v.realize(frame).as_meta() for v in args[1:]], {k: v.realize(frame).as_meta() for k, v in kwargs.items()}
    try:
        found = overloads.found(*metas)
    except TypeError as e:
        raise raise_exception(frame, TypeError, str(e)) from e
    return frame.world.known(found).call(frame, list(args[1:]), kwargs)
