"""Callables written in C: builtin functions, methods of builtin types, `math`, `functools`, and the polyfills."""

from __future__ import annotations

import _operator as operator
import cmath
import copy
import copyreg
import enum
import functools
import inspect
import itertools
import sys
import types
from collections.abc import Callable
from typing import Any

from aten.scalar.unpatched import math
from aten.symbolic import symint
from dynamo import breaks, on_demand, polyfills, trace_rules
from dynamo.breaks import Unsupported
from dynamo.bytecode.instruction import VERSION
from dynamo.polyfills import sorting
from dynamo.real_objects import is_plain_key, method_of_c
from dynamo.variables import attributes, builtin_containers
from dynamo.variables.base import SEQUENCES, Variable, accepts, takes
from dynamo.variables.builtin import CLASSES, FUNCTIONS, builtin, constant_function
from dynamo.variables.constant import NONE, ConstantVariable, boolean, literal
from dynamo.variables.construct import new_object
from dynamo.variables.exception import being_handled, raise_exception
from dynamo.variables.function import (
    CallableVariable,
    FunctionVariable,
    MethodVariable,
    PartialVariable,
    is_placeholder,
)
from dynamo.variables.iterator import CountIterator
from dynamo.variables.library_iterator import LibraryIterator
from dynamo.variables.object import ObjectVariable
from dynamo.variables.raising import run_python
from dynamo.variables.sequence import SizeVariable, TupleVariable
from dynamo.variables.symint import SymbolicVariable, fits, symbolic
from dynamo.variables.traceback import TracebackVariable

PURE_MODULES = (math.sqrt.__self__, cmath)  # (the module itself)
OUTSIDE = frozenset({"time", "posix", "io", "_thread", "_socket", "marshal", "gc"})


def handler(value: Any) -> Callable | None:
    """The rule for calls of a C callable, or None."""
    on_demand.load(value)
    found = FUNCTIONS.get(value) or trace_rules.handler(value)
    owner = getattr(value, "__self__", None)
    if found is not None:
        return _checked(value, found) if isinstance(owner, types.ModuleType) else found
    name = getattr(value, "__name__", "")
    if isinstance(value, (types.MethodDescriptorType, types.WrapperDescriptorType)):
        return _unbound_method(value)
    if name == "__get__" and isinstance(owner, (property, types.GetSetDescriptorType)):
        return attributes.readers.get(owner)
    if isinstance(owner, types.ModuleType):
        return _module_function(value, owner)
    if isinstance(owner, type):
        return _class_method(value, owner)
    if owner is not None:
        return _method_of_object(value, owner, name)
    return None


def _checked(value, rule: Callable) -> Callable:
    """The rule of a function of C, for the arguments that it takes: it refuses others in its own words."""

    def checked(frame, args, kwargs):
        if not takes(value, len(args), frozenset(kwargs)):
            raise Unsupported(breaks.UNKNOWN_CALL, f"{trace_rules.name_of(value)} with these arguments")
        return rule(frame, args, kwargs)

    return checked


def _unbound_method(value) -> Callable:
    """A method of a class written in C, called with the object as its first argument."""
    owner = value.__objclass__

    def method(frame, args, kwargs):
        if not args or not issubclass(args[0].python_type(), owner):
            raise frame.ops.refused(frame, value, *args) if args else Unsupported(breaks.UNKNOWN_CALL, value.__name__)
        return args[0].call_c(frame, value, list(args[1:]), kwargs)

    return method


def _module_function(value, module) -> Callable | None:
    if module in PURE_MODULES:
        return SYMBOLIC_MATH.get(value) or constant_function(value)
    if module.__name__ in OUTSIDE:

        def outside(frame, args, kwargs):
            raise Unsupported(breaks.OUTSIDE_WORLD, trace_rules.name_of(value))

        return outside
    return None


def _class_method(value, owner: type) -> Callable | None:
    """C class methods of immutable types: int.from_bytes, float.fromhex, str.maketrans."""
    if owner in (int, float, str, bytes):
        return constant_function(value)
    if value.__name__ == "fromkeys" and issubclass(owner, dict):  # of a class of the program's
        return builtin_containers.from_keys(owner)
    return None


def _method_of_object(value, owner, name: str) -> Callable:
    """Of an object, the method that C has under the name: what its class defines over it is another one."""

    def method(frame, args, kwargs):
        found = frame.world.known(owner)
        own = method_of_c(value) if isinstance(found, ObjectVariable) else None
        if own is not None:
            return found.call_c(frame, own, args, kwargs)
        if isinstance(found, CallableVariable):  # its methods lead here again
            raise Unsupported(breaks.UNKNOWN_CALL, f"{name}() of {found.describe()}")
        return found.method(frame, name, args, kwargs)

    return method


def _math(function, symbolic_name: str | None = None, dunder: Callable | None = None):
    plain_rule = constant_function(function)

    def rule(frame, args, kwargs):
        if len(args) == 1 and not kwargs and isinstance(value := args[0], SymbolicVariable):
            if value.python_type() is not value.number_type():
                return plain_rule(frame, [value.constant()], {})
            if dunder is not None and fits(frame, value.value):
                return symbolic(frame, dunder(value.value))
            if dunder is not None or not bool(value.value >= 0):
                return plain_rule(frame, [value.constant()], {})
            return symbolic(frame, getattr(symint, symbolic_name)(value.value))
        return plain_rule(frame, args, kwargs)

    return rule


SYMBOLIC_MATH = {
    math.sqrt: _math(math.sqrt, "sym_sqrt"),
    math.floor: _math(math.floor, dunder=lambda v: v.__floor__()),
    math.ceil: _math(math.ceil, dunder=lambda v: v.__ceil__()),
    math.trunc: _math(math.trunc, dunder=lambda v: v.__trunc__()),
}


def _prod(frame, args, kwargs):
    total = kwargs.get("start", ConstantVariable(1))
    for v in args[0].unpack(frame):
        total = frame.ops.binary(frame, operator.mul, total, v)
    return total


def _of_lists(function: Callable) -> Callable:
    """A function of numbers that stand in a list or a tuple, all of them constants."""
    plain_rule = constant_function(function)

    def rule(frame, args, kwargs):
        given = [TupleVariable(a.unpack(frame)) if a.python_type() is list else a for a in args]
        return plain_rule(frame, given, kwargs)

    return rule


FUNCTIONS[math.prod] = _prod
for _function in (math.dist, math.fsum, *([math.sumprod] if hasattr(math, "sumprod") else [])):
    FUNCTIONS[_function] = _of_lists(_function)


# --------------------------------------------------------------------------------------------- functools
def _partial(frame, args, kwargs):
    if not args or frame.world.lacks(args[0].python_type(), "__call__"):
        raise Unsupported(breaks.UNKNOWN_CALL, "functools.partial of nothing to call")
    inner = args[0]
    if len(args) > 1 and is_placeholder(args[-1]):
        raise raise_exception(frame, TypeError, "trailing Placeholders are not allowed")
    if any(map(is_placeholder, kwargs.values())):
        raise raise_exception(frame, TypeError, "Placeholder cannot be passed as a keyword argument")
    flat = isinstance(inner, PartialVariable) and not any(map(is_placeholder, inner.args))
    if flat and inner.source is None:  # a partial of a partial is one of the function
        return PartialVariable(inner.function, [*inner.args, *args[1:]], {**inner.given, **kwargs})
    return PartialVariable(inner, list(args[1:]), dict(kwargs))


CLASSES[functools.partial] = _partial
CLASSES[types.MethodType] = lambda frame, args, kwargs: MethodVariable(*args)


def _exc_info(frame, args, kwargs):
    value = being_handled(frame)
    if value is NONE:
        return TupleVariable([NONE, NONE, NONE])
    return TupleVariable([literal(frame, value.cls), value, TracebackVariable(value)])


FUNCTIONS[sys.exc_info] = _exc_info
FUNCTIONS[sys.intern] = constant_function(sys.intern)
FUNCTIONS[sys.exception] = lambda frame, args, kwargs: being_handled(frame)


@trace_rules.handle(inspect.isgeneratorfunction)
def is_generator_function(frame, args, kwargs):
    code = getattr(args[0], "code", None) or getattr(getattr(args[0], "function", None), "__code__", None)
    if code is None:
        return boolean(inspect.isgeneratorfunction(args[0].as_python()))
    return boolean(bool(code.co_flags & inspect.CO_GENERATOR))


@trace_rules.handle(copy.deepcopy)
def deep_copy(frame, args, kwargs):
    """copy.deepcopy of constants, containers and objects of plain classes; of tensors it is left to Python."""
    if len(args) != 1 or kwargs:
        raise Unsupported(breaks.SKIPPED_CALL, "copy.deepcopy with a memo")
    return copied(frame, args[0], {})


def copied(frame, value: Variable, memo: dict[Variable, Variable]) -> Variable:
    """The deep copy of a value; what stands in it twice is copied once."""
    value = value.realize(frame)
    if value in memo:
        return memo[value]
    cls = value.python_type()
    if cls is list:
        new = memo[value] = frame.values.list_([])
        new.items.extend([copied(frame, v, memo) for v in value.unpack(frame)])
        return new
    if cls is dict:
        new = memo[value] = frame.values.dict_()
        for k in value.unpack(frame):
            new.setitem(frame, copied(frame, k, memo), copied(frame, value.getitem(frame, k), memo))
        return new
    if cls is tuple:
        items = value.unpack(frame)
        parts = [copied(frame, v, memo) for v in items]
        if value not in memo:
            memo[value] = value if all(a is b.realize(frame) for a, b in zip(parts, items)) else frame.values.tuple_(parts)
        return memo[value]
    if cls is set:
        memo[value] = frame.values.set_([copied(frame, v, memo) for v in value.unpack(frame)])
        return memo[value]
    if isinstance(value, SizeVariable):
        memo[value] = value.like(value.unpack(frame))
        return memo[value]
    if isinstance(value, (ConstantVariable, SymbolicVariable)) or issubclass(cls, WHOLE):
        return value
    if isinstance(value, ObjectVariable) and frame.world.lacks(cls, "__deepcopy__") and copied_by_dict(frame, cls):
        new = memo[value] = new_object(frame, [frame.world.known(cls)], {})
        attributes = value.getattr(frame, "__dict__")
        parts = [(k, copied(frame, attributes.getitem(frame, k), memo)) for k in attributes.unpack(frame)]
        _inline(polyfills.set_attributes)(frame, [new, frame.values.list_([frame.values.tuple_([k, v]) for k, v in parts])], {})
        return new
    raise Unsupported(breaks.SKIPPED_CALL, f"copy.deepcopy of {value.describe()}")


WHOLE = (type, types.FunctionType, types.BuiltinFunctionType, enum.Enum)  # what copy.deepcopy gives back as it is


# --------------------------------------------------------------------------------------------- polyfills
def _inline(function: types.FunctionType) -> Callable:
    def rule(frame, args, kwargs):
        if not accepts(function, len(args), kwargs):
            raise Unsupported(breaks.UNKNOWN_CALL, f"{function.__name__} with these arguments")
        return FunctionVariable(function).call(frame, args, kwargs)

    return rule


def _iterators(real: Any, function: types.FunctionType) -> Callable:
    """The rule of what makes iterators: generators, which are taken for objects of its class."""
    cls = real if isinstance(real, type) else real.__self__
    inlined = _inline(function)
    return lambda frame, args, kwargs: LibraryIterator(inlined(frame, args, kwargs), cls)


PARTS = {"tee": type(itertools.tee(())[0]), "groupby": type(next(itertools.groupby("a"))[1])}


@trace_rules.handle(polyfills.searched)
def searched(frame, args, kwargs):
    return frame.ops.searched(frame, args[0])


@trace_rules.handle(polyfills.iteration.disguised)
def disguised(frame, args, kwargs):
    return LibraryIterator(args[0], PARTS[args[1].as_python()])


def _tee(frame, args, kwargs):
    """itertools.tee. Iterators that can be copied are, which is left to Python."""
    cls = args[0].python_type() if args else object
    if not (frame.world.lacks(cls, "__next__") or frame.world.lacks(cls, "__copy__")):
        raise Unsupported(breaks.UNKNOWN_CALL, f"itertools.tee of a {cls.__qualname__}")
    return _inline(polyfills.iteration.tee)(frame, args, kwargs)


@builtin(itertools.count)
def _count(frame, start=ConstantVariable(0), step=ConstantVariable(1)) -> Variable:
    for value in (start, step):
        if not issubclass(value.python_type(), (int, float, complex)):
            raise Unsupported(breaks.UNKNOWN_CALL, f"itertools.count of {value.describe()}")
    if start.python_type() is bool and issubclass(step.python_type(), int) and frame.ops.equals(frame, step, ConstantVariable(1)):
        # by ones it counts in C, which has no bool
        start = frame.ops.unary(frame, operator.pos, start)
    return CountIterator(start, step)


for _real, _polyfill in polyfills.ITERATORS.items():
    _table: dict = CLASSES if isinstance(_real, type) else FUNCTIONS
    _table[_real] = _iterators(_real, _polyfill)
for _real, _polyfill in {**polyfills.FUNCTIONS, **sorting.FUNCTIONS}.items():
    FUNCTIONS[_real] = _inline(_polyfill)
FUNCTIONS[operator.inv] = FUNCTIONS[operator.invert]
FUNCTIONS[itertools.tee] = _tee
FUNCTIONS[functools.reduce] = _inline(polyfills.reduce if VERSION < (3, 14) else polyfills.reduce_from)


def _concat(frame, args, kwargs):
    """operator.concat: the sum that a sequence of C has. What has none, or one in Python, is left to Python."""
    a, b = args
    if getattr(frame.world.on_class(a.python_type(), "__add__"), "__objclass__", None) not in SEQUENCES:
        raise Unsupported(breaks.UNKNOWN_CALL, f"operator.concat of a {a.type_name()}")
    return a.method(frame, "__add__", [b], {})


def _concat_in_place(frame, args, kwargs):
    """operator.iconcat: the same, in place where the sequence can be changed."""
    a, b = args
    found = frame.world.on_class(a.python_type(), "__iadd__")
    if found is frame.world.MISSING:
        return _concat(frame, args, kwargs)
    if getattr(found, "__objclass__", None) not in SEQUENCES:
        raise Unsupported(breaks.UNKNOWN_CALL, f"operator.iconcat of a {a.type_name()}")
    return a.method(frame, "__iadd__", [b], {})


FUNCTIONS[operator.concat] = _concat
FUNCTIONS[operator.iconcat] = _concat_in_place


PICKLING = (
    "__new__", "__reduce_ex__", "__reduce__", "__getstate__", "__setstate__", "__getnewargs__", "__getnewargs_ex__", "__slots__",
)  # fmt: skip


@trace_rules.handle(copy.copy)
def _copy(frame, args, kwargs):
    """copy.copy: what its polyfill does; objects that say themselves how they are copied are left to Python."""
    values = [*args, *kwargs.values()]
    value = values[0].realize(frame) if values else None
    if isinstance(value, SizeVariable):
        return value.like(value.unpack(frame))
    cls = object if value is None else value.python_type()
    if not is_plain_key(cls):  # its table asks the metaclass
        raise Unsupported(breaks.UNKNOWN_CALL, f"copy.copy of a {cls.__qualname__}")
    plain = cls in (list, dict, set, tuple, int, float, str, bool, type(None), frozenset, bytes, complex)
    if plain or not frame.world.lacks(cls, "__copy__"):
        return _inline(polyfills.shallow_copy)(frame, args, kwargs)
    if not copied_by_dict(frame, cls):
        raise Unsupported(breaks.UNKNOWN_CALL, f"copy.copy of a {cls.__qualname__}")
    return _inline(polyfills.shallow_copy)(frame, args, kwargs)


def copied_by_dict(frame, cls: type) -> bool:
    """Whether objects of a class are copied as the attributes in their `__dict__`, which is object's own way."""
    if frame.world.c_bases(cls) or not frame.world.has_dict(cls) or not frame.world.keeps(cls, object, PICKLING):
        return False
    if not frame.world.lacks(cls, "__getattr__"):  # (it is asked for what classes of their own way define)
        return False
    run_python(frame, slot_names, cls)  # (a copy leaves the names of the slots in the class)
    return True


slot_names: Callable = copyreg._slotnames  # type: ignore[attr-defined]
