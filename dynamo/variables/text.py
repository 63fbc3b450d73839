"""str(), repr() and format() of values that are known while tracing."""

from __future__ import annotations

import collections
from typing import Any

from dynamo.breaks import NotConstant
from dynamo.real_objects import class_module
from dynamo.variables.base import Variable
from dynamo.variables.constant import ConstantVariable
from dynamo.variables.mapping import DictVariable
from dynamo.variables.native_part import Part
from dynamo.variables.object import ObjectVariable
from dynamo.variables.raising import raise_exception, run_python
from dynamo.variables.sequence import ListVariable, SizeVariable, TupleVariable
from dynamo.variables.sets import SetVariable
from dynamo.variables.symint import SymbolicVariable


def text(frame, value: Variable, function=str) -> str:
    """function(value) for str, repr or ascii; a symbolic size is read and guarded."""
    if not isinstance(value, ObjectVariable):
        return run_python(frame, function, as_python(frame, value, shown=True))
    name = "__str__" if function is str else "__repr__"
    result = value.required(frame, name, f"has no {name}").call(frame, [], {})
    if not issubclass(result.python_type(), str):
        found = result.type_name()
        raise raise_exception(frame, TypeError, f"{name} returned non-string (type {found})")
    shown = result.as_python()
    return run_python(frame, ascii_of, shown) if function is ascii else shown


def ascii_of(shown: str) -> str:
    """ascii(x), where repr(x) is `shown`."""
    return shown.encode("ascii", "backslashreplace").decode()


def formatted(frame, value: Variable, spec: str) -> str:
    """format(value, spec)."""
    if not isinstance(value, ObjectVariable):
        return run_python(frame, format, as_python(frame, value, shown=not spec), spec)
    method = value.required(frame, "__format__", "has no __format__")
    result = method.call(frame, [ConstantVariable(spec)], {})
    if not issubclass(result.python_type(), str):
        text = f"__format__ must return a str, not {result.type_name()}"
        raise raise_exception(frame, TypeError, text)
    return result.as_python()


def named(value: Variable, real: Any) -> Any:
    """The container with which an object of a subclass begins: C shows it under the name of the subclass."""
    if not isinstance(value, Part) or type(real) in (dict, list):
        return real
    same_name: Any = type(value.owner.type_name(), (type(real),), {})
    if isinstance(real, collections.defaultdict):
        return same_name(real.default_factory, real)
    return same_name(real, real.maxlen) if isinstance(real, collections.deque) else same_name(real)


class Shown:
    """An object inside a container whose text is asked for."""

    __slots__ = ("frame", "value")

    def __init__(self, frame, value: Variable):
        self.frame = frame
        self.value = value

    def __repr__(self) -> str:
        return text(self.frame, self.value, repr)


# Methods that C asks an object of a subclass for, to show what is in it.
SHOWN_BY: dict[type, str] = {
    **dict.fromkeys((set, frozenset, collections.deque), "__iter__"),
    collections.OrderedDict: "items",
}


def as_python(frame, value: Variable, shown: bool = False) -> Any:
    """A Python object whose text is that of the value at run time. `shown`: nothing but the text of it counts."""
    if isinstance(value, SymbolicVariable):
        return value.specialize()
    if isinstance(value, Part) and (asked := SHOWN_BY.get(value.base)) is not None:
        if frame.world.on_class(value.owner.python_type(), asked) is not frame.world.on_class(value.base, asked):
            raise value.owner.unsupported("the text")
    if shown and isinstance(value, ObjectVariable):
        return Shown(frame, value)
    if isinstance(value, (ListVariable, SizeVariable)) or type(value) is TupleVariable:
        return named(value, value.real_of([as_python(frame, v, shown) for v in value.unpack(frame)]))
    if isinstance(value, DictVariable):
        pairs = [(as_python(frame, k, shown), as_python(frame, v, shown)) for k, v in value.pairs(frame)]
        return named(value, value.real_of(pairs))
    if isinstance(value, SetVariable):
        return named(value, value.real_of([as_python(frame, v, shown) for v in value.unpack(frame)]))
    if isinstance(value, ObjectVariable) and class_module(value.cls) == "typing":
        return value.as_typing()
    if isinstance(value, (frame.values.CallableVariable, frame.values.ModuleVariable)):
        cls = value.python_type()
        if not (frame.world.is_immutable(cls) or frame.world.is_library(cls)):  # a class of the program: it says what is shown
            raise value.unsupported("the text")
    try:
        return value.as_python()
    except NotConstant:
        raise value.unsupported("the text") from None
