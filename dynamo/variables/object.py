"""Objects of Python classes, the classes themselves, Python modules, super()."""

from __future__ import annotations

import functools
import operator
import types
from typing import Any

from dynamo import graph_break, outcome, trace_rules
from dynamo.graph_break import NotConstant, Raised, Unsupported
from dynamo.source import Attr, ClassAttr, Item, Object
from dynamo.variables.base import NULL, Exhausted, IdentityKey, TrueVariable, Variable
from dynamo.variables.constant import NONE, TRUE, ConstantVariable, boolean, literal
from dynamo.variables.exception import ExceptionVariable, raise_exception
from dynamo.variables.function import BoundMethod, FunctionVariable, MethodVariable

MISSING = object()
C_DESCRIPTORS = (types.WrapperDescriptorType, types.MethodDescriptorType, types.ClassMethodDescriptorType)
SLOTS = (types.MemberDescriptorType, types.GetSetDescriptorType)


def lookup(cls: type, name: str) -> Any:
    """What `cls` holds under `name` in its MRO, not bound, or MISSING."""
    for c in cls.__mro__:
        if name in c.__dict__:
            return c.__dict__[name]
    return MISSING


def class_attribute(frame, obj: Variable, cls: type, name: str) -> Variable:
    """The attribute of an object that its class gives: a method, property, class variable. AttributeError if none."""
    raw = lookup(cls, name)
    if raw is MISSING:
        raise raise_exception(frame, AttributeError, f"'{cls.__name__}' object has no attribute '{name}'")
    return bind_raw(frame, raw, obj, cls, name)


def bind_raw(frame, raw: Any, obj: Variable, cls: type, name: str) -> Variable:
    """What `raw`, found on the class, is as an attribute of `obj`."""
    source = ClassAttr(Object(cls), name)
    if isinstance(raw, types.FunctionType):
        return MethodVariable(class_function(frame, raw, source), obj)
    if isinstance(raw, property):
        if raw.fget is None:
            raise raise_exception(frame, AttributeError, f"property '{name}' of '{cls.__name__}' object has no getter")
        return class_function(frame, raw.fget, Attr(source, "fget")).call(frame, [obj], {})
    if isinstance(raw, staticmethod):
        return class_function(frame, raw.__func__, Attr(source, "__func__"))
    if isinstance(raw, classmethod):
        return MethodVariable(class_function(frame, raw.__func__, Attr(source, "__func__")), class_of(frame, obj, cls))
    if isinstance(raw, functools.cached_property):
        value = class_function(frame, raw.func, Attr(source, "func")).call(frame, [obj], {})
        frame.output.side_effects.store_attribute(obj, name, value)
        return value
    if isinstance(raw, functools.partialmethod):
        return partial_method(frame, raw, obj)
    if isinstance(raw, C_DESCRIPTORS):
        return BoundMethod(obj, name)
    getter = lookup(type(raw), "__get__")
    if isinstance(getter, types.FunctionType):
        from dynamo.variables import track

        descriptor = track.wrap(frame, raw, source)
        return descriptor.method(frame, "__get__", [obj, literal(frame, cls)], {})
    if getter is not MISSING and not isinstance(raw, (type, types.BuiltinFunctionType)):
        raise Unsupported(graph_break.UNKNOWN_VALUE, f"the descriptor {name} of {cls.__name__}")
    from dynamo.variables import track

    return track.wrap(frame, raw, source)


def class_function(frame, function: Any, source) -> Variable:
    """A function found on a class; for those of the user's classes, a guard that it stays."""
    from dynamo.variables import track

    if isinstance(function, types.FunctionType):
        if not trace_rules.is_library(function):
            frame.output.guard_same(source, function)
        return FunctionVariable(function, source)
    return track.wrap(frame, function, source)


def class_of(frame, obj: Variable, cls: type) -> Variable:
    return obj if isinstance(obj, ClassVariable) else literal(frame, cls)


def partial_method(frame, raw: functools.partialmethod, obj: Variable) -> Variable:
    from dynamo.variables import track
    from dynamo.variables.function import PartialVariable

    args = [track.wrap_untracked(frame, a) for a in raw.args]
    kwargs = {k: track.wrap_untracked(frame, v) for k, v in raw.keywords.items()}
    return PartialVariable(track.wrap_untracked(frame, raw.func), [obj, *args], kwargs)


class ObjectVariable(Variable):
    """An instance of a Python class: one from outside (`value`, `source`), or made while tracing (`value` None)."""

    __slots__ = ("value", "cls")

    def __init__(self, cls: type, value: Any = None, source=None):
        super().__init__(source)
        self.cls = cls
        self.value = value

    def __repr__(self):
        return f"ObjectVariable({self.describe()})"

    def python_type(self):
        return self.cls

    def describe(self):
        return f"an object of class {self.cls.__qualname__}"

    # -------------------------------------------------------------------------------------- attributes
    def instance_dict(self) -> dict:
        """The real instance's attributes; empty for a new object."""
        if self.value is None:
            return {}
        try:
            return object.__getattribute__(self.value, "__dict__")
        except AttributeError:
            return {}

    def own_attribute(self, frame, name: str) -> Variable | None:
        """An attribute in the instance's dictionary, as changed so far; None if there is none."""
        stored = frame.output.side_effects.attribute(self, name)
        if stored is not None:
            return None if stored is NULL else stored.realize(frame)
        values = self.instance_dict()
        if name in values:
            from dynamo.variables import track

            return track.wrap(frame, values[name], Attr(self.source, name))
        return None

    def getattr(self, frame, name):
        hook = lookup(self.cls, "__getattribute__")
        if isinstance(hook, types.FunctionType):
            return FunctionVariable(hook).call(frame, [self, ConstantVariable(name)], {})
        return self.generic_getattr(frame, name)

    def generic_getattr(self, frame, name: str) -> Variable:
        """object.__getattribute__, then `__getattr__`."""
        raw = lookup(self.cls, name)
        if raw is not MISSING and (isinstance(raw, property) or hasattr(type(raw), "__set__")):
            return self.data_descriptor(frame, raw, name)
        own = self.own_attribute(frame, name)
        if own is not None:
            return own
        if raw is not MISSING:
            if self.source is not None:
                frame.output.guard_lacks_instance_attribute(self.source, name)
            return bind_raw(frame, raw, self, self.cls, name)
        return self.missing_attribute(frame, name)

    def missing_attribute(self, frame, name: str) -> Variable:
        hook = lookup(self.cls, "__getattr__")
        if isinstance(hook, types.FunctionType):
            return FunctionVariable(hook).call(frame, [self, ConstantVariable(name)], {})
        if self.source is not None:
            frame.output.guard_lacks_attribute(self.source, name)
        raise raise_exception(frame, AttributeError, f"'{self.cls.__name__}' object has no attribute '{name}'")

    def data_descriptor(self, frame, raw: Any, name: str) -> Variable:
        from dynamo.variables import track

        if isinstance(raw, property):
            return bind_raw(frame, raw, self, self.cls, name)
        if name == "__class__":
            return literal(frame, self.cls)
        if name == "__dict__":
            return self.dict_variable(frame)
        if isinstance(raw, SLOTS):
            stored = frame.output.side_effects.attribute(self, name)
            if stored is not None and stored is not NULL:
                return stored.realize(frame)
            if stored is None and self.value is not None and hasattr(self.value, name):
                return track.wrap(frame, getattr(self.value, name), Attr(self.source, name))
            if self.source is not None and stored is None:
                frame.output.guard_lacks_attribute(self.source, name)
            raise raise_exception(frame, AttributeError, f"'{self.cls.__name__}' object has no attribute '{name}'")
        return bind_raw(frame, raw, self, self.cls, name)

    def dict_variable(self, frame) -> Variable:
        """A copy of the instance's dictionary, for reading."""
        from dynamo.variables.mapping import DictVariable

        names = dict.fromkeys(self.instance_dict())
        if self.source is not None:
            frame.output.guard_instance_keys(self.source, tuple(names))
        names.update(dict.fromkeys(frame.output.side_effects.attributes.get(self, ())))
        pairs = [(ConstantVariable(n), self.own_attribute(frame, n)) for n in names]
        return DictVariable.of([(k, v) for k, v in pairs if v is not None])

    def setattr(self, frame, name, value):
        hook = lookup(self.cls, "__setattr__")
        if isinstance(hook, types.FunctionType):
            FunctionVariable(hook).call(frame, [self, ConstantVariable(name), value], {})
            return
        self.generic_setattr(frame, name, value)

    def generic_setattr(self, frame, name: str, value: Variable) -> None:
        """object.__setattr__."""
        raw = lookup(self.cls, name)
        if isinstance(raw, property):
            if raw.fset is None:
                raise raise_exception(
                    frame, AttributeError, f"property '{name}' of '{self.cls.__name__}' object has no setter"
                )
            FunctionVariable(raw.fset).call(frame, [self, value], {})
            return
        if raw is not MISSING and not isinstance(raw, SLOTS):
            setter = lookup(type(raw), "__set__")
            if isinstance(setter, types.FunctionType):
                literal(frame, raw).method(frame, "__set__", [self, value], {})
                return
        if name in ("__class__", "__dict__"):
            raise Unsupported(graph_break.MUTATED_ALIAS, f"{self.cls.__name__}.{name}")
        frame.output.side_effects.store_attribute(self, name, value)

    def delattr(self, frame, name):
        hook = lookup(self.cls, "__delattr__")
        if isinstance(hook, types.FunctionType):
            FunctionVariable(hook).call(frame, [self, ConstantVariable(name)], {})
            return
        if self.own_attribute(frame, name) is None:
            raise raise_exception(frame, AttributeError, f"'{self.cls.__name__}' object has no attribute '{name}'")
        frame.output.side_effects.store_attribute(self, name, NULL)

    # ----------------------------------------------------------------------------------------- methods
    def special(self, frame, name: str) -> Variable | None:
        """A method that operators look up on the class; None if it has none written in Python."""
        raw = lookup(self.cls, name)
        if raw is MISSING or raw is None or isinstance(raw, C_DESCRIPTORS):
            return None
        return bind_raw(frame, raw, self, self.cls, name)

    def call(self, frame, args, kwargs):
        method = self.special(frame, "__call__")
        if method is None:
            raise raise_exception(frame, TypeError, f"'{self.cls.__name__}' object is not callable")
        return method.call(frame, args, kwargs)

    def method(self, frame, name, args, kwargs):
        raw = lookup(self.cls, name)
        if isinstance(raw, C_DESCRIPTORS) and self.own_attribute(frame, name) is None:
            return self.native_method(frame, name, args, kwargs)
        return self.getattr(frame, name).call(frame, args, kwargs)

    def native_method(self, frame, name: str, args, kwargs) -> Variable:
        """A method of `object` itself."""
        if name == "__init__":
            return NONE
        if name == "__setattr__":
            self.generic_setattr(frame, args[0].as_python(), args[1])
            return NONE
        if name == "__delattr__":
            self.delattr(frame, args[0].as_python())
            return NONE
        if name == "__getattribute__":
            return self.generic_getattr(frame, args[0].as_python())
        if name in ("__eq__", "__ne__"):
            return boolean(self.is_same(args[0]) == (name == "__eq__"))
        raise self.unsupported(f"method {name}")

    def truth(self, frame):
        method = self.special(frame, "__bool__") or self.special(frame, "__len__")
        return True if method is None else method.call(frame, [], {}).truth(frame)

    def length(self, frame):
        method = self.special(frame, "__len__")
        if method is None:
            raise raise_exception(frame, TypeError, f"object of type '{self.cls.__name__}' has no len()")
        return method.call(frame, [], {})

    def getitem(self, frame, key):
        return self.required(frame, "__getitem__", "is not subscriptable").call(frame, [key], {})

    def setitem(self, frame, key, value):
        self.required(frame, "__setitem__", "does not support item assignment").call(frame, [key, value], {})

    def delitem(self, frame, key):
        self.required(frame, "__delitem__", "doesn't support item deletion").call(frame, [key], {})

    def required(self, frame, name: str, text: str) -> Variable:
        method = self.special(frame, name)
        if method is None:
            raise raise_exception(frame, TypeError, f"'{self.cls.__name__}' object {text}")
        return method

    def contains(self, frame, item):
        method = self.special(frame, "__contains__")
        if method is not None:
            return boolean(method.call(frame, [item], {}).truth(frame))
        raise NotConstant(self)

    def iterate(self, frame):
        from dynamo.variables.iterator import CountIterator, MapIterator, ObjectIterator

        method = self.special(frame, "__iter__")
        if method is not None:
            iterator = method.call(frame, [], {})
            return ObjectIterator(iterator) if isinstance(iterator, ObjectVariable) else iterator
        if self.special(frame, "__getitem__") is not None:
            getitem = self.special(frame, "__getitem__")
            return SequenceProtocol(MapIterator(getitem, [CountIterator(ConstantVariable(0), ConstantVariable(1))]))
        raise raise_exception(frame, TypeError, f"'{self.cls.__name__}' object is not iterable")

    def next(self, frame):
        method = self.required(frame, "__next__", "is not an iterator")
        try:
            return method.call(frame, [], {})
        except Raised as r:
            if issubclass(r.value.cls, StopIteration):
                raise Exhausted() from None
            raise

    def operator_method(self, frame, name: str, other: Variable) -> Variable | None:
        method = self.special(frame, name)
        if method is None:
            return None
        result = method.call(frame, [other], {})
        return None if isinstance(result, ConstantVariable) and result.value is NotImplemented else result

    def binary(self, frame, op, other):
        return self.operator_method(frame, f"__{op.__name__.strip('_')}__", other)

    def reflected(self, frame, op, other):
        return self.operator_method(frame, f"__r{op.__name__.strip('_')}__", other)

    def unary(self, frame, op):
        names = {operator.neg: "__neg__", operator.pos: "__pos__", operator.invert: "__invert__"}
        return self.required(frame, names[op], "has no such operator").call(frame, [], {})

    # ---------------------------------------------------------------------------------------- identity
    def is_same(self, other):
        if self is other or not isinstance(other, ObjectVariable):
            return self is other
        return self.value is not None and self.value is other.value

    def hash_key(self):
        if self.cls.__hash__ is object.__hash__ or self.value is None:
            return IdentityKey(self)
        raise self.unsupported("hashing")

    def recipe(self, emit):
        if self.source is not None:
            return emit.load(self.source)
        from dynamo.side_effects import replay_attributes

        def fill(temp):
            replay_attributes(emit, temp, self, emit.output.side_effects.attributes.get(self, {}))

        make = outcome.Call(outcome.Const(object.__new__), (outcome.Const(self.cls),))
        return emit.shared(self, lambda: make, fill)


class SequenceProtocol(Variable):
    """Iteration by `__getitem__` with 0, 1, 2 … until IndexError."""

    __slots__ = ("items",)

    def __init__(self, items: Variable):
        super().__init__()
        self.items = items

    def iterate(self, frame):
        return self

    def next(self, frame):
        try:
            return self.items.next(frame)
        except Raised as r:
            if issubclass(r.value.cls, IndexError):
                raise Exhausted() from None
            raise


class ClassVariable(TrueVariable):
    """A class."""

    __slots__ = ("value",)

    def __init__(self, value: type, source=None):
        super().__init__(source)
        self.value = value

    def __repr__(self):
        return f"ClassVariable({self.value.__qualname__})"

    def python_type(self):
        return type(self.value)

    def as_python(self):
        return self.value

    def describe(self):
        return f"the class {self.value.__qualname__}"

    def call(self, frame, args, kwargs):
        from dynamo.variables.construct import construct

        return construct(frame, self, args, kwargs)

    def getattr(self, frame, name):
        from dynamo.variables import track

        cls = self.value
        stored = frame.output.side_effects.attribute(self, name)
        if stored is not None and stored is not NULL:
            return stored
        if name in ("__name__", "__qualname__", "__module__", "__doc__"):
            return ConstantVariable(getattr(cls, name))
        if name == "__class__":
            return literal(frame, type(cls))
        if name in ("__mro__", "__bases__", "__dict__", "__subclasses__"):
            return track.wrap_untracked(frame, getattr(cls, name))
        raw = lookup(cls, name)
        if raw is MISSING:
            return self.from_metaclass(frame, name)
        if isinstance(raw, types.FunctionType):
            return class_function(frame, raw, ClassAttr(Object(cls), name))
        if isinstance(raw, (staticmethod, classmethod)):
            return bind_raw(frame, raw, self, cls, name)
        if isinstance(raw, C_DESCRIPTORS) or isinstance(raw, types.BuiltinFunctionType):
            return track.wrap_untracked(frame, getattr(cls, name))
        import enum

        if isinstance(cls, enum.EnumMeta) and name in cls.__members__:
            return ConstantVariable(cls[name])
        value = getattr(cls, name)
        if trace_rules.is_library(cls):
            return track.wrap_untracked(frame, value)
        return track.wrap(frame, value, ClassAttr(Object(cls), name) if raw is value else Attr(Object(cls), name))

    def from_metaclass(self, frame, name: str) -> Variable:
        from dynamo.variables import track

        raw = lookup(type(self.value), name)
        if raw is MISSING:
            frame.output.guard_lacks_attribute(Object(self.value), name)
            text = f"type object '{self.value.__name__}' has no attribute '{name}'"
            raise raise_exception(frame, AttributeError, text)
        if isinstance(raw, types.FunctionType):
            return MethodVariable(FunctionVariable(raw), self)
        return track.wrap_untracked(frame, getattr(self.value, name))

    def setattr(self, frame, name, value):
        frame.output.side_effects.store_attribute(self, name, value)

    def method(self, frame, name, args, kwargs):
        return self.getattr(frame, name).call(frame, args, kwargs)

    def getitem(self, frame, key):
        import enum

        if isinstance(self.value, enum.EnumMeta):
            from dynamo.variables.exception import run_python

            return ConstantVariable(run_python(frame, lambda: self.value[key.as_python()]))
        from dynamo.variables.exception import run_python

        return literal(frame, run_python(frame, operator.getitem, self.value, key.as_python()))

    def iterate(self, frame):
        import enum

        from dynamo.variables.iterator import ItemsIterator

        if isinstance(self.value, enum.EnumMeta):
            return ItemsIterator([ConstantVariable(m) for m in self.value])
        raise raise_exception(frame, TypeError, f"'{type(self.value).__name__}' object is not iterable")

    def length(self, frame):
        from dynamo.variables.exception import run_python

        return literal(frame, run_python(frame, len, self.value))

    def binary(self, frame, op, other):
        if op is operator.or_ and other.is_constant():
            return literal(frame, self.value | other.as_python())
        return None

    def is_same(self, other):
        return isinstance(other, ClassVariable) and self.value is other.value

    def hash_key(self):
        return self.value

    def recipe(self, emit):
        return outcome.Const(self.value)


class ModuleVariable(TrueVariable):
    """A Python module."""

    __slots__ = ("value",)

    def __init__(self, value: types.ModuleType, source=None):
        super().__init__(source)
        self.value = value

    def python_type(self):
        return types.ModuleType

    def as_python(self):
        return self.value

    def describe(self):
        return f"the module {self.value.__name__}"

    def getattr(self, frame, name):
        from dynamo.variables import track
        from dynamo.variables.exception import run_python

        stored = frame.output.side_effects.global_value(self.value.__dict__, name)
        if stored is not None and stored is not NULL:
            return stored
        if not hasattr(self.value, name) and not trace_rules.is_library(self.value):
            frame.output.guard_lacks_attribute(Object(self.value), name)
        value = run_python(frame, getattr, self.value, name)
        if trace_rules.is_library(self.value):
            return track.wrap_untracked(frame, value)
        source = Item(Object(self.value.__dict__, f"{self.value.__name__}.__dict__"), name)
        return track.wrap(frame, value, source if name in self.value.__dict__ else Attr(Object(self.value), name))

    def setattr(self, frame, name, value):
        frame.output.side_effects.store_global(self.value.__dict__, name, value)

    def is_same(self, other):
        return isinstance(other, ModuleVariable) and self.value is other.value

    def recipe(self, emit):
        return outcome.Const(self.value)


def make_exception(frame, value: Variable) -> ExceptionVariable:
    """What `raise value` raises: an instance, made if a class was given."""
    if isinstance(value, ClassVariable) and issubclass(value.value, BaseException):
        value = value.call(frame, [], {})
    if isinstance(value, ExceptionVariable):
        return value
    if isinstance(value, ConstantVariable) and isinstance(value.value, BaseException):
        return ExceptionVariable(type(value.value), [literal(frame, a) for a in value.value.args])
    raise raise_exception(frame, TypeError, "exceptions must derive from BaseException")


__all__ = ["TRUE", "ClassVariable", "ModuleVariable", "ObjectVariable", "class_attribute", "lookup"]
