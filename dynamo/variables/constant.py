"""Constants: values that are known while tracing and cannot change. Their operations are run at once."""

from __future__ import annotations

import enum
import operator
from typing import Any

from dynamo import outcome
from dynamo.graph_break import NotConstant
from dynamo.variables.base import Exhausted, Variable
from dynamo.variables.exception import run_python

PLAIN = (int, float, bool, str, bytes, complex, type(None), type(Ellipsis), type(NotImplemented))


class ConstantVariable(Variable):
    """A number, string, None, enum member, dtype, device …: immutable, its identity does not matter."""

    __slots__ = ("value",)

    def __init__(self, value: Any, source=None):
        super().__init__(source)
        self.value = value

    def __repr__(self):
        return f"ConstantVariable({self.value!r})"

    def python_type(self):
        return type(self.value)

    def as_python(self):
        return self.value

    def describe(self):
        return f"the constant {self.value!r}"

    def truth(self, frame):
        return run_python(frame, bool, self.value)

    def binary(self, frame, op, other):
        if isinstance(other, ConstantVariable):
            return literal(frame, run_python(frame, op, self.value, other.value))
        takes_any = isinstance(self.value, str) and op is operator.mod or op in (operator.eq, operator.ne)
        if takes_any and not isinstance(self.value, PLAIN[:3]) and other.is_constant():
            return literal(frame, run_python(frame, op, self.value, other.as_python()))
        return None

    def unary(self, frame, op):
        return literal(frame, run_python(frame, op, self.value))

    def getattr(self, frame, name):
        value = run_python(frame, getattr, self.value, name)
        if callable(value) and not isinstance(value, type) and not isinstance(self.value, enum.Enum):
            return ConstantMethod(self, name)
        if isinstance(self.value, enum.Enum) and callable(value) and getattr(value, "__self__", None) is self.value:
            from dynamo.variables.function import FunctionVariable, MethodVariable

            return MethodVariable(FunctionVariable(value.__func__), self)
        return literal(frame, value)

    def method(self, frame, name, args, kwargs):
        if isinstance(self.value, enum.Enum):
            return self.getattr(frame, name).call(frame, args, kwargs)
        if isinstance(self.value, str) and name == "format":
            return format_string(frame, self.value, args, kwargs)
        if isinstance(self.value, str) and name == "join":
            return literal(frame, run_python(frame, self.value.join, [a.as_python() for a in args[0].unpack(frame)]))
        try:
            values = [a.as_python() for a in args]
            named = {k: v.as_python() for k, v in kwargs.items()}
        except NotConstant:
            raise self.unsupported(f"method {name} with arguments that are not constants") from None
        method = run_python(frame, getattr, self.value, name)
        return literal(frame, run_python(frame, method, *values, **named))

    def length(self, frame):
        return ConstantVariable(run_python(frame, len, self.value))

    def getitem(self, frame, key):
        return literal(frame, run_python(frame, operator.getitem, self.value, key.as_python()))

    def contains(self, frame, item):
        return ConstantVariable(run_python(frame, operator.contains, self.value, item.as_python()))

    def iterate(self, frame):
        from dynamo.variables.iterator import ItemsIterator

        return ItemsIterator(self.unpack(frame))

    def unpack(self, frame):
        return [literal(frame, v) for v in run_python(frame, list, self.value)]

    def next(self, frame):
        raise Exhausted()

    def is_same(self, other):
        return isinstance(other, ConstantVariable) and (
            self.value is other.value or (type(self.value) is type(other.value) and self.value == other.value)
        )

    def recipe(self, emit):
        return outcome.Const(self.value)


class ConstantMethod(Variable):
    """A bound method of a constant, such as "a,b".split."""

    __slots__ = ("object", "name")

    def __init__(self, object: ConstantVariable, name: str):
        super().__init__()
        self.object = object
        self.name = name

    def python_type(self):
        return type(getattr(self.object.value, self.name))

    def call(self, frame, args, kwargs):
        return self.object.method(frame, self.name, args, kwargs)

    def recipe(self, emit):
        return outcome.GetAttr(outcome.Const(self.object.value), self.name)


def format_string(frame, template: str, args, kwargs) -> Variable:
    """template.format(*args, **kwargs) of constants and symbolic sizes."""
    return literal(
        frame, run_python(frame, template.format, *[plain(a) for a in args], **{k: plain(v) for k, v in kwargs.items()})
    )


def plain(value: Variable) -> Any:
    """The Python value for text: a symbolic size is read (and guarded), other values break the graph."""
    from dynamo.variables.symint import SymbolicVariable

    if isinstance(value, SymbolicVariable):
        return value.specialize()
    try:
        return value.as_python()
    except NotConstant:
        raise value.unsupported("the text") from None


def literal(frame, value: Any) -> Variable:
    """The Variable of a Python value computed while tracing; its contents become Variables too."""
    if isinstance(value, PLAIN):
        return ConstantVariable(value)
    from dynamo.variables import track

    return track.literal(frame, value)


NONE = ConstantVariable(None)
TRUE = ConstantVariable(True)
FALSE = ConstantVariable(False)


def boolean(value: bool) -> ConstantVariable:
    return TRUE if value else FALSE
