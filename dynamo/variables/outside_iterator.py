"""Iterators over lists, tuples, ranges and strings that come from outside: traced by what they go over and where they stand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dynamo import guards, outcome
from dynamo.polyfills.iteration import advanced
from dynamo.source import Converted
from dynamo.variables.base import Exhausted, Variable
from dynamo.variables.iterator import IteratorVariable
from dynamo.variables.track import kind


class OutsideIterator(IteratorVariable):
    """The steps that tracing takes are taken by the real iterator afterwards."""

    __slots__ = ("value", "inner", "steps")

    def __init__(self, value: Iterator, inner: Variable, source: Any):
        super().__init__(source)
        self.value = value
        self.inner = inner
        self.steps = 0

    def python_type(self):
        return type(self.value)

    def next(self, frame):
        self.steps += 1
        frame.output.side_effects.changed(self)
        return self.inner.next(frame)

    def recipe(self, emit):
        return emit.load(self.source)

    def replay(self, emit) -> None:
        steps = outcome.Const(self.steps)
        emit.after(outcome.Do(outcome.Call(outcome.Const(advanced), (emit.value(self), steps))))


def iterated(iterator: Iterator) -> Any:
    """What an iterator goes over."""
    return iterator.__reduce__()[1][0]  # type: ignore[index]


def position(iterator: Iterator) -> int | None:
    """How many items an iterator has given of what it goes over; None if it does not count."""
    state = iterator.__reduce__()
    return state[2] if len(state) > 2 else None  # type: ignore[arg-type]


@kind(*map(type, (iter([]), iter(()), iter(range(0)), iter(""))))
def _iterator(frame, value, source):
    over, given = iterated(value), position(value)
    frame.output.guard_type(source, type(value))
    frame.output.guard(guards.Equals(Converted(source, position), given))
    inner = frame.world.wrap(over, Converted(source, iterated)).iterate(frame)
    for _ in range(given or 0):
        try:
            inner.next(frame)
        except Exhausted:
            break
    return OutsideIterator(value, inner, source)
