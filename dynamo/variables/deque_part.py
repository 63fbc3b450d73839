"""Subclasses of collections.deque: the deque in such an object."""

from __future__ import annotations

import collections
from typing import Any

from dynamo import guards, outcome
from dynamo.source import Converted, Item, Source
from dynamo.variables.constant import NONE
from dynamo.variables.construct import declare_part
from dynamo.variables.deque import DequeVariable
from dynamo.variables.native_part import Part
from dynamo.variables.raising import run_python

COMPARISONS = {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"}
ITEMS = {"__getitem__", "__setitem__", "__delitem__"}


class DequePart(Part, DequeVariable):
    """The deque in an object of a subclass of deque."""

    __slots__ = ("owner", "base", "anew")
    words_of_slots = True
    filled_at_last = True

    def __init__(self, items, maxlen=None, source=None):
        super().__init__(items, maxlen, source)
        self.anew = False  # whether `__init__` was called, which sets `maxlen`

    def initialize(self, frame, args, kwargs):
        self.changed(frame)
        self.anew = True
        given = dict(zip(("iterable", "maxlen"), args)) | kwargs
        limit = given.get("maxlen", NONE).as_python()
        run_python(frame, collections.deque, (), limit)
        self.maxlen = limit
        self.items = []
        if "iterable" in given:
            self.extend(frame, given["iterable"])

    def part_call(self, frame, name, args, kwargs):
        if name in COMPARISONS:  # C asks both for their iterators
            for value in (self.owner, *args):
                if frame.world.on_class(value.python_type(), "__iter__") is not frame.world.on_class(self.base, "__iter__"):
                    raise self.owner.unsupported(name)
        if name in ITEMS and args:
            args = [self.place(frame, args[0]), *args[1:]]
        return super().part_call(frame, name, args, kwargs)

    def like(self, items):
        raise self.owner.unsupported("a copy, which calls the class,")

    def items_recipe(self, emit):
        return outcome.Build("tuple", tuple(emit.value(v) for v in self.items))

    def fill_part(self, emit, temp):
        args = (temp, self.items_recipe(emit), outcome.Const(self.maxlen))
        emit.after(outcome.Do(outcome.Call(outcome.Const(collections.deque.__init__), args)))

    def replay(self, emit):
        me = emit.value(self.owner)
        if self.anew:
            self.fill_part(emit, me)
            return
        self.give(emit, me)


def outside_deque(frame, base: type, value: Any, source: Source) -> DequePart:
    limit = collections.deque.maxlen.__get__(value)  # type: ignore[attr-defined]
    frame.output.guard_constant(Converted(source, limit_of), limit)
    here, items = Converted(source, items_of), items_of(value)
    frame.output.guard(guards.LengthIs(here, len(items)))
    return DequePart([frame.world.lazy(v, Item(here, i)) for i, v in enumerate(items)], limit, source)


# Past whatever a subclass overrides:
def items_of(value: collections.deque) -> tuple:
    return tuple(collections.deque.__iter__(value))


def limit_of(value: collections.deque) -> int | None:
    return collections.deque.maxlen.__get__(value)  # type: ignore[attr-defined]


declare_part(collections.deque, lambda frame, args, kwargs: DequePart([]), outside_deque)
