"""inspect.signature, asked for real: what a function takes is known while tracing."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any

from dynamo import breaks, trace_rules
from dynamo.breaks import NotConstant, Unsupported
from dynamo.source import Attr
from dynamo.variables.base import Variable
from dynamo.variables.function import ClosureVariable, FunctionVariable, MethodVariable
from dynamo.variables.raising import run_python


@trace_rules.handle(inspect.signature)
def signature(frame, args, kwargs):
    if len(args) != 1 or kwargs:
        raise Unsupported(breaks.UNKNOWN_CALL, "inspect.signature with options")
    found = run_python(frame, inspect.signature, stand_in(frame, args[0]))
    return frame.world.known(frame.output.kept(found))


def stand_in(frame, value: Variable) -> Callable:
    """A real callable that takes what `value` takes; what it was read from is guarded."""
    if isinstance(value, FunctionVariable):
        look_at(frame, value)
        return value.as_python()
    if isinstance(value, ClosureVariable):
        return made_like(frame, value)
    if isinstance(value, MethodVariable):
        return types.MethodType(stand_in(frame, value.function), object())
    if isinstance(value, frame.values.ClassVariable) and type(value.value) is type:
        for name in ("__new__", "__init__", "__signature__"):
            found = frame.world.on_class(value.value, name)
            if isinstance(found, types.FunctionType):
                look_at(frame, frame.world.wrap(found, frame.world.class_source(value.value, name)))
        return value.value
    raise Unsupported(breaks.UNKNOWN_CALL, f"inspect.signature of {value.describe()}")


def look_at(frame, value: Variable) -> None:
    """Guard what the signature of a function from outside is read from."""
    if not isinstance(value, FunctionVariable):
        raise Unsupported(breaks.UNKNOWN_CALL, f"inspect.signature, which asks {value.describe()}")
    frame.world.code(value.function, value.source)
    for part in ("__defaults__", "__kwdefaults__"):
        if value.told(frame, part) is not None:
            raise Unsupported(breaks.UNKNOWN_CALL, f"inspect.signature after a change of {part}")
    annotations = run_python(frame, getattr, value.function, "__annotations__")
    shown = [*value.defaults(frame), *value.kwdefaults(frame).values()]
    shown += frame.world.items(annotations, Attr(value.source, "__annotations__"))
    for v in shown:
        frame.world.same(v.source, v.value)  # type: ignore[attr-defined]
    for name in ("__signature__", "__wrapped__"):
        inner = frame.world.own_attribute(value.function, value.source, name)
        if inner is not None:
            look_at(frame, inner)


def made_like(frame, value: ClosureVariable) -> types.FunctionType:
    """A function with the signature of one made while tracing."""
    try:
        defaults = tuple(v.as_python() for v in value.default_values)
        kwdefaults: Any = {k: v.as_python() for k, v in value.kwdefault_values.items()} or None
        annotations = value.getattr(frame, "__annotations__")
        pairs = {k.as_python(): v.as_python() for k, v in annotations.pairs(frame)}  # type: ignore[attr-defined]
    except NotConstant as e:
        raise Unsupported(breaks.UNKNOWN_CALL, f"inspect.signature with {e.args[0].describe()} in it") from None
    cells = tuple(types.CellType() for _ in value.cell_list)
    made = types.FunctionType(value.code, value.globals, value.code.co_name, defaults, cells)
    made.__kwdefaults__, made.__annotations__ = kwdefaults, pairs
    return made
