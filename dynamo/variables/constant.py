"""Constants: values that are known while tracing and cannot change. Their operations are run at once."""

from __future__ import annotations

import _operator as operator
import enum
import types
from typing import Any

import numpy as np

from aten.scalar.unpatched import math
from dynamo import breaks, outcome
from dynamo.breaks import NotConstant, Raised, Unsupported
from dynamo.operators import ROWS
from dynamo.source import Local
from dynamo.variables import attributes
from dynamo.variables.base import Variable
from dynamo.variables.raising import run_python

PLAIN = (int, float, bool, str, bytes, complex, type(None), type(Ellipsis), type(NotImplemented))
PLAIN_IDS = frozenset(map(id, PLAIN))  # (to be asked for a class by: a metaclass may define `__eq__`)
NUMBERS = (int, float, bool, complex)  # Python's own
MANY_OF_ONE_VALUE = (int, float, str, bytes, complex)  # types of which objects of one value may be several
TOO_MANY = 1 << 20  # items of a range for a list of them
ENTERED = ("__enter__", "__exit__")  # of a context manager: they have effects, so they are traced
C_BOUND = (types.BuiltinMethodType, types.MethodWrapperType)
UNSETTABLE = (types.FunctionType, staticmethod, classmethod)
ENUM_FIELDS = {"value": "_value_", "name": "_name_", "_value_": "_value_", "_name_": "_name_"}
# What list[int] and the like answer themselves (CPython's Objects/genericaliasobject.c).
OF_ALIASES = frozenset(
    """__class__ __bases__ __origin__ __args__ __unpacked__ __parameters__ __typing_unpacked_tuple_args__ __mro_entries__
    __reduce_ex__ __reduce__ __copy__ __deepcopy__""".split()
)


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

    def as_arg(self):
        if isinstance(self.value, enum.Enum) and isinstance(self.value, int):  # (nodes are written down as text)
            return int.__int__(self.value)
        return self.value

    def as_meta(self):
        return self.as_arg()

    def describe(self):
        return f"the constant {self.value!r}"

    def truth(self, frame):
        return run_python(frame, bool, self.value)

    # --------------------------------------------------------------------------------------- operators
    def binary(self, frame, op, other):
        if isinstance(other, ConstantVariable):
            if hasattr(self, "owner") or hasattr(other, "owner"):
                return self.binary_of_parts(frame, ROWS[op].dunder, other)
            return frame.values.literal(frame, run_python(frame, op, self.value, other.value))
        if isinstance(other, frame.values.SymbolicVariable) and type(self.value) in NUMBERS:
            return other.of_constant(frame, ROWS[op].function, self, False)
        native = getattr(other, "native", None)  # of an object of a subclass of a builtin: what its base in C sees
        shown = isinstance(self.value, (str, bytes)) and ROWS[op].function is operator.mod
        if isinstance(native, ConstantVariable) and not shown:
            return self.binary(frame, op, native)
        function = ROWS[op].function
        if isinstance(self.value, (str, bytes)):
            if function is operator.mod:
                return frame.values.literal(frame, run_python(frame, op, self.value, frame.ops.real(frame, other)))
            if function is operator.mul and not frame.world.lacks(other.python_type(), "__index__"):
                times = frame.ops.index(frame, other)
                return frame.values.literal(frame, run_python(frame, op, self.value, times))
            return None
        if isinstance(self.value, frozenset):
            return frame.values.as_set(frame, self).binary(frame, op, other)
        if op in (operator.eq, operator.ne) and not isinstance(self.value, PLAIN) and other.is_constant():
            result = run_python(frame, getattr(self.value, ROWS[op].dunder), other.as_python())
            return None if result is NotImplemented else frame.values.literal(frame, result)
        return None if self.knows_numbers(frame, ROWS[op].dunder, other) else super().binary(frame, op, other)

    def binary_of_parts(self, frame, name: str, other: ConstantVariable) -> Variable | None:
        """An operator where the value of either side lies in an object of a subclass, which errors name: whoever applied it
        says what was refused."""
        method = getattr(type(self.value), name, None)
        if isinstance(self.value, np.generic) and method is not None:  # (which takes no subclass for the number that it is)
            result = run_python(frame, method, self.value, other.example())
            return None if result is NotImplemented else frame.values.literal(frame, result)
        try:
            result = NotImplemented if method is None else run_python(frame, method, self.value, other.value)
        except Raised as raised:
            if not issubclass(raised.value.python_type(), TypeError):
                raise
            result = NotImplemented
        return None if result is NotImplemented else frame.values.literal(frame, result)

    def reflected(self, frame, op, other):
        if isinstance(other, frame.values.SymbolicVariable) and type(self.value) in NUMBERS:
            return other.of_constant(frame, op, self, True)
        other_part = getattr(other, "native", other)
        if isinstance(other_part, ConstantVariable) and (hasattr(self, "owner") or hasattr(other_part, "owner")):
            return self.binary_of_parts(frame, ROWS[op].reflected, other_part)
        if isinstance(self.value, (str, bytes)) and op is operator.mul:
            return self.binary(frame, op, other)
        if isinstance(self.value, (str, bytes, frozenset)):
            return None
        return None if self.knows_numbers(frame, ROWS[op].reflected, other) else super().reflected(frame, op, other)

    def knows_numbers(self, frame, name: str, other: Variable) -> bool:
        """Whether the operators of C of a number certainly do not know `other`, which is no constant."""
        if isinstance(frame.world.on_class(type(self.value), name), types.FunctionType):  # of an enum, say
            return False
        if hasattr(self.value, "__array_priority__"):  # a NumPy scalar makes an array of what it does not know
            return other.is_array_like
        return isinstance(self.value, (int, float, complex, range, type(None)))

    def unary(self, frame, op):
        return frame.values.literal(frame, run_python(frame, op, self.value))

    # ----------------------------------------------------------------------------- attributes, methods
    def getattr(self, frame, name):
        if isinstance(self.value, enum.Enum) and name in ENUM_FIELDS:
            return frame.world.enum_field(self.value, ENUM_FIELDS[name])
        if isinstance(self.value, enum.Enum):
            if name == "__dict__":
                raise self.unsupported("attribute __dict__")
            found = attributes.find(frame, type(self.value), name)
            if found is None or isinstance(found.raw, UNSETTABLE):  # (a member's own attribute hides a method)
                own = frame.world.own_attribute(self.value, frame.world.identity(self.value), name)
                if own is not None:
                    return own
            if found is not None and not isinstance(found.raw, (*attributes.C_METHODS, *attributes.MEMBERS, enum.property)):
                return attributes.bind(frame, found, self, frame.world.known(type(self.value)))
        if type(self.value) is types.GenericAlias and name not in OF_ALIASES:  # its class is asked, which may change
            return frame.world.known(self.value.__origin__).getattr(frame, name)
        value = run_python(frame, getattr, self.value, name)
        if name in ENTERED and isinstance(value, types.MethodType):
            return frame.values.method(frame.world.known(value.__func__), self)
        if callable(value) and not isinstance(value, type) and not isinstance(self.value, enum.Enum):
            return ConstantMethod(self, name)
        if isinstance(value, C_BOUND) and value.__self__ is self.value:
            return ConstantMethod(self, name)
        if isinstance(value, types.MethodType) and isinstance(self.value, enum.Enum) and value.__self__ is self.value:
            return frame.values.method(frame.world.known(value.__func__), self)
        return frame.values.literal(frame, value)

    def method(self, frame, name, args, kwargs):
        return self.asked(frame, name, args, kwargs)

    def asked(self, frame, name, args, kwargs, loaded=None):
        """self.name(*args, **kwargs). `loaded`: the method of C that loading it to be called leaves, which is not bound."""
        if isinstance(self.value, enum.Enum) or name in ENTERED:
            found = self.getattr(frame, name)
            if not isinstance(found, ConstantMethod):
                return found.call(frame, args, kwargs)
        if name in self.rules and not all(isinstance(a, ConstantVariable) for a in args):
            return super().method(frame, name, args, kwargs)
        if name == "join" and len(args) == 1 and not kwargs:
            args = [frame.values.tuple_(joined(frame, args[0]))]
        values = [frame.ops.real(frame, a) for a in args]
        named = {k: frame.ops.real(frame, v) for k, v in kwargs.items()}
        if loaded is not None:
            return frame.values.literal(frame, run_python(frame, loaded, self.value, *values, **named))
        method = run_python(frame, getattr, self.value, name)
        return frame.values.literal(frame, run_python(frame, method, *values, **named))

    def c_call(self, frame, descriptor, args, kwargs):
        owner, cls = descriptor.__objclass__, type(self.value)
        if owner is object or frame.world.on_class(cls, descriptor.__name__) is descriptor:
            return super().c_call(frame, descriptor, args, kwargs)
        values = [frame.ops.real(frame, a) for a in args]
        return frame.values.literal(frame, run_python(frame, descriptor, self.value, *values))

    # -------------------------------------------------------------------------------------- containers
    def length(self, frame):
        return ConstantVariable(run_python(frame, len, self.value))

    def getitem(self, frame, key):
        if isinstance(self.value, (str, bytes, range)) and not key.is_constant():
            if frame.world.lacks(key.python_type(), "__index__") and not isinstance(key, frame.values.SliceVariable):
                raise frame.ops.refused(frame, operator.getitem, self, key)
        if hasattr(key, "owner"):  # of an object of a subclass, whose name is told
            return frame.values.literal(frame, run_python(frame, operator.getitem, self.value, key.example()))
        return frame.values.literal(frame, run_python(frame, operator.getitem, self.value, key.as_python()))

    def contains(self, frame, item):
        if item.is_constant():
            return ConstantVariable(run_python(frame, operator.contains, self.value, item.as_python()))
        if isinstance(self.value, frozenset):
            return frame.values.as_set(frame, self).contains(frame, item)
        if isinstance(self.value, str) and not issubclass(item.python_type(), str):
            raise frame.ops.refused(frame, operator.contains, self, item)
        if isinstance(self.value, range):
            return boolean(any(frame.ops.equals(frame, v, item) for v in self.unpack(frame)))
        return super().contains(frame, item)

    def iterate(self, frame):
        if isinstance(self.value, range):
            return frame.values.RangeIterator(self.value, self)
        return frame.values.ItemsIterator(self.unpack(frame), self)

    def backwards(self, frame):
        run_python(frame, reversed, self.value)
        if isinstance(self.value, range):
            return frame.values.RangeIterator(self.value[::-1], self, reversed)
        return frame.values.ItemsIterator(self.unpack(frame)[::-1], self, reversed)

    def unpack(self, frame):
        run_python(frame, iter, self.value)
        if isinstance(self.value, range) and self.value[TOO_MANY:]:
            raise Unsupported(breaks.TOO_LONG)
        return [frame.values.literal(frame, v) for v in self.value]

    def is_same(self, other):
        return isinstance(other, ConstantVariable) and self.value is other.value

    def recipe(self, emit):
        if isinstance(self.value, float) and self.value != self.value:  # NaN is known by identity
            if self.source is not None:
                return emit.load(self.source)
            if type(self.value) is float:  # one that is made is new in each call
                text = "-nan" if math.copysign(1.0, self.value) < 0 else "nan"
                return emit.shared(self, lambda: outcome.Call(outcome.Const(float), (outcome.Const(text),)))
        if type(self.source) is Local and type(self.value) in MANY_OF_ONE_VALUE:
            return emit.load(self.source)  # of another call another object of that value
        return outcome.Const(self.value)


class ConstantMethod(Variable):
    """A method of a constant, such as "a,b".split. `loaded`: the method of C, where it was loaded to be called."""

    __slots__ = ("object", "name", "loaded")

    def __init__(self, object: ConstantVariable, name: str, loaded: Any = None):
        super().__init__()
        self.object = object
        self.name = name
        self.loaded = loaded

    def python_type(self):
        return type(getattr(self.object.value, self.name))

    def truth(self, frame):
        return True

    def call(self, frame, args, kwargs):
        if self.loaded is None:
            return self.object.method(frame, self.name, args, kwargs)
        return self.object.asked(frame, self.name, args, kwargs, self.loaded)

    def hash_key(self):
        return ("method", self.name, self.object.hash_key())

    def recipe(self, emit):
        return outcome.GetAttr(outcome.Const(self.object.value), self.name)


def plain(value: Variable) -> Any:
    """The Python value for text: a symbolic size is read (and guarded), other values break the graph."""
    try:
        return value.as_python()
    except NotConstant:
        raise value.unsupported("the text") from None


def are_plain(values: Any) -> bool:
    """Whether all are of Python's own classes, whose hashes and comparisons nobody else defines."""
    return all(id(type(v)) in PLAIN_IDS for v in values)


def literal(frame, value: Any) -> Variable:
    """The Variable of a Python value computed while tracing; its contents become Variables too."""
    return ConstantVariable(value) if isinstance(value, PLAIN) else frame.values.literal(frame, value)


def joined(frame, value: Variable) -> list[Variable]:
    """The items that join() takes, which has words of its own for what is no iterable."""
    if value.python_type() in (list, tuple):
        return value.unpack(frame)
    try:
        iterator = value.iterate(frame)
    except Raised as raised:
        if not issubclass(raised.value.python_type(), TypeError):
            raise
        raise frame.values.error(frame, TypeError, "can only join an iterable") from None
    return iterator.unpack(frame)


NONE = ConstantVariable(None)
TRUE = ConstantVariable(True)
FALSE = ConstantVariable(False)


def boolean(value: bool) -> ConstantVariable:
    return TRUE if value else FALSE
