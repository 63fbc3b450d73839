"""collections.deque."""

from __future__ import annotations

import _operator as operator
import collections

from dynamo import outcome
from dynamo.breaks import NotConstant
from dynamo.bytecode.instruction import VERSION
from dynamo.operators import ROWS
from dynamo.variables.base import Variable, attribute, method
from dynamo.variables.constant import ConstantVariable, plain
from dynamo.variables.exception import raise_exception
from dynamo.variables.sequence import ListVariable, fits


class DequeVariable(ListVariable):
    """A deque: a list that drops items at the other end when it is longer than `maxlen`.

    `state` counts the changes that iterators over it object to.
    """

    __slots__ = ("maxlen", "state")
    cls = collections.deque
    family = collections.deque
    filled_at_last = False  # whether new code that makes one gives it its items when all else is made

    def __init__(self, items: list[Variable], maxlen: int | None = None, source=None):
        super().__init__(items, source)
        self.maxlen = maxlen
        self.state = 0

    def like(self, items):
        new = DequeVariable([], self.maxlen)
        new.put(items, False)
        return new

    def real_of(self, items):
        return collections.deque(items, self.maxlen)

    def as_arg(self):
        raise NotConstant(self)

    as_meta = as_arg

    def changed(self, frame):
        super().changed(frame)
        self.state += 1

    def iterate(self, frame):
        return frame.values.DequeIterator(self)

    def backwards(self, frame):
        return frame.values.DequeIterator(self, -1)

    def getitem(self, frame, key):
        if isinstance(key, frame.values.SliceVariable):
            raise frame.ops.refused(frame, operator.getitem, self, key)
        return super().getitem(frame, key)

    def setitem(self, frame, key, value):
        if isinstance(key, frame.values.SliceVariable):
            raise frame.ops.refused(frame, operator.setitem, self, key, value)
        state = self.state
        super().setitem(frame, key, value)
        self.state = state  # what stays as long is no change to an iterator

    def delitem(self, frame, key):
        if isinstance(key, frame.values.SliceVariable):
            raise frame.ops.refused(frame, operator.delitem, self, key)
        super().delitem(frame, key)

    @method("__getitem__")
    def item_called(self, frame, key):
        return self.getitem(frame, self.place(frame, key))

    @method("__setitem__")
    def set_item_called(self, frame, key, value):
        self.setitem(frame, self.place(frame, key), value)

    @method("__delitem__")
    def delete_item_called(self, frame, key):
        self.delitem(frame, self.place(frame, key))

    def place(self, frame, key: Variable) -> Variable:
        """The number of an item for a method that is called by name, which has other words for what is none than `deque[…]`."""
        return ConstantVariable(fits(frame, key, frame.ops.index(frame, key), OverflowError))

    def binary(self, frame, op, other):
        if op is operator.imul:
            result = super().binary(frame, op, other)
            if result is not None:
                self.items = self.items[-self.maxlen :] if self.maxlen else self.items
            return result
        if ROWS[op].function is operator.mul and self.maxlen is not None:
            raise self.unsupported("* of one with maxlen")
        return super().binary(frame, op, other)

    def assigned(self):
        return "deque"

    def not_found(self, item):
        return f"{plain(item)!r} is not in deque" if VERSION < (3, 14) else "deque.index(x): x not in deque"

    def not_removed(self, item):
        return f"{plain(item)!r} is not in deque" if VERSION < (3, 14) else "deque.remove(x): x not in deque"

    @attribute("maxlen")
    def limit(self, frame):
        return ConstantVariable(self.maxlen)

    def put(self, values: list[Variable], left: bool) -> None:
        """Append values one by one on one side."""
        for v in values:
            self.items.insert(0 if left else len(self.items), v)
            if self.maxlen is not None and len(self.items) > self.maxlen:
                self.items.pop(-1 if left else 0)

    def append(self, frame, item):
        self.changed(frame)
        self.put([item], False)

    @method("appendleft")
    def appendleft(self, frame, item):
        self.changed(frame)
        self.put([item], True)

    def extend(self, frame, items):
        values = items.unpack(frame)
        self.changed(frame)
        self.put(values, False)

    @method("extendleft")
    def extendleft(self, frame, items):
        values = items.unpack(frame)
        self.changed(frame)
        self.put(values, True)

    def insert(self, frame, index, item):
        if self.maxlen is not None and len(self.items) >= self.maxlen:
            raise raise_exception(frame, IndexError, "deque already at its maximum size")
        super().insert(frame, index, item)

    def take(self, frame, index: int) -> Variable:
        if not self.items:
            raise raise_exception(frame, IndexError, "pop from an empty deque")
        value = self.item(frame, index)
        self.changed(frame)
        del self.items[index]
        return value

    def pop(self, frame):
        return self.take(frame, -1)

    @method("popleft")
    def popleft(self, frame):
        return self.take(frame, 0)

    @method("rotate")
    def rotate(self, frame, n=ConstantVariable(1)):
        steps = frame.ops.index(frame, n)
        self.changed(frame)
        if self.items:
            k = -steps % len(self.items)
            self.items = self.items[k:] + self.items[:k]

    def recipe(self, emit):
        if self.source is not None:
            return emit.load(self.source)

        def make():
            items = outcome.Build("tuple", tuple(emit.value(v) for v in self.items))
            return outcome.Call(outcome.Const(collections.deque), (items, outcome.Const(self.maxlen)))

        return emit.shared(self, make)

    def replay(self, emit) -> None:
        self.give(emit, emit.value(self))

    def give(self, emit, me) -> None:
        """Statements that give the deque outside its new items; one that is as long as it was stays as it is for its iterators."""
        items = outcome.Build("tuple", tuple(emit.value(v) for v in self.items))
        if not self.state:
            emit.after(outcome.Do(outcome.Call(outcome.Const(replace_items), (me, items))))
            return
        emit.after(outcome.Do(outcome.Call(outcome.Const(collections.deque.clear), (me,))))
        emit.after(outcome.Do(outcome.Call(outcome.Const(collections.deque.extend), (me, items))))


def replace_items(deque: collections.deque, items: tuple) -> None:
    """Past whatever a subclass overrides."""
    for i, item in enumerate(items):
        collections.deque.__setitem__(deque, i, item)
