"""Calls that stand in the graph as they are: what `allow_in_graph` asks for."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

from aten import overrides, pytree
from aten._native import Tensor
from aten.fx.graph import Graph
from aten.meta import Meta
from aten.transforms.trace import TraceLevel
from aten.transforms.tracer import Tracer, opened
from dynamo import breaks, on_demand
from dynamo.breaks import NotConstant, Unsupported
from dynamo.variables.object import ObjectVariable
from dynamo.variables.tensor import wrap_result


class Taken(NamedTuple):
    """A dataclass among the arguments, taken apart: its class, and the number of its leaf for each field."""

    cls: type
    fields: dict[str, Any]


class CallOfObjects:
    """fn, with arguments that are dataclasses made of what the graph gives."""

    def __init__(self, fn: Callable, args: list, kwargs: dict):
        self.fn, self.args, self.kwargs = fn, args, kwargs
        self.__name__ = fn.__name__

    def __call__(self, *leaves: Any) -> Any:
        def made(part: Any) -> Any:
            if not isinstance(part, Taken):
                return leaves[part]
            result = object.__new__(part.cls)  # as it is, not by its constructor
            for name, value in part.fields.items():
                object.__setattr__(result, name, made(value))
            return result

        return self.fn(*map(made, self.args), **{k: made(v) for k, v in self.kwargs.items()})


def taken_apart(frame: Any, fn: Callable, args: list, kwargs: dict) -> tuple[CallOfObjects, list]:
    """The call as one of leaves."""
    leaves: list[Any] = []

    def part(v: Any) -> Any:
        v = v.realize(frame)
        if v.is_constant() or not dataclasses.is_dataclass(v.python_type()):
            leaves.append(v)
            return len(leaves) - 1
        cls = v.python_type()
        return Taken(cls, {f.name: part(v.getattr(frame, f.name)) for f in dataclasses.fields(cls)})

    return CallOfObjects(fn, [part(a) for a in args], {k: part(v) for k, v in kwargs.items()}), leaves


def is_object(frame: Any, v: Any) -> bool:
    v = v.realize(frame)
    return isinstance(v, ObjectVariable) and dataclasses.is_dataclass(v.python_type())


def record_call(frame: Any, fn: Callable, args: list, kwargs: dict) -> Any:
    """One node that calls fn(*args, **kwargs), which is not looked into; run on stand-ins, to know what it returns."""
    if frame.is_caught():
        from dynamo import caught  # (what few programs ask for)

        caught.refuse_call(frame, fn.__name__)
    if any(is_object(frame, v) for v in (*args, *kwargs.values())):
        call, leaves = taken_apart(frame, fn, args, kwargs)
        return record_call(frame, call, leaves, {})
    try:
        given = [a.as_arg() for a in args], {k: v.as_arg() for k, v in kwargs.items()}
        metas = [a.as_meta() for a in args], {k: v.as_meta() for k, v in kwargs.items()}
    except NotConstant as e:
        raise Unsupported(breaks.UNKNOWN_CALL, f"{fn.__name__} of {e.args[0].describe()}") from None
    val = result_of(fn, *metas, grad=frame.output.grad_enabled)
    output = frame.output
    output.graph.line = output.user_line()
    output.recorded = True
    if isinstance(val, Tensor) and not is_wrapper(val) or any(isinstance(x, Tensor) for x in pytree.leaves(val) if x is not val):
        raise Unsupported(breaks.UNKNOWN_VALUE, f"a tensor from outside, or several made of others, which {fn.__name__} gives")
    if isinstance(val, Tensor):
        return on_demand.import_part("wrapper").given_by(frame, fn, given, val)
    node = output.graph.call_function(fn, tuple(given[0]), given[1], val=val)
    output.note_modes(node)
    return wrap_result(frame, node, val)


def is_wrapper(value: Any) -> bool:
    return bool(overrides.kind_of(type(value)) & overrides.DISPATCH)


def result_of(fn: Callable, args: Any, kwargs: Any, grad: bool) -> Any:
    """What fn returns for tensors of these Metas: the same structure, of Metas."""
    level = TraceLevel(Graph(), functionalize=False)
    leaves, spec = pytree.flatten((args, kwargs))
    needs = grad and any(m.requires_grad for m in leaves if type(m) is Meta)
    inputs = [level.placeholder(f"a{i}", m) if type(m) is Meta else m for i, m in enumerate(leaves)]
    with opened(level):
        args, kwargs = pytree.unflatten(inputs, spec)
        result = fn(*args, **kwargs)

    def meta_of(x: Any) -> Any:
        if not isinstance(x, Tracer):
            return x
        meta = x.meta
        floating = meta.dtype.is_floating_point or meta.dtype.is_complex
        return Meta(meta.dtype, meta.device, meta.sizes, meta.strides, meta.offset, needs and floating)

    found, shape = pytree.flatten(result)
    return pytree.unflatten(list(map(meta_of, found)), shape)
