"""Subclasses of collections.deque: the deque in such an object."""

from __future__ import annotations

import collections
from typing import Any

from dynamo import outcome
from dynamo.source import Attr, Source
from dynamo.variables.constant import NONE
from dynamo.variables.construct import declare_part
from dynamo.variables.deque import DequeVariable
from dynamo.variables.native_part import Part, outside_items


class DequePart(Part, DequeVariable):
    """The deque in an object of a subclass of deque."""

    __slots__ = ("owner", "base")

    def initialize(self, frame, args, kwargs):
        given = dict(zip(("iterable", "maxlen"), args)) | kwargs
        limit = given.get("maxlen", NONE).as_python()
        self.maxlen = limit
        self.items = []
        if "iterable" in given:
            self.extend(frame, given["iterable"])

    def items_recipe(self, emit):
        return outcome.Build("tuple", tuple(emit.value(v) for v in self.items))

    def fill_part(self, emit, temp):
        args = (temp, self.items_recipe(emit), outcome.Const(self.maxlen))
        emit.after(outcome.Do(outcome.Call(outcome.Const(collections.deque.__init__), args)))

    def replay(self, emit):
        me = emit.value(self.owner)
        emit.after(outcome.Do(outcome.Call(outcome.Const(collections.deque.clear), (me,))))
        emit.after(outcome.Do(outcome.Call(outcome.Const(collections.deque.extend), (me, self.items_recipe(emit)))))


def outside_deque(frame, base: type, value: Any, source: Source) -> DequePart:
    frame.output.guard_constant(Attr(source, "maxlen"), value.maxlen)
    return DequePart(outside_items(frame, base, value, source), value.maxlen, source)


declare_part(collections.deque, lambda frame, args, kwargs: DequePart([]), outside_deque)
