"""Calls of classes: what makes an object while tracing."""

from __future__ import annotations

import collections
import enum
import types

from dynamo import graph_break, trace_rules
from dynamo.graph_break import Unsupported
from dynamo.variables.base import Variable
from dynamo.variables.constant import NONE, ConstantVariable, literal
from dynamo.variables.exception import ExceptionVariable, raise_exception, run_python
from dynamo.variables.function import FunctionVariable


def construct(frame, cls: Variable, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
    """cls(*args, **kwargs)."""
    from dynamo.variables import builtin

    python_class: type = cls.as_python()
    trace_rules.load_numpy(python_class)
    handler = builtin.CLASSES.get(python_class) or trace_rules.handler(python_class)
    if handler is not None:
        return handler(frame, args, kwargs)
    if issubclass(python_class, BaseException):
        return new_exception(frame, python_class, args, kwargs)
    if isinstance(python_class, enum.EnumMeta):
        values = [a.as_python() for a in args]
        return ConstantVariable(run_python(frame, python_class, *values))
    meta_call = _metaclass_call(type(python_class))
    if meta_call is not None:
        return FunctionVariable(meta_call).call(frame, [cls, *args], kwargs)
    return construct_plain(frame, cls, args, kwargs)


def construct_plain(frame, cls: Variable, args, kwargs) -> Variable:
    """type.__call__: `__new__`, then `__init__`."""
    from dynamo.variables.object import lookup

    python_class: type = cls.as_python()
    new = lookup(python_class, "__new__")
    new = new.__func__ if isinstance(new, staticmethod) else new
    init = lookup(python_class, "__init__")
    if isinstance(new, types.FunctionType):
        obj = FunctionVariable(new).call(frame, [cls, *args], kwargs)
    elif new is object.__new__:
        trace_rules.check_construct(python_class)
        if not isinstance(init, types.FunctionType) and (args or kwargs):
            raise raise_exception(frame, TypeError, f"{python_class.__name__}() takes no arguments")
        obj = new_object(frame, python_class)
    else:
        raise Unsupported(graph_break.UNKNOWN_CALL, f"{python_class.__qualname__}(…)")
    if isinstance(init, types.FunctionType) and issubclass(obj.python_type(), python_class):
        result = FunctionVariable(init).call(frame, [obj, *args], kwargs)
        if not (isinstance(result, ConstantVariable) and result.value is None):
            raise raise_exception(frame, TypeError, "__init__() should return None")
    return obj


def new_object(frame, cls: type) -> Variable:
    """object.__new__(cls)."""
    from dynamo.variables.object import ObjectVariable

    abstract = getattr(cls, "__abstractmethods__", None)
    if abstract:
        names = ", ".join(repr(n) for n in sorted(abstract))
        plural = "s" if len(abstract) > 1 else ""
        text = f"Can't instantiate abstract class {cls.__name__} with abstract method{plural} {names}"
        raise raise_exception(frame, TypeError, text)
    return ObjectVariable(cls)


def new_exception(frame, cls: type, args, kwargs) -> ExceptionVariable:
    from dynamo.variables.object import lookup

    value = ExceptionVariable(cls, list(args))
    init = lookup(cls, "__init__")
    if isinstance(init, types.FunctionType):
        FunctionVariable(init).call(frame, [value, *args], kwargs)
    elif kwargs:
        value.attributes.update(kwargs)
    return value


def _metaclass_call(meta: type):
    """A `__call__` written in Python on the metaclass, or None."""
    from dynamo.variables.object import lookup

    if meta is type:
        return None
    found = lookup(meta, "__call__")
    return found if isinstance(found, types.FunctionType) else None


def new_tuple(frame, args, kwargs) -> Variable:
    """tuple.__new__(cls, items): also what named tuples are made by."""
    from dynamo.variables.sequence import NamedTupleVariable, TupleVariable

    cls = args[0].as_python()
    items = args[1].unpack(frame) if len(args) > 1 else []
    if cls is tuple:
        return TupleVariable(items)
    if not hasattr(cls, "_fields"):
        raise Unsupported(graph_break.UNKNOWN_VALUE, f"a subclass of tuple, {cls.__qualname__}")
    return NamedTupleVariable(items, cls)


def default_dict(frame, args, kwargs) -> Variable:
    """collections.defaultdict(factory, …)."""
    from dynamo.variables.mapping import DictVariable

    new = DictVariable(cls=collections.defaultdict, default_factory=args[0] if args else NONE)
    if len(args) > 1:
        new.merge(frame, args[1])
    for k, v in kwargs.items():
        new.setitem(frame, literal(frame, k), v)
    return new
