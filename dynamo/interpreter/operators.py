"""The protocol of Python's operators on values of any kinds: who is asked, in which order, and what if nobody knows.

Kinds answer `binary` and `reflected` with None for NotImplemented. What a kind has no rule for is Unsupported; an error
of the traced program comes only from classes that lack the special methods, in the words of Python itself (`refused`).
"""

from __future__ import annotations

import _operator as operator
import collections
import types
from collections.abc import Callable
from operator import index as as_index  # (programs patch modules, and tracing must not see it)
from typing import Any

import numpy as np

from aten.symbolic.symint import SymBool
from dynamo import guards
from dynamo.breaks import NotConstant, Raised, Unsupported
from dynamo.bytecode.instruction import VERSION
from dynamo.operators import ROWS, SWAPPED, Operator
from dynamo.variables import text as texts
from dynamo.variables.base import Exhausted, IdentityKey, Variable, WeakKey
from dynamo.variables.constant import ConstantVariable, boolean
from dynamo.variables.exception import as_raised
from dynamo.variables.hashed import Hashed, HashedKey, WeakHashedKey
from dynamo.variables.raising import raise_exception
from dynamo.variables.sequence import TupleVariable
from dynamo.variables.symint import SymbolicVariable

SLOT = types.WrapperDescriptorType
JOINING = (operator.add, operator.mul)
REPEATED = (str, bytes, bytearray, list, tuple, collections.deque)


# ------------------------------------------------------------------------------------------------- binary
def binary(frame, op, a: Variable, b: Variable) -> Variable:
    """op(a, b) for a function of `operator`, in-place and comparing ones included."""
    row = ROWS[op]
    if op is not row.function:
        result = _in_place(frame, row, a, b)
    else:
        result = compare(frame, op, a, b) if row.is_comparison else compute(frame, row, a, b)
    if result is not None:
        return result
    if op in (operator.eq, operator.ne):
        return boolean(same(frame, a, b) == (op is operator.eq))
    raise refused(frame, op, *(_in_words(frame, row, v) for v in (a, b)))


def _in_words(frame, row: Operator, v: Variable) -> Variable:
    """What stands for an operand where Python is asked for the words: what a program says of the operator is not asked again."""
    cls = v.python_type()
    names = (row.dunder, row.reflected) if row.is_comparison else (row.dunder, row.reflected, row.inplace_dunder)
    said = [name for name in names if is_said(frame, cls, name)]
    if not said:
        return v
    body = dict.fromkeys(said, lambda *operands: NotImplemented)
    try:
        return ConstantVariable(type(v.type_name(), tuple(frame.world.c_bases(cls)[:1]), body)())
    except TypeError:  # a class that makes no objects of nothing
        raise v.unsupported(f"operator {row.symbol}") from None


def compute(frame, row: Operator, a: Variable, b: Variable) -> Variable | None:
    """The left operand is asked first, unless the right one is of a subclass that has its own reflected method."""
    if a.python_type() is b.python_type() and type(a) is type(b):
        return a.binary(frame, row.function, b)
    if right_first(frame, a, b, row.reflected) or _answers(frame, row, a, b):
        result = b.reflected(frame, row.function, a)
        return a.binary(frame, row.function, b) if result is None else result
    result = a.binary(frame, row.function, b)
    return b.reflected(frame, row.function, a) if result is None else result


def right_first(frame, a: Variable, b: Variable, reflected: str) -> bool:
    """Whether the right operand is of a subclass that has its own reflected method."""
    left, right = a.python_type(), b.python_type()
    look = frame.world.on_class
    return frame.world.inherits(right, left) and look(right, reflected) is not look(left, reflected)


def _in_place(frame, row: Operator, a: Variable, b: Variable) -> Variable | None:
    """The in-place method, then the operator; a sequence of C asks first what programs say of that, for it is none of numbers."""
    left, right = a.python_type(), b.python_type()
    plain, of_numbers = lambda: a.binary(frame, row.function, b), lambda: _of_numbers(frame, row, a, b)
    joins = row.function in JOINING and issubclass(left, REPEATED) and not _says_in_place(frame, row, left)
    own, other = joins and is_said(frame, left, row.dunder), joins and _says(frame, row, right)
    if not own and not other:
        result = a.binary(frame, row.inplace, b)
        return compute(frame, row, a, b) if result is None else result
    asked = [ask for ask, said in ((plain, own), (of_numbers, other)) if said]
    if right is not left and frame.world.inherits(right, left):
        asked.reverse()
    asked.append(lambda: a.binary(frame, row.inplace, b))
    for ask in asked if own else (*asked, plain):
        if (result := ask()) is not None:
            return result
    return None


def _says_in_place(frame, row: Operator, cls: type) -> bool:
    """Whether a class of sequences has an in-place method of numbers: its own, or a class of Python list.__iadd__."""
    inherits = row.function is operator.add and cls not in REPEATED and not frame.world.lacks(cls, row.inplace_dunder)
    return inherits or is_said(frame, cls, row.inplace_dunder)


def is_said(frame, cls: type, name: str) -> bool:
    """Whether a class has a special method that is no slot of C."""
    return not frame.world.lacks(cls, name) and not isinstance(frame.world.on_class(cls, name), SLOT)


def _says(frame, row: Operator, right: type) -> bool:
    """Whether a class, on the right of a sequence, has an operator of numbers that may answer: a program's, or NumPy's, whose
    scalars add themselves to lists, and leave products to them."""
    return is_said(frame, right, row.reflected) or _is_numpys(row, right)


def _is_numpys(row: Operator, right: type) -> bool:
    scalar = row.function is operator.add and issubclass(right, np.generic) and not issubclass(right, np.character)
    return scalar or issubclass(right, np.ndarray)


def _of_numbers(frame, row: Operator, a: Variable, b: Variable) -> Variable | None:
    """What the operator of the right side answers to a sequence; NumPy's always answers."""
    result = b.reflected(frame, row.function, a)
    if result is None and _is_numpys(row, b.python_type()):
        raise b.unsupported(f"operator {row.symbol}")
    return result


def _answers(frame, row: Operator, a: Variable, b: Variable) -> bool:
    """Whether the right side answers before a sequence is repeated or joined: which is no product and no sum, and comes last."""
    left, right = a.python_type(), b.python_type()
    joins = row.function in JOINING and issubclass(left, REPEATED) and not is_said(frame, left, row.dunder)
    return joins and _says(frame, row, right)


def compare(frame, op, a: Variable, b: Variable) -> Variable | None:
    """The left operand is asked first, unless the right one is of a subclass."""
    left, right = a.python_type(), b.python_type()
    right_first = left is not right and frame.world.inherits(right, left)
    result = one_side(frame, SWAPPED[op], b, a) if right_first else None
    if result is None:
        result = one_side(frame, op, a, b)
    if result is None and not right_first:
        result = one_side(frame, SWAPPED[op], b, a)
    return result


def one_side(frame, op, a: Variable, b: Variable) -> Variable | None:
    """What the special method of `a` answers; None for NotImplemented. The `__ne__` of object inverts `__eq__`."""
    if op is operator.ne:
        look, cls = frame.world.on_class, a.python_type()
        if look(cls, "__ne__") is object.__dict__["__ne__"]:
            if look(cls, "__eq__") is object.__dict__["__eq__"]:
                return None
            result = a.binary(frame, operator.eq, b)
            return None if result is None else boolean(not result.truth(frame))
    return a.binary(frame, op, b)


def equals(frame, a: Variable, b: Variable) -> bool:
    """a is b or a == b, as containers compare."""
    if a is b:
        return True
    if isinstance(a, ConstantVariable) and isinstance(b, ConstantVariable) and a.value != a.value and same(frame, a, b):
        return True  # NaN is found where it is
    return binary(frame, operator.eq, a, b).truth(frame)


def same(frame, a: Variable, b: Variable) -> bool:
    """a is b. For two objects from outside the answer is guarded."""
    try:
        answer = a.is_same_in(frame, b)
    except NotConstant:
        raise a.unsupported("the identity") from None
    if isinstance(a, ConstantVariable) and isinstance(b, ConstantVariable):
        _guard_identity(frame, a, b, answer)
    if answer:
        return True
    if isinstance(a, frame.values.SymbolicVariable) or isinstance(b, frame.values.SymbolicVariable):
        return _same_number(frame, a, b)
    if a.source is not None and b.source is not None and not (a.is_constant() or b.is_constant()):
        frame.output.guard(guards.Distinct((a.source, b.source)))
    return False


def _guard_identity(frame, a: ConstantVariable, b: ConstantVariable, answer: bool) -> None:
    """Of two constants from outside their guards say only what they are equal to, not whether they are one object."""
    if a.source is None or b.source is None or a.source == b.source or isinstance(a.value, (bool, types.NoneType)):
        return
    if answer:
        frame.output.guard(guards.SameObject(a.source, b.source))
    elif type(a.value) is type(b.value) and (a.value == b.value or a.value != a.value):
        frame.output.guard(guards.Distinct((a.source, b.source)))


SMALL = range(-5, 257)  # ints that CPython has one object of each


def _same_number(frame, a: Variable, b: Variable) -> bool:
    """Whether numbers, one of them a symbol, are one object: not if they differ, which is guarded."""
    if a.python_type() is not b.python_type():
        return False
    if not binary(frame, operator.eq, a, b).truth(frame):
        return False
    number = a.as_python()
    if type(number) is bool or (type(number) is int and number in SMALL):
        b.as_python()
        return True
    raise a.unsupported("the identity")


def unary(frame, op, a: Variable) -> Variable:
    if op is operator.not_:
        value = holds(frame, a)
        return SymbolicVariable(~value.value) if isinstance(value, SymbolicVariable) else boolean(not value.as_python())
    return a.unary(frame, op)


def holds(frame, value: Variable) -> Variable:
    """bool(value); what is known only once the graph has run stays a symbol."""
    if isinstance(value, SymbolicVariable) and type(value.value) is SymBool and value.value.hint is None:
        return value
    return boolean(value.truth(frame))


def contains(frame, container: Variable, item: Variable) -> bool:
    """item in container."""
    return contained(frame, container, item).truth(frame)


def contained(frame, container: Variable, item: Variable) -> Variable:
    """The same as a value: of a tensor it is known once the graph has run."""
    try:
        found = container.contains(frame, item)
    except NotConstant as e:
        if e.args[0] is not container:
            raise
        cls = container.python_type()
        if not frame.world.can_be_iterated(cls):
            raise refused(frame, operator.contains, container, item) from None
        return boolean(is_among(frame, item, container))
    return holds(frame, found)


def searched(frame, container: Variable) -> Variable:
    """iter(container), to look for an item. Python answers every TypeError of it by one of its own."""
    try:
        return container.iterate(frame)
    except Raised as r:
        if not issubclass(r.value.python_type(), TypeError):
            raise
    raise not_searched(frame, container)


def not_searched(frame, container: Variable) -> Raised:
    """What `in` raises for a value that cannot be iterated over."""
    kind = "iterable" if VERSION < (3, 14) else "a container or iterable"
    return raise_exception(frame, TypeError, f"argument of type '{container.type_name()}' is not {kind}")


def is_among(frame, item: Variable, container: Variable) -> bool:
    """Whether what iter(container) gives comes to the item; it is asked no further then."""
    iterator = searched(frame, container)
    while True:
        try:
            value = iterator.next(frame)
        except Exhausted:
            return False
        if equals(frame, value, item):
            return True


def text(frame, value: Variable, function=str) -> ConstantVariable:
    """str(value) or repr(value), for what is known while tracing."""
    return ConstantVariable(texts.text(frame, value, function))


def formatted(frame, value: Variable, spec: str) -> ConstantVariable:
    """format(value, spec), for what is known while tracing."""
    return ConstantVariable(texts.formatted(frame, value, spec))


def real(frame, value: Variable) -> Any:
    """A Python object equal to the value, for a function that only reads it."""
    return texts.as_python(frame, value)


def index(frame, value: Variable, function: Callable = operator.index, *others: Variable) -> int:
    """The int that stands for `value` as an index; a symbolic one is guarded. `function(*others, value)` is what the
    program does with it: what it says of a value that has no `__index__`."""
    number = getattr(value, "native", value)  # (C asks no `__index__` of what is an int already)
    if isinstance(number, ConstantVariable) and isinstance(number.value, int):
        return as_index(number.value)
    if frame.world.lacks(value.python_type(), "__index__"):
        raise refused(frame, function, *others, value)
    result = special(frame, value, "__index__")
    if not issubclass(result.python_type(), int):
        text = f"__index__ returned non-int (type {result.type_name()})"
        raise frame.values.error(frame, TypeError, text)
    return as_index(result.as_python())


def special(frame, value: Variable, name: str, *args: Variable) -> Variable:
    """type(value).name(value, *args): what the object itself has under the name is not asked."""
    look_up = getattr(value, "special", None)
    bound = None if look_up is None else look_up(frame, name)
    return value.method(frame, name, list(args), {}) if bound is None else bound.call(frame, list(args), {})


# ------------------------------------------------------------------------------------------------- hashing
def hash_value(frame, value: Variable) -> int:
    """hash(value), where it is known while tracing."""
    value = value.realize(frame)
    found = frame.world.on_class(value.python_type(), "__hash__")
    if found is None:
        raise refused(frame, hash, value)
    if type(value) is TupleVariable and not value.is_constant():
        return hash(tuple([Hashed(hash_value(frame, v)) for v in value.unpack(frame)]))
    if isinstance(value, frame.values.SymbolicVariable):
        return hash(value.specialize())
    if isinstance(value, ConstantVariable):
        key(frame, value)
    if isinstance(value, ConstantVariable) or (value.is_constant() and not isinstance(found, types.FunctionType)):
        try:
            return hash(value.as_python())
        except TypeError:
            raise refused(frame, hash, value) from None
    if isinstance(value, frame.values.SymbolicVariable):
        return hash(value.specialize())
    if not isinstance(found, types.FunctionType):
        raise value.unsupported("hash()")
    result = special(frame, value, "__hash__").as_python()
    if not isinstance(result, int):
        raise Raised(frame.values.exception(TypeError, [ConstantVariable("__hash__ method should return an integer")]))
    return hash(Hashed(result))


def key(frame, value: Variable, stored: int | None = None) -> Any:
    """What stands for a value as a key of dicts and an item of sets; TypeError in the program if it has no hash. `stored` is
    the hash that a container keeps of it, so that no `__hash__` of the program is asked."""
    value = value.realize(frame)
    if isinstance(value, ConstantVariable):
        if isinstance(value.value, (float, complex)) and value.value != value.value:
            raise value.unsupported("hash()")  # (that of its address: another object for each call, and for each read)
        return value.hash_key()
    found = frame.world.on_class(value.python_type(), "__hash__")
    if found is None:
        raise refused(frame, hash, value)
    if isinstance(found, types.FunctionType) or isinstance(frame.world.on_class(value.python_type(), "__eq__"), types.FunctionType):
        return HashedKey(frame.output, value, hash_value(frame, value) if stored is None else stored)
    if isinstance(value, TupleVariable):
        return tuple([key(frame, v) for v in value.unpack(frame)])
    reference: Any = value
    referent = getattr(reference, "referent", frame.values.NONE).realize(frame)  # of a weak reference that is alive
    if not referent.is_same(frame.values.NONE):
        if frame.world.on_class(referent.python_type(), "__hash__") is None:
            raise value.unsupported("hash(), which it may have kept from before,")
        inner = key(frame, referent, stored)
        if isinstance(inner, HashedKey):
            return WeakHashedKey(frame.output, referent, inner.hash)
        if type(inner) is not IdentityKey:
            return WeakKey, inner
        real = getattr(referent, "value", None)
        if stored is not None and real is not None and stored != object.__hash__(real):  # (its class had a `__hash__` then)
            return WeakHashedKey(frame.output, referent, stored)
        reference.keep_hash()
        return WeakKey(inner.variable)
    return value.hash_key()


# -------------------------------------------------------------------------------------------------- errors
def no_rule(frame, function: Callable, needs: tuple[str, ...], value: Variable, *others: Variable) -> Exception:
    """What function(value, *others) raises where the kind of `value` has no rule for it: the error of Python if the
    class lacks all the special methods it needs, else a graph break."""
    if all(frame.world.lacks(value.python_type(), name) for name in needs):
        return refused(frame, function, value, *others)
    return value.unsupported(needs[0])


def refused(frame, function: Callable, *values: Variable) -> Exception:
    """The error of function(*values) that is certain from the classes of the values: Python is asked for its words."""
    try:
        examples = [v.example() for v in values]
    except (NotConstant, Unsupported):
        return values[0].unsupported(getattr(function, "__name__", "an operation"))
    try:
        function(*examples)
    except Exception as e:
        if isinstance(e, (TypeError, AttributeError)):
            return as_raised(frame, e)
    return values[0].unsupported(getattr(function, "__name__", "an operation"))


__all__ = [
    "Exhausted", "Unsupported", "binary", "contains", "equals", "formatted", "hash_value", "index", "key", "no_rule", "one_side",
    "real", "refused", "right_first", "same", "text", "unary",
]  # fmt: skip
