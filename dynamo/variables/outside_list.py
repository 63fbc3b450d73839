"""A list from outside that nobody has read yet: what only grows is not guarded."""

from __future__ import annotations

from typing import Any

from dynamo import guards, outcome
from dynamo.source import Item, Source
from dynamo.variables.base import Variable
from dynamo.variables.lazy import Lazy
from dynamo.variables.sequence import ListVariable


class OutsideList(ListVariable):
    """Its length is guarded, and its items become values, when something asks for them; `append` does not."""

    __slots__ = ("value", "output", "known", "added")

    def __init__(self, value: list, source: Source, output: Any):
        self.value = value
        self.output = output
        self.known: list[Variable] | None = None
        self.added: list[Variable] = []
        Variable.__init__(self, source)

    @property
    def items(self) -> list[Variable]:
        if self.known is None:
            assert self.source is not None
            self.output.guard(guards.LengthIs(self.source, len(self.value)))
            here = [Lazy(v, Item(self.source, i), self.output) for i, v in enumerate(self.value)]
            self.known = here + self.added
        return self.known

    @items.setter
    def items(self, items: list[Variable]) -> None:
        self.known = items

    def length_before(self) -> int:
        return len(self.value)

    def append(self, frame, item):
        self.changed(frame)
        (self.added if self.known is None else self.known).append(item)

    def replay(self, emit) -> None:
        if self.known is not None:
            super().replay(emit)
            return
        target = outcome.GetAttr(emit.value(self), "append")
        for item in self.added:
            emit.after(outcome.Do(outcome.Call(target, (emit.value(item),))))
