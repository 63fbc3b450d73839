"""Callables written in C: builtin functions, methods of builtin types, `math`, `functools`, and the polyfills."""

from __future__ import annotations

import cmath
import copy
import functools
import inspect
import itertools
import math
import operator
import sys
import types
from collections.abc import Callable
from typing import Any

from aten.symbolic import symint
from dynamo import breaks, polyfills, trace_rules
from dynamo.breaks import Unsupported
from dynamo.variables.base import Variable
from dynamo.variables.builtin import CLASSES, FUNCTIONS, constant_function
from dynamo.variables.constant import NONE, ConstantVariable, boolean, literal
from dynamo.variables.exception import being_handled
from dynamo.variables.function import CallableVariable, ClosureVariable, FunctionVariable, MethodVariable, PartialVariable
from dynamo.variables.iterator import CountIterator
from dynamo.variables.sequence import TupleVariable
from dynamo.variables.symint import SymbolicVariable, symbolic
from dynamo.variables.traceback import TracebackVariable

PURE_MODULES = (math, cmath)
OUTSIDE = frozenset({"time", "posix", "io", "_thread", "_socket", "marshal", "gc"})


def handler(value: Any) -> Callable | None:
    """The rule for calls of a C callable, or None."""
    trace_rules.load_numpy(value)
    found = FUNCTIONS.get(value) or trace_rules.handler(value)
    if found is not None:
        return found
    name = getattr(value, "__name__", "")
    if isinstance(value, (types.MethodDescriptorType, types.WrapperDescriptorType)):
        return _unbound_method(value)
    owner = getattr(value, "__self__", None)
    if isinstance(owner, types.ModuleType):
        return _module_function(value, owner)
    if isinstance(owner, type):
        return _class_method(value, owner)
    if owner is not None:
        return _method_of_object(owner, name)
    return None


def _unbound_method(value) -> Callable:
    """A method of a class written in C, called with the object as its first argument."""
    owner = value.__objclass__

    def method(frame, args, kwargs):
        if not args or not issubclass(args[0].python_type(), owner):
            raise frame.ops.refused(frame, value, *args) if args else Unsupported(breaks.UNKNOWN_CALL, value.__name__)
        return args[0].c_call(frame, value, list(args[1:]), kwargs)

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
    return None


def _method_of_object(owner, name: str) -> Callable:
    def method(frame, args, kwargs):
        found = frame.world.known(owner)
        if isinstance(found, CallableVariable):  # its methods lead here again
            raise Unsupported(breaks.UNKNOWN_CALL, f"{name}() of {found.describe()}")
        return found.method(frame, name, args, kwargs)

    return method


def _math(function, symbolic_name: str | None = None, dunder: Callable | None = None):
    plain_rule = constant_function(function)

    def rule(frame, args, kwargs):
        value = args[0]
        if isinstance(value, SymbolicVariable):
            if dunder is not None:
                return symbolic(frame, dunder(value.value))
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


FUNCTIONS[math.prod] = _prod
if hasattr(math, "sumprod"):
    FUNCTIONS[math.sumprod] = constant_function(math.sumprod)


# --------------------------------------------------------------------------------------------- functools
def _partial(frame, args, kwargs):
    return PartialVariable(args[0], list(args[1:]), dict(kwargs))


def _reduce(frame, args, kwargs):
    return FunctionVariable(polyfills.reduce).call(frame, args, kwargs)


CLASSES[functools.partial] = _partial
CLASSES[types.MethodType] = lambda frame, args, kwargs: MethodVariable(*args)
FUNCTIONS[functools.reduce] = _reduce


@trace_rules.handle(functools.update_wrapper)
def update_wrapper(frame, args, kwargs):
    """functools.wraps: the wrapper gets the names of what it wraps."""
    wrapper, wrapped = args[0], args[1]
    if isinstance(wrapper, ClosureVariable):
        wrapper.setattr(frame, "__wrapped__", wrapped)
        for name in ("__name__", "__qualname__", "__doc__", "__module__"):
            if wrapped.hasattr(frame, name):
                wrapper.setattr(frame, name, wrapped.getattr(frame, name))
    return wrapper


@trace_rules.handle(functools.wraps)
def wraps(frame, args, kwargs):
    wrapped = args[0] if args else kwargs["wrapped"]
    return CallableVariable(functools.wraps, lambda f, a, k: update_wrapper(f, [a[0], wrapped], {}))


def _exc_info(frame, args, kwargs):
    value = being_handled(frame)
    if value is NONE:
        return TupleVariable([NONE, NONE, NONE])
    return TupleVariable([literal(frame, value.cls), value, TracebackVariable(value)])


FUNCTIONS[sys.exc_info] = _exc_info
FUNCTIONS[sys.exception] = lambda frame, args, kwargs: being_handled(frame)


@trace_rules.handle(inspect.isgeneratorfunction)
def is_generator_function(frame, args, kwargs):
    code = getattr(args[0], "code", None) or getattr(getattr(args[0], "function", None), "__code__", None)
    if code is None:
        return boolean(inspect.isgeneratorfunction(args[0].as_python()))
    return boolean(bool(code.co_flags & inspect.CO_GENERATOR))


@trace_rules.handle(copy.deepcopy)
def deep_copy(frame, args, kwargs):
    """copy.deepcopy of what holds only constants; of objects and tensors it is left to Python."""
    try:
        return literal(frame, copy.deepcopy(frame.ops.real(frame, args[0])))
    except Unsupported:
        raise Unsupported(breaks.SKIPPED_CALL, f"copy.deepcopy of {args[0].describe()}") from None


# --------------------------------------------------------------------------------------------- polyfills
def _inline(function: types.FunctionType) -> Callable:
    return lambda frame, args, kwargs: FunctionVariable(function).call(frame, args, kwargs)


def _count(frame, args, kwargs) -> Variable:
    start = args[0] if args else kwargs.get("start", ConstantVariable(0))
    step = args[1] if len(args) > 1 else kwargs.get("step", ConstantVariable(1))
    return CountIterator(start, step)


for _real, _polyfill in polyfills.TABLE.items():
    _table: dict = CLASSES if isinstance(_real, type) else FUNCTIONS
    _table[_real] = _inline(_polyfill)
CLASSES[itertools.count] = _count


PICKLING = ("__reduce_ex__", "__reduce__", "__getstate__", "__setstate__", "__getnewargs__", "__getnewargs_ex__", "__slots__")


@trace_rules.handle(copy.copy)
def _copy(frame, args, kwargs):
    """copy.copy: what its polyfill does; objects that say themselves how they are copied are left to Python."""
    values = [*args, *kwargs.values()]
    cls = values[0].realize(frame).python_type() if values else object
    plain = cls in (list, dict, set, tuple, int, float, str, bool, type(None), frozenset, bytes, complex)
    if plain or not frame.world.lacks(cls, "__copy__"):
        return _inline(polyfills.shallow_copy)(frame, args, kwargs)
    if frame.world.c_bases(cls) or not frame.world.has_dict(cls) or not frame.world.keeps(cls, object, PICKLING):
        raise Unsupported(breaks.UNKNOWN_CALL, f"copy.copy of a {cls.__qualname__}")
    return _inline(polyfills.shallow_copy)(frame, args, kwargs)
