"""Iteration over objects that have `__getitem__` but no `__iter__`."""

from __future__ import annotations

from dynamo.breaks import Raised
from dynamo.variables.base import Exhausted, Variable


class SequenceProtocol(Variable):
    """getitem(0), getitem(1), getitem(2) … until IndexError (or StopIteration, as Python has it)."""

    __slots__ = ("getitem_of", "index")

    def __init__(self, getitem_of: Variable):
        super().__init__()
        self.getitem_of: Variable | None = getitem_of
        self.index = 0

    def python_type(self):
        return type(iter(type("", (), {"__getitem__": None})()))

    def truth(self, frame):
        return True

    def iterate(self, frame):
        return self

    def next(self, frame):
        if self.getitem_of is None:
            raise Exhausted()
        index, self.index = self.index, self.index + 1
        try:
            return self.getitem_of.call(frame, [frame.values.const(index)], {})
        except Raised as r:
            if issubclass(r.value.python_type(), (IndexError, StopIteration)):
                self.getitem_of = None
                raise Exhausted() from None
            raise
