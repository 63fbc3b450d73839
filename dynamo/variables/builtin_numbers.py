"""Python's builtins about numbers and text."""

from __future__ import annotations

import _operator as operator
import sys
from collections.abc import Callable

from aten.symbolic import symint
from dynamo.variables.base import Exhausted, Variable
from dynamo.variables.builtin import FUNCTIONS, builtin
from dynamo.variables.constant import NONE, ConstantVariable, literal, plain
from dynamo.variables.exception import run_python
from dynamo.variables.symint import SymbolicVariable, fits, is_large, symbolic

# What a class of numbers asks the value for, in order.
ASKED: dict[type, tuple[str, ...]] = {
    int: ("__int__", "__index__", "__trunc__"),
    float: ("__float__", "__index__"),
    complex: ("__complex__", "__float__", "__index__"),
}
COMPENSATED = sys.version_info >= (3, 12)  # sum() of floats keeps the rounding errors


def _number(cls: type) -> Callable:
    def convert(frame, value=None, /, *rest, **named):
        if value is None or rest or named:
            others = [plain(r) for r in rest], {k: plain(v) for k, v in named.items()}
            values = [] if value is None else [frame.ops.real(frame, value)]
            return literal(frame, run_python(frame, cls, *values, *others[0], **others[1]))
        if isinstance(value, SymbolicVariable):
            return convert_symbolic(cls, value, frame)
        if isinstance(value, ConstantVariable):
            return literal(frame, run_python(frame, cls, value.value))
        asked = () if cls is complex and issubclass(value.python_type(), str) else ASKED[cls]  # (text is read before it is asked)
        for name in asked:
            if not frame.world.lacks(value.python_type(), name):
                return converted(frame, cls, name, value, frame.ops.special(frame, value, name))
        native = getattr(value, "native", None)
        if isinstance(native, ConstantVariable) and isinstance(native.value, str if cls is complex else (str, bytes)):
            return literal(frame, run_python(frame, cls, native.value))
        raise frame.ops.refused(frame, cls, value)

    return convert


def converted(frame, cls: type, name: str, value: Variable, result: Variable) -> Variable:
    """What a special method of conversion gave for a value, as a number of the class."""
    if name == "__index__" and isinstance(result, SymbolicVariable) and result.python_type() is int:
        return convert_symbolic(cls, result, frame)
    if not result.is_constant() or name == "__trunc__":
        return result
    made = type(value.type_name(), (), {name: lambda self: result.as_python()})
    return literal(frame, run_python(frame, cls, made()))


def convert_symbolic(cls: type, value: SymbolicVariable, frame) -> Variable:
    """int(size) and float(size) stay symbolic."""
    if cls is int and fits(frame, value.value):
        return symbolic(frame, symint.sym_int(value.value)) if value.python_type() is not int else value
    if cls is float:
        return symbolic(frame, symint.sym_float(value.value)) if value.python_type() is not float else value
    return literal(frame, run_python(frame, cls, value.specialize()))


for _cls in ASKED:
    builtin(_cls)(_number(_cls))


@builtin(bool)
def bool_(frame, value=None, /):
    return value is not None and value.truth(frame)


@builtin(abs)
def abs_(frame, value, /):
    return frame.ops.unary(frame, operator.abs, value)


@builtin(round)
def round_(frame, number, ndigits=NONE):
    digits = [] if ndigits.is_same(NONE) else [ndigits]
    if isinstance(number, SymbolicVariable) and number.python_type() not in (int, float):
        number = number.constant()
    if isinstance(number, SymbolicVariable):
        return symbolic(frame, run_python(frame, round, number.value, *[d.as_python() for d in digits]))
    if isinstance(number, ConstantVariable):
        return literal(frame, run_python(frame, round, number.value, *[d.as_python() for d in digits]))
    if frame.world.lacks(number.python_type(), "__round__"):
        raise frame.ops.refused(frame, round, number)
    return frame.ops.special(frame, number, "__round__", *digits)


@builtin(pow)
def pow_(frame, base, exp, mod=NONE):
    if mod.is_same(NONE):
        return frame.ops.binary(frame, operator.pow, base, exp)
    return literal(frame, run_python(frame, pow, base.as_python(), exp.as_python(), mod.as_python()))


@builtin(divmod)
def divmod_(frame, a, b, /):
    if isinstance(a, ConstantVariable) and isinstance(b, ConstantVariable):
        return literal(frame, run_python(frame, divmod, a.value, b.value))
    if _is_real(a) and _is_real(b):
        if float in (a.python_type(), b.python_type()) and not b.truth(frame):
            return literal(frame, run_python(frame, divmod, plain(a), plain(b)))
        parts = [frame.ops.binary(frame, op, a, b) for op in (operator.floordiv, operator.mod)]
        return frame.values.tuple_(parts)
    asked = [(a, "__divmod__", b), (b, "__rdivmod__", a)]
    if a.python_type() is b.python_type():
        asked.pop()  # (one class is asked once)
    elif frame.ops.right_first(frame, a, b, "__rdivmod__"):
        asked.reverse()
    for one, name, other in asked:
        if frame.world.lacks(one.python_type(), name) or isinstance(one, (ConstantVariable, SymbolicVariable)):
            continue
        result = frame.ops.special(frame, one, name, other)
        if not (isinstance(result, ConstantVariable) and result.value is NotImplemented):
            return result
    raise frame.ops.refused(frame, divmod, a, b)


def _is_real(number: Variable) -> bool:
    return isinstance(number, SymbolicVariable) or (
        isinstance(number, ConstantVariable) and type(number.value) in (int, float, bool)
    )


for _function in (ord, chr, bin, hex, oct):
    FUNCTIONS[_function] = lambda frame, args, kwargs, f=_function: of_text(frame, f, args, kwargs)


def of_text(frame, function: Callable, args, kwargs) -> Variable:
    """ord(), chr() and the like, of one value."""
    if len(args) != 1 or kwargs:
        run_python(frame, function, *[plain(a) for a in args], **{k: plain(v) for k, v in kwargs.items()})
    value = args[0]
    if function is not ord and not value.is_constant() and not isinstance(value, SymbolicVariable):
        return literal(frame, run_python(frame, function, frame.ops.index(frame, value, function)))
    if function is ord and not isinstance(value, ConstantVariable):
        raise frame.ops.refused(frame, ord, value)
    return literal(frame, run_python(frame, function, plain(value)))


# ------------------------------------------------------------------------------------------- many at once
def _extreme(function: Callable, better):
    def rule(frame, *values, key=NONE, default=None):
        if not values or (len(values) > 1 and default is not None):
            run_python(frame, function, *[plain(v) for v in values], **({} if default is None else {"default": None}))
        if len(values) == 1:
            items = values[0].unpack_unordered(frame) if key.is_same(NONE) else values[0].unpack(frame)
        else:
            items = list(values)
        if not items:
            return default if default is not None else literal(frame, run_python(frame, function, ()))
        if key.is_same(NONE) and any(isinstance(v, SymbolicVariable) for v in items):
            kinds = {v.python_type() for v in items}  # (of NumPy's numbers it is one of them, with its class)
            if len(kinds) == 1 and kinds <= {int, float, bool} and not any(is_large(v.value) for v in items):
                chosen = getattr(symint, f"sym_{function.__name__}")
                return symbolic(frame, chosen(*[v.value for v in items]))
        best, best_key = items[0], key_of(frame, key, items[0])
        for item in items[1:]:
            item_key = key_of(frame, key, item)
            if frame.ops.binary(frame, better, item_key, best_key).truth(frame):
                best, best_key = item, item_key
        return best

    return rule


def key_of(frame, key: Variable, item: Variable) -> Variable:
    return item if key.is_same(NONE) else key.call(frame, [item], {})


builtin(min)(_extreme(min, operator.lt))
builtin(max)(_extreme(max, operator.gt))


@builtin(sum)
def sum_(frame, iterable, /, start=ConstantVariable(0)):
    if start.is_constant() and isinstance(start.as_python(), (str, bytes, bytearray)):
        run_python(frame, sum, (), start.as_python())
    if start.is_constant() and type(start.as_python()) is int and issubclass(iterable.python_type(), (set, frozenset)):
        iterable = frame.values.list_(iterable.unpack_unordered(frame))
    numbers, it = [start], iterable.iterate(frame)
    total = None if is_number(start) else start
    while True:
        try:
            item = it.next(frame).realize(frame)
        except Exhausted:
            return summed(frame, numbers) if total is None else total
        if total is None and is_number(item):
            numbers.append(item)
            continue
        total = frame.ops.binary(frame, operator.add, summed(frame, numbers) if total is None else total, item)


def is_number(v: Variable) -> bool:
    return isinstance(v, SymbolicVariable) or (isinstance(v, ConstantVariable) and isinstance(v.value, (int, float, complex)))


def summed(frame, numbers: list[Variable]) -> Variable:
    """sum() of numbers, the first of which it starts from."""
    if COMPENSATED and any(isinstance(v, SymbolicVariable) and v.python_type() is float for v in numbers):
        numbers = [ConstantVariable(v.as_python()) if isinstance(v, SymbolicVariable) else v for v in numbers]
    if all(isinstance(v, ConstantVariable) for v in numbers):
        return literal(frame, run_python(frame, sum, [v.as_python() for v in numbers[1:]], numbers[0].as_python()))
    total, *rest = numbers
    for v in rest:
        total = frame.ops.binary(frame, operator.add, total, v)
    return total


@builtin(any)
def any_(frame, iterable, /):
    return first_of(frame, iterable, True)


@builtin(all)
def all_(frame, iterable, /):
    return not first_of(frame, iterable, False)


def first_of(frame, iterable: Variable, wanted: bool) -> bool:
    """Whether an item has this truth; those behind it are not looked at."""
    it = iterable.iterate(frame)
    while True:
        try:
            if it.next(frame).truth(frame) is wanted:
                return True
        except Exhausted:
            return False


# ----------------------------------------------------------------------------------------------- strings
@builtin(str)
def str_(frame, object=None, *rest, **named):
    if object is None and not named:
        return ConstantVariable("")
    if object is None:
        object = ConstantVariable(b"")
    if rest or named:
        args = [frame.ops.real(frame, v) for v in (object, *rest)]
        return literal(frame, run_python(frame, str, *args, **{k: plain(v) for k, v in named.items()}))
    return frame.ops.text(frame, object, str)


@builtin(repr)
def repr_(frame, value, /):
    return frame.ops.text(frame, value, repr)


@builtin(ascii)
def ascii_(frame, value, /):
    return frame.ops.text(frame, value, ascii)


@builtin(format)
def format_(frame, value, spec=ConstantVariable(""), /):
    return frame.ops.formatted(frame, value, plain(spec))


@builtin(bytes)
def bytes_(frame, *values, **named):
    args = [frame.ops.real(frame, v) for v in values]
    return literal(frame, run_python(frame, bytes, *args, **{k: plain(v) for k, v in named.items()}))
