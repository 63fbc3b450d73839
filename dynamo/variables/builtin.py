"""Python's builtins on values being traced: the tables, and the builtins about types and names.

`FUNCTIONS` and `CLASSES` map the real object to its handler(frame, args, kwargs).
"""

from __future__ import annotations

import _operator as operator
import abc
import builtins
import os
import types
from collections.abc import Callable
from typing import Any

from dynamo import breaks
from dynamo.breaks import NotConstant, Raised, Unsupported
from dynamo.bytecode.instruction import VERSION
from dynamo.operators import ROWS, UNARY
from dynamo.variables import attributes
from dynamo.variables.base import Variable, accepts
from dynamo.variables.constant import NONE, ConstantVariable, boolean, literal, plain
from dynamo.variables.construct import CLASSES, new_tuple
from dynamo.variables.exception import raise_exception, run_python
from dynamo.variables.object import ObjectVariable
from dynamo.variables.super import SuperVariable
from dynamo.variables.symint import SymbolicVariable

FUNCTIONS: dict[Any, Callable] = {}


def builtin(*objects: Any):
    """Declare the handler of builtin functions or classes: rule(frame, *args, **kwargs) on Variables."""

    def declare(rule):
        def handler(frame, args, kwargs):
            if not accepts(rule, len(args) + 1, kwargs):
                raise Unsupported(breaks.UNKNOWN_CALL, f"{objects[0].__name__} with these arguments")
            return frame.values.plain_answer(rule(frame, *args, **kwargs))

        for o in objects:
            (CLASSES if isinstance(o, type) else FUNCTIONS)[o] = handler
        return rule

    return declare


def constant_function(function: Callable) -> Callable:
    """A handler that runs a pure function on constants; other arguments break the graph."""

    def handler(frame, args, kwargs):
        try:
            values = [a.as_python() for a in args]
            named = {k: v.as_python() for k, v in kwargs.items()}
        except NotConstant:
            if not any(isinstance(a, SymbolicVariable) for a in args):
                raise Unsupported(breaks.UNKNOWN_CALL, f"{function.__name__} of {', '.join(a.describe() for a in args)}") from None
            values = [plain(a) for a in args]
            named = {k: plain(v) for k, v in kwargs.items()}
        return literal(frame, run_python(frame, function, *values, **named))

    return handler


# ------------------------------------------------------------------------------------------- types, names
@builtin(isinstance)
def isinstance_(frame, value, classes):
    return is_instance(frame, value, value.python_type(), isinstance, classes, "__instancecheck__")


@builtin(issubclass)
def issubclass_(frame, cls, classes):
    if not isinstance(cls, frame.values.ClassVariable):
        raise frame.ops.refused(frame, issubclass, cls, classes)
    return is_instance(frame, cls, cls.as_python(), issubclass, classes, "__subclasscheck__")


def is_instance(frame, value: Variable, cls: type, function: Callable, classes: Variable, hook: str) -> bool:
    """isinstance() or issubclass() of a value whose class is known."""
    if isinstance(classes, frame.values.TupleVariable):
        return any(is_instance(frame, value, cls, function, c, hook) for c in classes.unpack(frame))
    if not classes.is_constant():  # an object that answers itself, as `typing.Mapping` does
        asked = frame.world.on_class(classes.python_type(), hook)
        if isinstance(asked, types.FunctionType):
            return frame.world.known(asked).call(frame, [classes, value], {}).truth(frame)
    wanted = classes.as_python()
    if type(wanted) is types.UnionType and not any(type(c) is types.GenericAlias for c in wanted.__args__):  # type: ignore[comparison-overlap]
        return any(is_instance(frame, value, cls, function, literal(frame, c), hook) for c in wanted.__args__)
    if function is isinstance and cls is wanted:  # nobody is asked
        return True
    own = frame.world.on_class(type(wanted), hook)
    if isinstance(own, types.FunctionType) and own is not abc.ABCMeta.__dict__[hook]:
        return frame.world.known(own).call(frame, [classes, value], {}).truth(frame)
    if own in (type.__dict__["__instancecheck__"], type.__dict__["__subclasscheck__"]):  # they ask no other hook
        return frame.world.inherits(cls, wanted) or (function is isinstance and claims(frame, value, wanted))
    if isinstance(wanted, type):
        return frame.world.is_subclass(cls, wanted) or (function is isinstance and claims(frame, value, wanted))
    run_python(frame, function, *((object(),) if function is isinstance else (object,)), wanted)
    return run_python(frame, issubclass, cls, wanted)


def claims(frame, value: Variable, wanted: type) -> bool:
    """Whether the class that a value says to be of is, or comes from, the one that is wanted."""
    claimed = attributes.claimed_class(frame, value)
    if claimed is None:
        return False
    return frame.world.inherits(claimed, wanted) if type(wanted) is type else frame.world.is_subclass(claimed, wanted)


@builtin(type)
def type_(frame, value, *rest):
    if rest:
        raise Unsupported(breaks.UNKNOWN_OPCODE, "a class made by type()")
    return frame.world.known(value.python_type())


@builtin(callable)
def callable_(frame, value):
    return not frame.world.lacks(value.python_type(), "__call__")


@builtin(id)
def id_(frame, value):
    real = getattr(value, "value", None)
    if real is None:
        real = getattr(value, "function", None)
    symbol = isinstance(value, frame.values.SymbolicVariable)
    if value.source is None or real is None or symbol or issubclass(type(real), Variable):
        raise value.unsupported("id()")
    frame.world.same(value.source, real)
    return ConstantVariable(id(real))


@builtin(os.fspath)
def fspath(frame, path, /):
    if issubclass(path.python_type(), (str, bytes)):
        return path
    if frame.world.lacks(path.python_type(), "__fspath__"):
        raise frame.ops.refused(frame, os.fspath, path)
    return frame.ops.special(frame, path, "__fspath__")


@builtin(hash)
def hash_(frame, value):
    return ConstantVariable(frame.ops.hash_value(frame, value))


@builtin(getattr)
def getattr_(frame, obj, name, default=None, /):
    text = attributes.name_given(frame, name)
    try:
        return obj.getattr(frame, text)
    except Raised as r:
        if not issubclass(r.value.cls, AttributeError):
            raise
        if default is None:
            r.value.about(frame, name=name, obj=obj)
            raise
        return default


@builtin(hasattr)
def hasattr_(frame, obj, name, /):
    return obj.hasattr(frame, attributes.name_given(frame, name, hasattr))


@builtin(setattr)
def setattr_(frame, obj, name, value, /):
    obj.setattr(frame, attributes.name_given(frame, name, setattr), value)


@builtin(delattr)
def delattr_(frame, obj, name, /):
    obj.delattr(frame, attributes.name_given(frame, name, delattr))


@builtin(vars)
def vars_(frame, obj, /):
    try:
        return obj.getattr(frame, "__dict__")
    except Raised as r:
        if not issubclass(r.value.cls, AttributeError):
            raise
    raise raise_exception(frame, TypeError, "vars() argument must have __dict__ attribute")


@builtin(super)
def super_(frame, cls=None, obj=None, /):
    if cls is None:
        cls, obj = _implicit(frame)
    if not issubclass(cls.python_type(), type):
        raise raise_exception(frame, TypeError, f"super() argument 1 must be a type, not {cls.type_name()}")
    if obj is None or issubclass(obj.python_type(), types.NoneType):  # (C takes None for no object)
        raise Unsupported(breaks.UNKNOWN_CALL, "super() of no object")
    return SuperVariable(cls, obj)


def _implicit(frame) -> tuple:
    """What super() without arguments means: the cell `__class__` and the first argument."""
    if not frame.code.co_argcount:
        raise raise_exception(frame, RuntimeError, "super(): no arguments")
    first = frame.locals.get(frame.code.co_varnames[0])
    obj = first.load(frame) if hasattr(first, "load") else first
    cell = frame.locals.get("__class__")
    if obj is None and cell is not None:  # (elsewhere the rest of a frame has no arguments that it does not read)
        raise raise_exception(frame, RuntimeError, "super(): arg[0] deleted")
    if cell is None:
        raise raise_exception(frame, RuntimeError, "super(): __class__ cell not found")
    cls = cell.load(frame)
    if cls is None:
        raise raise_exception(frame, RuntimeError, "super(): empty __class__ cell")
    return cls, obj.realize(frame)


@builtin(object)
def object_(frame):
    return ObjectVariable(object)


FUNCTIONS[tuple.__new__] = new_tuple


@builtin(globals)
def globals_(frame):
    raise Unsupported(breaks.UNKNOWN_CALL, "globals()")


def _outside_world(name: str):
    def handler(frame, args, kwargs):
        raise Unsupported(breaks.OUTSIDE_WORLD, f"{name}()")

    return handler


for _name in ("print", "input", "open", "exec", "eval", "compile", "__import__", "breakpoint"):
    FUNCTIONS[getattr(builtins, _name)] = _outside_world(_name)


# ------------------------------------------------------------------------------------- the module operator
def _operator_rows() -> None:
    for op in ROWS:
        builtin(op)(lambda frame, a, b, /, op=op: frame.ops.binary(frame, op, a, b))
    for op in (*UNARY, operator.not_):
        builtin(op)(lambda frame, a, /, op=op: frame.ops.unary(frame, op, a))
    builtin(operator.truth)(lambda frame, a, /: a.truth(frame))
    builtin(operator.is_)(lambda frame, a, b, /: boolean(frame.ops.same(frame, a, b)))
    builtin(operator.is_not)(lambda frame, a, b, /: boolean(not frame.ops.same(frame, a, b)))
    if VERSION >= (3, 14):
        builtin(operator.is_none)(lambda frame, a, /: boolean(frame.ops.same(frame, a, NONE)))  # type: ignore[attr-defined]
        builtin(operator.is_not_none)(lambda frame, a, /: boolean(not frame.ops.same(frame, a, NONE)))  # type: ignore[attr-defined]
    builtin(operator.contains)(lambda frame, a, b, /: frame.ops.contained(frame, a, b))
    builtin(operator.getitem)(lambda frame, a, b, /: a.getitem(frame, b))
    builtin(operator.setitem)(lambda frame, a, b, c, /: a.setitem(frame, b, c))
    builtin(operator.delitem)(lambda frame, a, b, /: a.delitem(frame, b))
    builtin(operator.index)(lambda frame, a, /: a if is_symbolic_int(a) else literal(frame, frame.ops.index(frame, a)))


@builtin(operator.length_hint)
def length_hint(frame, value, default=None, /):
    default = ConstantVariable(0) if default is None else default
    if not issubclass(default.python_type(), int):
        raise frame.ops.refused(frame, operator.length_hint, value, default)
    cls = value.python_type()
    if not frame.world.lacks(cls, "__len__"):
        try:
            return value.length(frame)
        except Raised as raised:  # (it has none after all, as a tensor without dimensions)
            if not issubclass(raised.value.python_type(), TypeError):
                raise
    if frame.world.lacks(cls, "__length_hint__"):
        return default
    raise value.unsupported("operator.length_hint")


def is_symbolic_int(value: Variable) -> bool:
    return isinstance(value, SymbolicVariable) and value.python_type() is int


_operator_rows()
