"""Values of kinds that are not traced: they can be passed on, and any operation on them breaks the graph."""

from __future__ import annotations

from typing import Any

from dynamo import breaks
from dynamo.breaks import Unsupported
from dynamo.variables.base import Variable


class UnknownVariable(Variable):
    """A value from outside of which only the class is known."""

    __slots__ = ("value", "why")

    def __init__(self, value: Any, why: str, source=None):
        super().__init__(source)
        self.value = value
        self.why = why

    def python_type(self):
        return type(self.value)

    def describe(self):
        return f"{self.source}, {self.why}"

    def unsupported(self, what: str) -> Unsupported:
        return Unsupported(breaks.UNKNOWN_VALUE, f"{what} of {self.describe()}")

    def getattr(self, frame, name):
        if frame.world.on_class(type(self.value), "__getattribute__") is not object.__getattribute__:  # super, proxies
            raise self.unsupported(f"attribute {name}")
        if name == "__class__":
            from dynamo.variables.constant import literal

            return literal(frame, type(self.value))
        return super().getattr(frame, name)

    def method(self, frame, name, args, kwargs):
        raise self.unsupported(f"method {name}")

    def binary(self, frame, op, other):
        raise self.unsupported(f"operator {op.__name__}")

    def reflected(self, frame, op, other):
        raise self.unsupported(f"operator {op.__name__}")

    def is_same(self, other):
        return self is other

    def hash_key(self):
        raise self.unsupported("hashing")

    def recipe(self, emit):
        return emit.load(self.source)
