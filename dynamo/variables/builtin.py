"""Python's builtins on values being traced.

`FUNCTIONS` and `CLASSES` map the real object to its handler(frame, args, kwargs).
"""

from __future__ import annotations

import builtins
import collections
import operator
from collections.abc import Callable
from typing import Any

from dynamo import graph_break
from dynamo.graph_break import NotConstant, Raised, Unsupported
from dynamo.interpreter import operators
from dynamo.variables import iterator as iterators
from dynamo.variables.base import Exhausted, Variable
from dynamo.variables.constant import NONE, ConstantVariable, boolean, literal, plain
from dynamo.variables.construct import default_dict, new_object, new_tuple
from dynamo.variables.exception import raise_exception, run_python
from dynamo.variables.mapping import DictVariable, SetVariable
from dynamo.variables.object import ObjectVariable
from dynamo.variables.sequence import ListVariable, SliceVariable, TupleVariable, sort_items
from dynamo.variables.super import SuperVariable
from dynamo.variables.symint import SymbolicVariable, symbolic

FUNCTIONS: dict[Any, Callable] = {}
CLASSES: dict[type, Callable] = {}


def builtin(*objects: Any):
    """Declare the handler of builtin functions or classes: rule(frame, *args, **kwargs) on Variables."""

    def declare(rule):
        def handler(frame, args, kwargs):
            try:
                return rule(frame, *args, **kwargs)
            except TypeError as e:
                if (
                    e.__traceback__ is not None and e.__traceback__.tb_next is None
                ):  # the arguments did not fit the rule
                    raise Unsupported(graph_break.UNKNOWN_CALL, f"{objects[0].__name__} with these arguments") from e
                raise

        for o in objects:
            (CLASSES if isinstance(o, type) else FUNCTIONS)[o] = handler
        return rule

    return declare


# ------------------------------------------------------------------------------------------- types, names
@builtin(isinstance)
def isinstance_(frame, value, classes):
    return boolean(issubclass(value.python_type(), classes_of(frame, classes)))


@builtin(issubclass)
def issubclass_(frame, cls, classes):
    return literal(frame, run_python(frame, issubclass, cls.as_python(), classes_of(frame, classes)))


def classes_of(frame, value: Variable):
    if isinstance(value, TupleVariable):
        return tuple(classes_of(frame, v) for v in value.unpack(frame))
    return value.as_python()


@builtin(type)
def type_(frame, value, *rest):
    if rest:
        raise Unsupported(graph_break.UNKNOWN_OPCODE, "a class made by type()")
    return literal(frame, value.python_type())


@builtin(callable)
def callable_(frame, value):
    return boolean(callable(getattr(value.python_type(), "__call__", None)))  # noqa: B004  (of instances)


@builtin(id)
def id_(frame, value):
    if value.source is None or not hasattr(value, "value"):
        raise value.unsupported("id()")
    frame.output.guard_same(value.source, value.value)
    return ConstantVariable(id(value.value))


@builtin(hash)
def hash_(frame, value):
    return literal(frame, run_python(frame, hash, value.as_python()))


@builtin(getattr)
def getattr_(frame, obj, name, default=None):
    try:
        return obj.getattr(frame, name.as_python())
    except Raised as r:
        if default is not None and issubclass(r.value.cls, AttributeError):
            return default
        raise


@builtin(hasattr)
def hasattr_(frame, obj, name):
    return boolean(obj.hasattr(frame, name.as_python()))


@builtin(setattr)
def setattr_(frame, obj, name, value):
    obj.setattr(frame, name.as_python(), value)
    return NONE


@builtin(delattr)
def delattr_(frame, obj, name):
    obj.delattr(frame, name.as_python())
    return NONE


@builtin(vars)
def vars_(frame, obj):
    return obj.getattr(frame, "__dict__")


@builtin(super)
def super_(frame, cls=None, obj=None):
    if cls is None:
        cell = frame.locals.get("__class__")
        cls = cell.load(frame)
        first = frame.code.co_varnames[0]
        obj = frame.locals[first]
        obj = obj.load(frame) if hasattr(obj, "load") else obj.realize(frame)
    return SuperVariable(cls, obj)


@builtin(object)
def object_(frame):
    return ObjectVariable(object)


FUNCTIONS[object.__new__] = lambda frame, args, kwargs: new_object(frame, args[0].as_python())
FUNCTIONS[tuple.__new__] = new_tuple
FUNCTIONS[object.__setattr__] = lambda frame, args, kwargs: (
    args[0].generic_setattr(frame, args[1].as_python(), args[2]) or NONE
)
FUNCTIONS[object.__getattribute__] = lambda frame, args, kwargs: args[0].generic_getattr(frame, args[1].as_python())
FUNCTIONS[object.__init__] = lambda frame, args, kwargs: NONE


@builtin(globals)
def globals_(frame):
    raise Unsupported(graph_break.UNKNOWN_CALL, "globals()")


# ---------------------------------------------------------------------------------------------- numbers
def _number(cls):
    def convert(frame, value=None, *rest):
        if value is None:
            return ConstantVariable(cls())
        special = value.special(frame, f"__{cls.__name__}__") if isinstance(value, ObjectVariable) else None
        if special is not None:
            return special.call(frame, [], {})
        if isinstance(value, SymbolicVariable):
            return convert_symbolic(frame, cls, value)
        if not value.is_constant() or isinstance(value, TupleVariable):
            return value.method(frame, f"__{cls.__name__}__", [], {})
        return literal(frame, run_python(frame, cls, value.as_python(), *[plain(r) for r in rest]))

    return convert


def convert_symbolic(frame, cls: type, value: SymbolicVariable) -> Variable:
    """int(size) and float(size) stay symbolic."""
    from aten.symbolic.symint import sym_float, sym_int

    if cls is int:
        return symbolic(frame, sym_int(value.value)) if value.python_type() is not int else value
    if cls is float:
        return symbolic(frame, sym_float(value.value)) if value.python_type() is not float else value
    return ConstantVariable(cls(value.specialize()))


for _cls in (int, float, complex):
    builtin(_cls)(_number(_cls))


@builtin(bool)
def bool_(frame, value=None):
    return boolean(value is not None and value.truth(frame))


@builtin(abs)
def abs_(frame, value):
    return value.method(frame, "__abs__", [], {}) if not value.is_constant() else value.unary(frame, operator.abs)


@builtin(round)
def round_(frame, value, ndigits=NONE):
    if isinstance(value, SymbolicVariable):
        return symbolic(frame, round(value.value, *([] if ndigits is NONE else [ndigits.as_python()])))
    if not value.is_constant():
        return value.method(frame, "round", [], {} if ndigits is NONE else {"decimals": ndigits})
    return literal(frame, run_python(frame, round, value.as_python(), ndigits.as_python()))


@builtin(pow)
def pow_(frame, base, exponent, modulus=None):
    if modulus is not None:
        return literal(frame, run_python(frame, pow, base.as_python(), exponent.as_python(), modulus.as_python()))
    return operators.binary(frame, operator.pow, base, exponent)


@builtin(divmod)
def divmod_(frame, a, b):
    return TupleVariable(
        [operators.binary(frame, operator.floordiv, a, b), operators.binary(frame, operator.mod, a, b)]
    )


for _function in (ord, chr, bin, hex, oct):
    FUNCTIONS[_function] = lambda frame, args, kwargs, f=_function: literal(frame, run_python(frame, f, plain(args[0])))


def _extreme(name: str, better):
    def rule(frame, *values, key=None, default=None):
        items = values[0].unpack(frame) if len(values) == 1 else list(values)
        if not items:
            if default is not None:
                return default
            raise raise_exception(frame, ValueError, f"{name}() iterable argument is empty")
        numbers = [v for v in items if isinstance(v, SymbolicVariable)]
        if numbers and key is None and all(isinstance(v, (SymbolicVariable, ConstantVariable)) for v in items):
            from aten.symbolic import symint

            return symbolic(frame, getattr(symint, f"sym_{name}")(*[v.value for v in items]))
        best, best_key = items[0], items[0] if key is None else key.call(frame, [items[0]], {})
        for item in items[1:]:
            item_key = item if key is None else key.call(frame, [item], {})
            if operators.binary(frame, better, item_key, best_key).truth(frame):
                best, best_key = item, item_key
        return best

    return rule


builtin(min)(_extreme("min", operator.lt))
builtin(max)(_extreme("max", operator.gt))


@builtin(sum)
def sum_(frame, values, start=ConstantVariable(0)):
    total = start
    for v in values.unpack(frame):
        total = operators.binary(frame, operator.add, total, v)
    return total


@builtin(any)
def any_(frame, values):
    it = values.iterate(frame)
    while True:
        try:
            if it.next(frame).truth(frame):
                return boolean(True)
        except Exhausted:
            return boolean(False)


@builtin(all)
def all_(frame, values):
    it = values.iterate(frame)
    while True:
        try:
            if not it.next(frame).truth(frame):
                return boolean(False)
        except Exhausted:
            return boolean(True)


# -------------------------------------------------------------------------------------------- iteration
@builtin(len)
def len_(frame, value):
    return value.length(frame)


@builtin(iter)
def iter_(frame, value, sentinel=None):
    return value.iterate(frame) if sentinel is None else iterators.CallIterator(value, sentinel)


@builtin(next)
def next_(frame, it, default=None):
    try:
        return it.next(frame)
    except Exhausted as e:
        if default is not None:
            return default
        from dynamo.variables.exception import ExceptionVariable

        raise Raised(ExceptionVariable(StopIteration, [e.value] if e.value is not None else [])) from None


@builtin(range)
def range_(frame, *args):
    return ConstantVariable(run_python(frame, range, *[plain(a) for a in args]))


@builtin(enumerate)
def enumerate_(frame, values, start=ConstantVariable(0)):
    return iterators.EnumerateIterator(values.iterate(frame), plain(start))


@builtin(zip)
def zip_(frame, *values, strict=ConstantVariable(False)):
    return iterators.ZipIterator([v.iterate(frame) for v in values], strict.truth(frame))


@builtin(map)
def map_(frame, function, *values):
    return iterators.MapIterator(function, [v.iterate(frame) for v in values])


@builtin(filter)
def filter_(frame, function, values):
    return iterators.FilterIterator(function, values.iterate(frame))


@builtin(reversed)
def reversed_(frame, values):
    if isinstance(values, ObjectVariable):
        method = values.special(frame, "__reversed__")
        if method is not None:
            return method.call(frame, [], {})
        n = values.length(frame).as_python()
        return iterators.ItemsIterator([values.getitem(frame, ConstantVariable(i)) for i in reversed(range(n))])
    return iterators.ItemsIterator(values.unpack(frame)[::-1])


@builtin(sorted)
def sorted_(frame, values, *, key=None, reverse=None):
    return ListVariable(sort_items(frame, values.unpack(frame), key, reverse))


# ------------------------------------------------------------------------------------------- containers
@builtin(list)
def list_(frame, values=None):
    return ListVariable([] if values is None else values.unpack(frame))


@builtin(tuple)
def tuple_(frame, values=None):
    if type(values) is TupleVariable:
        return values
    return TupleVariable([] if values is None else values.unpack(frame))


@builtin(set)
def set_(frame, values=None):
    return SetVariable([] if values is None else values.unpack(frame))


@builtin(frozenset)
def frozenset_(frame, values=None):
    return SetVariable([] if values is None else values.unpack(frame), frozen=True)


def _dict(cls):
    def rule(frame, *args, **kwargs):
        new = DictVariable(cls=cls)
        for other in args:
            new.merge(frame, other)
        for name, value in kwargs.items():
            new.setitem(frame, ConstantVariable(name), value)
        return new

    return rule


builtin(dict)(_dict(dict))
builtin(collections.OrderedDict)(_dict(collections.OrderedDict))
CLASSES[collections.defaultdict] = default_dict


def _fromkeys(frame, args, kwargs):
    value = args[1] if len(args) > 1 else NONE
    return DictVariable.of([(k, value) for k in args[0].unpack(frame)])


FUNCTIONS[dict.fromkeys] = _fromkeys


@builtin(slice)
def slice_(frame, *parts):
    values = {1: [NONE, *parts, NONE], 2: [*parts, NONE], 3: list(parts)}[len(parts)]
    return SliceVariable(values)


# ----------------------------------------------------------------------------------------------- strings
@builtin(str)
def str_(frame, value=None, *rest):
    return ConstantVariable("") if value is None else operators.text(frame, value, str)


@builtin(repr)
def repr_(frame, value):
    return operators.text(frame, value, repr)


@builtin(format)
def format_(frame, value, spec=ConstantVariable("")):
    from dynamo.variables import text

    return ConstantVariable(text.formatted(frame, value, spec.as_python()))


@builtin(bytes)
def bytes_(frame, *values):
    return literal(frame, run_python(frame, bytes, *[v.as_python() for v in values]))


def _outside_world(name: str):
    def handler(frame, args, kwargs):
        raise Unsupported(graph_break.OUTSIDE_WORLD, f"{name}()")

    return handler


for _name in ("print", "input", "open", "exec", "eval", "compile", "__import__", "breakpoint"):
    FUNCTIONS[getattr(builtins, _name)] = _outside_world(_name)


# ------------------------------------------------------------------------------------------- other tables
def _operator_rows() -> None:
    two = [*operators.BINARY, *operators.COMPARE.values()]
    for op in two:
        FUNCTIONS[op] = lambda frame, args, kwargs, op=op: operators.binary(frame, op, *args)
    for op in (operator.neg, operator.pos, operator.invert, operator.not_):
        FUNCTIONS[op] = lambda frame, args, kwargs, op=op: operators.unary(frame, op, *args)
    FUNCTIONS[operator.truth] = lambda frame, args, kwargs: boolean(args[0].truth(frame))
    FUNCTIONS[operator.abs] = lambda frame, args, kwargs: abs_(frame, *args)
    FUNCTIONS[operator.is_] = lambda frame, args, kwargs: boolean(operators.same(frame, *args))
    FUNCTIONS[operator.is_not] = lambda frame, args, kwargs: boolean(not operators.same(frame, *args))
    FUNCTIONS[operator.contains] = lambda frame, args, kwargs: boolean(operators.contains(frame, *args))
    FUNCTIONS[operator.getitem] = lambda frame, args, kwargs: args[0].getitem(frame, args[1])
    FUNCTIONS[operator.setitem] = lambda frame, args, kwargs: args[0].setitem(frame, args[1], args[2]) or NONE
    FUNCTIONS[operator.delitem] = lambda frame, args, kwargs: args[0].delitem(frame, args[1]) or NONE
    FUNCTIONS[operator.index] = lambda frame, args, kwargs: CLASSES[int](frame, args, kwargs)
    FUNCTIONS[operator.length_hint] = lambda frame, args, kwargs: args[0].length(frame)


_operator_rows()


def constant_function(function: Callable) -> Callable:
    """A handler that runs a pure function on constants; other arguments break the graph."""

    def handler(frame, args, kwargs):
        try:
            values = [a.as_python() for a in args]
            named = {k: v.as_python() for k, v in kwargs.items()}
        except NotConstant:
            if not any(isinstance(a, SymbolicVariable) for a in args):
                raise Unsupported(
                    graph_break.UNKNOWN_CALL, f"{function.__name__} of {', '.join(a.describe() for a in args)}"
                ) from None
            values = [plain(a) for a in args]
            named = {k: plain(v) for k, v in kwargs.items()}
        return literal(frame, run_python(frame, function, *values, **named))

    return handler
