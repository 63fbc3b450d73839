"""collections.deque."""

from __future__ import annotations

import collections

from dynamo import guards, outcome
from dynamo.source import Attr, Item
from dynamo.variables import builtin, track
from dynamo.variables.base import Variable
from dynamo.variables.constant import NONE, plain
from dynamo.variables.exception import raise_exception
from dynamo.variables.sequence import ListVariable, as_index


class DequeVariable(ListVariable):
    """A deque: a list that drops items at the other end when it is longer than `maxlen`."""

    __slots__ = ("maxlen",)
    cls = collections.deque

    def __init__(self, items: list[Variable], maxlen: int | None = None, source=None):
        super().__init__(items, source)
        self.maxlen = maxlen

    def like(self, items):
        return DequeVariable(items, self.maxlen)

    def as_arg(self):
        from dynamo.graph_break import NotConstant

        raise NotConstant(self)

    as_meta = as_arg

    def getattr(self, frame, name):
        from dynamo.variables.constant import literal

        return literal(frame, self.maxlen) if name == "maxlen" else super().getattr(frame, name)

    def add(self, frame, values: list[Variable], left: bool) -> Variable:
        """Append values one by one on one side."""
        self.changed(frame)
        for v in values:
            self.items.insert(0 if left else len(self.items), v)
            if self.maxlen is not None and len(self.items) > self.maxlen:
                self.items.pop(-1 if left else 0)
        return NONE

    def append(self, frame, item):
        return self.add(frame, [item], False)

    def extend(self, frame, items):
        return self.add(frame, items.unpack(frame), False)

    def take(self, frame, index: int) -> Variable:
        if not self.items:
            raise raise_exception(frame, IndexError, "pop from an empty deque")
        value = self.item(frame, index)
        self.changed(frame)
        del self.items[index]
        return value

    def rotate(self, frame, n=None):
        steps = 1 if n is None else as_index(frame, n, "")
        self.changed(frame)
        if self.items:
            k = -steps % len(self.items)
            self.items = self.items[k:] + self.items[:k]
        return NONE

    methods = {
        **ListVariable.methods,
        "append": append,
        "extend": extend,
        "appendleft": lambda self, frame, item: self.add(frame, [item], True),
        "extendleft": lambda self, frame, items: self.add(frame, items.unpack(frame), True),
        "pop": lambda self, frame: self.take(frame, -1),
        "popleft": lambda self, frame: self.take(frame, 0),
        "rotate": rotate,
        "copy": lambda self, frame: self.like(list(self.items)),
    }

    def recipe(self, emit):
        if self.source is not None:
            return emit.load(self.source)

        def make():
            items = outcome.Build("tuple", tuple(emit.value(v) for v in self.items))
            return outcome.Call(outcome.Const(collections.deque), (items, outcome.Const(self.maxlen)))

        return emit.shared(self, make)

    def replay(self, emit) -> None:
        me = emit.value(self)
        items = outcome.Build("tuple", tuple(emit.value(v) for v in self.items))
        emit.after(outcome.Do(outcome.Call(outcome.Const(collections.deque.clear), (me,))))
        emit.after(outcome.Do(outcome.Call(outcome.Const(collections.deque.extend), (me, items))))


@builtin.builtin(collections.deque)
def new_deque(frame, values=None, maxlen=NONE):
    limit = plain(maxlen)
    new = DequeVariable([], limit)
    if values is not None:
        new.add(frame, values.unpack(frame), False)
    return new


@track.kind(collections.deque)
def _deque(frame, value, source):
    frame.output.guard_type(source, collections.deque)
    frame.output.guard(guards.LengthIs(source, len(value)))
    frame.output.guard_constant(Attr(source, "maxlen"), value.maxlen)
    items: list[Variable] = [track.Lazy(v, Item(source, i), frame.output) for i, v in enumerate(value)]
    return DequeVariable(items, value.maxlen, source)
