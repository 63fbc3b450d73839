"""`Variable`: a value while tracing. One subclass a kind of value; what a kind does not define breaks the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dynamo import graph_break
from dynamo.graph_break import NotConstant, Unsupported

if TYPE_CHECKING:
    from dynamo.interpreter.frame import Frame


class Variable:
    """A value while tracing.

    `source` says where the value came from (None: made while tracing). Operations take the frame for its graph and
    raise `Raised` where Python would raise and `Unsupported` where nothing is known.
    """

    __slots__ = ("source", "__weakref__")

    def __init__(self, source=None):
        self.source = source

    # ------------------------------------------------------------------------------------------ what it is
    def python_type(self) -> type:
        """The class of the value at run time."""
        name = type(self).__name__.removesuffix("Variable").lower()
        raise Unsupported(graph_break.UNKNOWN_OPERATION, f"type() of a {name}")

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
        return Unsupported(graph_break.UNKNOWN_OPERATION, f"{what} of {self.describe()}")

    def realize(self, frame: Frame) -> Variable:
        """The value itself: another Variable only for `Lazy` ones."""
        return self

    # ------------------------------------------------------------------------------------------ attributes
    def getattr(self, frame: Frame, name: str) -> Variable:
        raise self.unsupported(f"attribute {name}")

    def setattr(self, frame: Frame, name: str, value: Variable) -> None:
        raise self.unsupported(f"setting attribute {name}")

    def delattr(self, frame: Frame, name: str) -> None:
        raise self.unsupported(f"deleting attribute {name}")

    def hasattr(self, frame: Frame, name: str) -> bool:
        from dynamo.variables.exception import raises

        return not raises(frame, AttributeError, lambda: self.getattr(frame, name))

    # ------------------------------------------------------------------------------------------------ calls
    def call(self, frame: Frame, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        """self(*args, **kwargs)."""
        raise self.unsupported("a call")

    def method(self, frame: Frame, name: str, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        """self.name(*args, **kwargs), without making the bound method."""
        found = self.getattr(frame, name)
        if getattr(found, "object", None) is self and type(found).__name__ == "BoundMethod":  # it would ask here again
            raise self.unsupported(f"method {name}")
        return found.call(frame, args, kwargs)

    # ------------------------------------------------------------------------------------------- containers
    def length(self, frame: Frame) -> Variable:
        return self.method(frame, "__len__", [], {})

    def getitem(self, frame: Frame, key: Variable) -> Variable:
        return self.method(frame, "__getitem__", [key], {})

    def setitem(self, frame: Frame, key: Variable, value: Variable) -> None:
        self.method(frame, "__setitem__", [key, value], {})

    def delitem(self, frame: Frame, key: Variable) -> None:
        self.method(frame, "__delitem__", [key], {})

    def contains(self, frame: Frame, item: Variable) -> Variable:
        return self.method(frame, "__contains__", [item], {})

    def iterate(self, frame: Frame) -> Variable:
        """iter(self)."""
        raise self.unsupported("iteration")

    def next(self, frame: Frame) -> Variable:
        """next(self); raises `Exhausted` at the end."""
        raise self.unsupported("next()")

    def unpack(self, frame: Frame) -> list[Variable]:
        """list(self)."""
        iterator = self.iterate(frame)
        items: list[Variable] = []
        while True:
            try:
                items.append(iterator.next(frame))
            except Exhausted:
                return items

    # ------------------------------------------------------------------------------------------- operators
    def truth(self, frame: Frame) -> bool:
        """bool(self)."""
        raise self.unsupported("the truth value")

    def binary(self, frame: Frame, op, other: Variable) -> Variable | None:
        """op(self, other), for a function of `operator`; None if this kind does not know (the other is asked)."""
        return None

    def reflected(self, frame: Frame, op, other: Variable) -> Variable | None:
        """op(other, self), asked when `other` does not know."""
        return None

    def unary(self, frame: Frame, op) -> Variable:
        raise self.unsupported(f"operator {op.__name__}")

    # --------------------------------------------------------------------------------------------- rebuild
    def recipe(self, emit) -> Any:
        """How the new code makes this value: a recipe of dynamo.outcome. `emit` is a side_effects.Emission."""
        raise Unsupported(graph_break.NOT_REBUILT, self.describe())

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


class TrueVariable(Variable):
    """A value that is true whatever it holds: functions, classes, modules, iterators, exceptions."""

    __slots__ = ()

    def truth(self, frame: Frame) -> bool:
        return True


class Exhausted(Exception):
    """An iterator has come to its end (StopIteration, without its cost)."""

    def __init__(self, value: Variable | None = None):
        super().__init__()
        self.value = value


class IdentityKey:
    """A dict key for a value whose identity is its equality."""

    __slots__ = ("variable",)

    def __init__(self, variable: Variable):
        self.variable = variable

    def __hash__(self) -> int:
        return id(self.variable)

    def __eq__(self, other: object) -> bool:
        return type(other) is IdentityKey and self.variable.is_same(other.variable)


class NullVariable(Variable):
    """An empty stack slot."""

    __slots__ = ()

    def describe(self) -> str:
        return "an empty stack slot"

    def recipe(self, emit):
        from dynamo import outcome

        return outcome.Null()


NULL = NullVariable()
