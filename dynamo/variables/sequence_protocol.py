"""Iteration over objects that have `__getitem__` but no `__iter__`, or no `__reversed__`."""

from __future__ import annotations

from dynamo.breaks import Raised
from dynamo.variables.base import Exhausted, Variable


class SequenceProtocol(Variable):
    """getitem(0), getitem(1), getitem(2) … until IndexError (or StopIteration, as Python has it); with a `last` index,
    getitem(last) … getitem(0)."""

    __slots__ = ("getitem_of", "index", "step")

    def __init__(self, getitem_of: Variable, last: int | None = None):
        super().__init__()
        self.getitem_of: Variable | None = getitem_of
        self.index, self.step = (0, 1) if last is None else (last, -1)

    def python_type(self):
        if self.step < 0:
            return reversed
        return type(iter(type("", (), {"__getitem__": None})()))

    def truth(self, frame):
        return True

    def iterate(self, frame):
        return self

    def next(self, frame):
        if self.getitem_of is None or self.index < 0:
            raise Exhausted()
        index, self.index = self.index, self.index + self.step
        try:
            return self.getitem_of.call(frame, [frame.values.const(index)], {})
        except Raised as r:
            if issubclass(r.value.python_type(), (IndexError, StopIteration)):
                self.getitem_of = None
                raise Exhausted() from None
            raise
