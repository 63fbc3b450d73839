"""`Variable`: a value while tracing. One subclass a kind of value; what a kind does not define breaks the graph."""

from __future__ import annotations

import _operator as operator
import collections
import functools
import inspect
import types
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dynamo import _eval_frame, breaks, outcome
from dynamo.breaks import NotConstant, Raised, Unsupported
from dynamo.operators import BINARY, ROWS, UNARY
from dynamo.real_objects import class_module, class_name, full_name

if TYPE_CHECKING:
    from dynamo.interpreter.frame import Frame

AN_ITEM = 10  # steps that an item of an iterator is counted for
C_METHODS = (types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType)


def method(*names: str) -> Callable:
    """Declare the rule of methods of a kind of value: rule(self, frame, *args, **kwargs) on Variables.

    What `getattr` and `hasattr` answer follows. A subclass overrides a rule by overriding the function. A rule may
    answer with Python's None, True and False.
    """

    def declare(rule):
        rule.method_names = names
        return rule

    return declare


def attribute(*names: str) -> Callable:
    """Declare the rule of attributes that hold data: rule(self, frame)."""

    def declare(rule):
        rule.attribute_names = names
        return rule

    return declare


class Variable:
    """A value while tracing.

    `source` says where the value came from (None: made while tracing). Operations take the frame for its graph and
    raise `Raised` where Python would raise and `Unsupported` where nothing is known. What a kind has no rule for is told
    by its class: if the class lacks the special method that Python would call, Python's own error; else a graph break.
    """

    __slots__ = ("source", "__weakref__")
    rules: ClassVar[dict[str, str]] = {}  # name of a method of the value → name of the function that is its rule
    is_settled: ClassVar[bool] = True  # whether realizing it gives the value itself
    moves_unread: ClassVar[bool] = False  # whether it is realized where the program looks at it, not where it is put elsewhere
    is_array_like: ClassVar[bool] = False  # whether NumPy's scalars leave operators to the value
    fields: ClassVar[dict[str, str]] = {}  # name of an attribute that holds data → name of the function that is its rule

    def __init__(self, source=None):
        self.source = source

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.rules, cls.fields = dict(cls.rules), dict(cls.fields)
        cls.is_settled = cls.realize is Variable.realize
        collect_rules(cls)

    # ------------------------------------------------------------------------------------------ what it is
    def python_type(self) -> type:
        """The class of the value at run time."""
        name = type(self).__name__.removesuffix("Variable").lower()
        raise Unsupported(breaks.UNKNOWN_OPERATION, f"type() of a {name}")

    def as_python(self) -> Any:
        """The very Python object, if it exists while tracing and cannot change (numbers, functions, classes …)."""
        raise NotConstant(self)

    def as_arg(self) -> Any:
        """The value as an argument of a graph node. Raises NotConstant if it cannot stand in one."""
        return self.as_python()

    def as_meta(self) -> Any:
        """The value as an argument of a shape rule."""
        return self.as_python()

    def is_constant(self) -> bool:
        try:
            self.as_python()
        except NotConstant:
            return False
        return True

    def describe(self) -> str:
        """A few words for messages."""
        try:
            return f"a value of type {self.python_type().__name__}"
        except Unsupported:
            return type(self).__name__.removesuffix("Variable").lower()

    def unsupported(self, what: str) -> Unsupported:
        return Unsupported(breaks.UNKNOWN_OPERATION, f"{what} of {self.describe()}")

    @property
    def comes_from_outside(self) -> bool:
        """Whether a change of the value is seen outside, and has to be replayed."""
        return self.source is not None

    def realize(self, frame: Frame) -> Variable:
        """The value itself: another Variable only for `Lazy` ones."""
        return self

    # ------------------------------------------------------------------------------------------ attributes
    def getattr(self, frame: Frame, name: str) -> Variable:
        """self.name, from the rules of the kind; else what the class tells."""
        rule = self.fields.get(name)
        if rule is not None:
            return getattr(self, rule)(frame)
        return self.class_attribute(frame, name)

    def class_attribute(self, frame: Frame, name: str) -> Variable:
        """An attribute that the kind has no rule for, or the method of a rule."""
        cls = self.python_type()
        if name == "__class__":
            return frame.world.known(cls)
        found = frame.world.on_class(cls, name)
        if found is frame.world.MISSING:
            if frame.world.lacks(cls, "__getattr__"):
                raise frame.ops.refused(frame, lambda value: getattr(value, name), self)
            raise self.unsupported(f"attribute {name}")
        if isinstance(found, C_METHODS):
            return frame.values.bound(self, name)
        if isinstance(found, (types.BuiltinFunctionType, staticmethod)):  # __new__, say
            return frame.world.known(getattr(cls, name))
        if name == "__doc__" and isinstance(found, str):
            return frame.values.const(found)
        raise self.unsupported(f"attribute {name}")

    def setattr(self, frame: Frame, name: str, value: Variable) -> None:
        self.cannot_set(frame, name, "setting", lambda obj: setattr(obj, name, None))

    def delattr(self, frame: Frame, name: str) -> None:
        self.cannot_set(frame, name, "deleting", lambda obj: delattr(obj, name))

    def cannot_set(self, frame: Frame, name: str, what: str, function: Callable) -> None:
        """Objects of C classes without a dictionary refuse attributes that their class does not have."""
        cls = self.python_type()
        settable = frame.world.on_class(cls, "__setattr__") is not object.__setattr__
        if settable or not frame.world.lacks(cls, "__dict__") or not frame.world.lacks(cls, name):
            raise self.unsupported(f"{what} attribute {name}")
        raise frame.ops.refused(frame, function, self)

    def hasattr(self, frame: Frame, name: str) -> bool:
        try:
            self.getattr(frame, name)
        except Raised as raised:
            if issubclass(raised.value.python_type(), AttributeError):
                return False
            raise
        return True

    def make_storage(self) -> Any:
        """A Storage for the attributes of the value."""
        raise self.unsupported("attributes")

    def c_method(self, frame: Frame, descriptor: Any, name: str) -> Variable:
        """The bound method that a descriptor of C on the class gives."""
        return frame.values.bound(self, name)

    def c_call(self, frame: Frame, descriptor: Any, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        """descriptor(self, *args, **kwargs): a method written in C, past all that override it."""
        name = descriptor.__name__
        if frame.world.on_class(self.python_type(), name) is not descriptor:
            raise self.unsupported(f"{name} of {descriptor.__objclass__.__name__}, which its class overrides,")
        return self.method(frame, name, args, kwargs)

    def call_c(self, frame: Frame, descriptor: Any, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        """The same, of whatever arguments the program gives: those that C does not take are refused by C itself."""
        if not takes(descriptor, len(args) + 1, frozenset(kwargs)):
            raise self.unsupported(f"{descriptor.__name__}() with these arguments")
        return self.c_call(frame, descriptor, args, kwargs)

    def member(self, frame: Frame, descriptor: Any, name: str) -> Variable:
        """The value behind a descriptor of C that holds data."""
        raise self.unsupported(f"attribute {name}")

    def set_member(self, frame: Frame, descriptor: Any, name: str, value: Variable) -> None:
        raise self.unsupported(f"setting attribute {name}")

    def del_member(self, frame: Frame, descriptor: Any, name: str) -> None:
        raise self.unsupported(f"deleting attribute {name}")

    # ------------------------------------------------------------------------------------------------ calls
    @method("__call__")
    def called(self, frame: Frame, *args: Variable, **kwargs: Variable) -> Variable:
        return self.call(frame, list(args), kwargs)

    def call(self, frame: Frame, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        """self(*args, **kwargs)."""
        raise frame.ops.no_rule(frame, lambda value: value(), ("__call__",), self)

    # ------------------------------------------------------------------------------------------- containers
    @method("__len__")
    def length(self, frame: Frame) -> Variable:
        raise frame.ops.no_rule(frame, len, ("__len__",), self)

    @method("__getitem__")
    def getitem(self, frame: Frame, key: Variable) -> Variable:
        raise frame.ops.no_rule(frame, operator.getitem, ("__getitem__",), self, key)

    @method("__setitem__")
    def setitem(self, frame: Frame, key: Variable, value: Variable) -> None:
        raise frame.ops.no_rule(frame, operator.setitem, ("__setitem__",), self, key, value)

    @method("__delitem__")
    def delitem(self, frame: Frame, key: Variable) -> None:
        raise frame.ops.no_rule(frame, operator.delitem, ("__delitem__",), self, key)

    @method("__contains__")
    def contains(self, frame: Frame, item: Variable) -> Variable:
        cls = self.python_type()
        if not frame.world.lacks(cls, "__contains__"):
            raise self.unsupported("`in`")
        if not frame.world.can_be_iterated(cls):
            raise frame.ops.refused(frame, operator.contains, self, item)
        return frame.values.boolean(frame.ops.is_among(frame, item, self))

    @method("__iter__")
    def iterate(self, frame: Frame) -> Variable:
        """iter(self)."""
        raise frame.ops.no_rule(frame, iter, ("__iter__", "__getitem__"), self)

    @method("__reversed__")
    def backwards(self, frame: Frame) -> Variable:
        """reversed(self)."""
        raise frame.ops.no_rule(frame, reversed, ("__reversed__", "__getitem__"), self)

    def next(self, frame: Frame) -> Variable:
        """next(self); raises `Exhausted` at the end."""
        raise frame.ops.no_rule(frame, next, ("__next__",), self)

    @method("__next__")
    def next_or_stop(self, frame: Frame) -> Variable:
        """next(self), raising StopIteration in the traced program at the end."""
        try:
            return self.next(frame)
        except Exhausted as e:
            raise e.stop(frame) from None

    def unpack_unordered(self, frame: Frame) -> list[Variable]:
        """The items, in any order if it cannot be told from the result of what is done with all of them (a sum of ints)."""
        return self.unpack(frame)

    def unpack(self, frame: Frame) -> list[Variable]:
        """list(self)."""
        iterator = self.iterate(frame)
        items: list[Variable] = []
        while True:
            try:
                items.append(iterator.next(frame))
            except Exhausted:
                return items
            frame.output.took(AN_ITEM)

    # ------------------------------------------------------------------------------------------- operators
    @method("__bool__")
    def truth(self, frame: Frame) -> bool:
        """bool(self)."""
        cls = self.python_type()
        if not frame.world.lacks(cls, "__bool__"):
            raise self.unsupported("the truth value")
        return frame.world.lacks(cls, "__len__") or self.length(frame).truth(frame)

    def binary(self, frame: Frame, op, other: Variable) -> Variable | None:
        """op(self, other), for a function of `operator`; None if the value answers NotImplemented."""
        row = ROWS[op]
        self.answers_not(frame, row.dunder if op is row.function else row.inplace_dunder)
        return None

    def reflected(self, frame: Frame, op, other: Variable) -> Variable | None:
        """op(other, self), asked when `other` does not know; None if the value answers NotImplemented."""
        self.answers_not(frame, ROWS[op].reflected)
        return None

    def answers_not(self, frame: Frame, name: str) -> None:
        """Raise Unsupported unless the class lacks this special method of an operator for certain."""
        found = frame.world.on_class(self.python_type(), name)
        if found is not frame.world.MISSING and found is not object.__dict__.get(name):
            raise self.unsupported(f"operator {name}")

    def unary(self, frame: Frame, op) -> Variable:
        raise frame.ops.no_rule(frame, op, (UNARY[op].dunder,), self)

    def example(self) -> Any:
        """A real object that refuses what the value refuses, in the same words: the value itself, or an object of a
        class of that name."""
        if self.is_constant():
            return self.as_python()
        cls = self.python_type()
        value = getattr(self, "value", None)
        return value if type(value) is cls else type(self.type_name(), (), {"__hash__": None})()

    def type_name(self) -> str:
        """What Python's messages call the class of the value."""
        return _eval_frame.type_name(self.python_type())

    def full_type_name(self) -> str:
        """The same with the module, as some messages have it."""
        cls = self.python_type()
        return class_name(cls) if class_module(cls) == "__main__" else full_name(cls)

    # --------------------------------------------------------------------------------------------- rebuild
    def recipe(self, emit) -> Any:
        """How the new code makes this value: a recipe of dynamo.outcome. `emit` is a side_effects.Emission."""
        raise Unsupported(breaks.NOT_REBUILT, self.describe())

    def hash_key(self) -> Any:
        """What stands for this value as a key of a dict or an item of a set: equal keys are equal values."""
        try:
            value = self.as_python()
            hash(value)
        except NotConstant:
            return IdentityKey(self)
        except TypeError:
            return IdentityKey(self)
        return value

    def is_same_in(self, frame, other: Variable) -> bool:
        """The same where a frame can be asked, for kinds that look at more than they have seen."""
        return self.is_same(other)

    def is_same(self, other: Variable) -> bool:
        """self is other. Raises NotConstant where that is not known."""
        if self is other:
            return True
        if self.is_constant() and other.is_constant():
            return self.as_python() is other.as_python()
        if self.is_constant() or other.is_constant():
            return False
        if self.source is None or other.source is None:
            return False
        return self.source == other.source

    # (Last in the class: its name hides the decorator.)
    def names(self, name: str, positional: int, keywords: Iterable[str]) -> bool:
        """Whether a method has parameters of these names, where C says which it has: its rule may name what C does not."""
        descriptor = getattr(self.python_type(), name, None)
        return not isinstance(descriptor, C_METHODS) or takes(descriptor, positional + 1, frozenset(keywords))

    def method(self, frame: Frame, name: str, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        """self.name(*args, **kwargs), without making the bound method."""
        rule = self.rules.get(name)
        if rule is not None:
            function = getattr(self, rule)
            if not accepts(function.__func__, len(args) + 2, kwargs) or (kwargs and not self.names(name, len(args), kwargs)):
                raise self.unsupported(f"{name}() with these arguments")
            result = function(frame, *args, **kwargs)
            return frame.values.plain_answer(result)
        found = self.getattr(frame, name)
        if getattr(found, "object", None) is self and isinstance(found, frame.values.BoundMethod):  # it would ask here
            raise self.unsupported(f"method {name}")
        return found.call(frame, args, kwargs)


def one_by_one(frame: Frame, value: Variable) -> Iterator[Variable]:
    """The items of an iterable, asked for as they are used; those of a list or tuple at once, as C takes them."""
    if value.python_type() in (list, tuple):
        yield from value.unpack(frame)
        return
    iterator = value.iterate(frame)
    while True:
        try:
            item = iterator.next(frame)
        except Exhausted:
            return
        frame.output.took(AN_ITEM)
        yield item


def collect_rules(cls: type[Variable]) -> None:
    """Note what `@method` and `@attribute` declare in a class."""
    for function, rule in list(vars(cls).items()):
        for name in getattr(rule, "method_names", ()):
            cls.rules[name] = function
        for name in getattr(rule, "attribute_names", ()):
            cls.fields[name] = function


def accepts(function: types.FunctionType, positional: int, keywords: Iterable[str]) -> bool:
    """Whether a rule takes so many positional arguments and these keywords."""
    code = function.__code__
    names = code.co_varnames
    n, end = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    if positional > n and not code.co_flags & inspect.CO_VARARGS:
        return False
    given = set(names[: min(positional, n)])
    for key in keywords:
        if key in given or not (key in names[code.co_posonlyargcount : end] or code.co_flags & inspect.CO_VARKEYWORDS):
            return False
        given.add(key)
    optional = set(names[n - len(function.__defaults__ or ()) : n]) | set(function.__kwdefaults__ or ())
    return all(name in given or name in optional for name in names[:end])


@functools.cache
def takes(function: Any, positional: int, keywords: frozenset[str]) -> bool:
    """Whether a function or method of C takes so many arguments (its object is one) and these keywords, as far as is known."""
    count, named = _eval_frame.takes_by_flags(function)
    if (keywords and not named) or (count >= 0 and positional != count):
        return False
    try:
        inspect.signature(function).bind(*[None] * positional, **dict.fromkeys(keywords))
    except ValueError:  # C does not tell the signature of all of them
        return True
    except TypeError:
        return False
    return True


SEQUENCES = (list, tuple, str, bytes, bytearray, collections.deque)
JOINED = ("__add__", "__mul__", "__rmul__", "__iadd__", "__imul__")


def unanswered(self: Variable, frame: Frame, name: str, other: Variable) -> Variable:
    """What the special method of an operator gives that does not know `other`: NotImplemented, but those of sequences,
    which are no operators of numbers, raise what they refuse."""
    found = frame.world.on_class(self.python_type(), name)
    cls = getattr(found, "__objclass__", None)
    if name in JOINED and cls is not None and issubclass(cls, SEQUENCES):
        raise frame.ops.refused(frame, lambda value: found(cls(), value), other)
    knows_arrays = self.is_array_like or isinstance(getattr(self, "value", None), np.generic)
    if knows_arrays and other.is_array_like:  # tensors and arrays know one another in part
        raise self.unsupported(f"{name}() of a {other.type_name()}")
    if other.is_array_like and issubclass(other.python_type(), (float, complex)):  # of NumPy's numbers some are Python's, too
        raise self.unsupported(f"{name}() of a {other.type_name()}")
    return frame.values.const(NotImplemented)


def _declare_operators() -> None:
    """`a.__add__(b)` and all the others, from the rows of operators."""

    def declare(name: str, answer: Callable) -> None:
        def rule(self, frame, other):
            result = answer(self, frame, other)
            return unanswered(self, frame, name, other) if result is None else result

        setattr(Variable, f"operator{name}", method(name)(rule))

    for row in BINARY:
        declare(row.dunder, lambda self, frame, other, row=row: frame.ops.one_side(frame, row.function, self, other))
        if row.inplace is not None:
            declare(row.inplace_dunder, lambda self, frame, other, row=row: self.binary(frame, row.inplace, other))
            declare(row.reflected, lambda self, frame, other, row=row: self.reflected(frame, row.function, other))
    for op, unary in UNARY.items():
        rule = method(unary.dunder)(lambda self, frame, *, op=op: self.unary(frame, op))
        setattr(Variable, f"operator{unary.dunder}", rule)
    collect_rules(Variable)


_declare_operators()


class TrueVariable(Variable):
    """A value that is true whatever it holds: functions, classes, modules, iterators, exceptions."""

    __slots__ = ()

    def truth(self, frame: Frame) -> bool:
        return True


class Exhausted(Exception):
    """An iterator has come to its end (StopIteration, without its cost): with what it returns, or by what its own code raised."""

    def __init__(self, value: Variable | None = None, raised: Raised | None = None):
        super().__init__()
        self.value = value
        self.raised = raised

    def stop(self, frame: Frame) -> Raised:
        """The StopIteration that the traced program sees."""
        if self.raised is not None:
            return self.raised
        return Raised(frame.values.exception(StopIteration, [] if self.value is None else [self.value]))


class IdentityKey:
    """A dict key for a value whose identity is its equality."""

    __slots__ = ("variable",)

    def __init__(self, variable: Variable):
        self.variable = variable

    def __hash__(self) -> int:
        return id(self.variable)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.variable.is_same(other.variable)  # type: ignore[attr-defined]


class WeakKey(IdentityKey):
    """The same for a weak reference to such a value: equal references are to one object."""

    __slots__ = ()


class NullVariable(Variable):
    """An empty stack slot."""

    __slots__ = ()

    def describe(self) -> str:
        return "an empty stack slot"

    def recipe(self, emit):
        return outcome.Null()


NULL = NullVariable()
METHOD = NullVariable()  # the place of `self` where a method was loaded to be called, and is bound already
