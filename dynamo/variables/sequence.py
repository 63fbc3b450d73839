"""Tuples, named tuples, sizes, lists and slices."""

from __future__ import annotations

import _operator as operator
import sys
from collections.abc import Callable
from typing import Any

import aten
from dynamo import outcome
from dynamo.breaks import NotConstant
from dynamo.bytecode.instruction import VERSION
from dynamo.operators import ROWS
from dynamo.variables.attributes import bind, find, no_attribute
from dynamo.variables.base import Variable, attribute, method, one_by_one
from dynamo.variables.constant import NONE, ConstantVariable, boolean, plain
from dynamo.variables.exception import raise_exception, run_python

EQUALITY = (operator.eq, operator.ne)


class SequenceVariable(Variable):
    """What lists and tuples share. `items` may hold Lazy values: read them by `unpack` or `item`."""

    __slots__ = ("items",)
    cls: type = tuple
    family: type = tuple  # sequences of one family are compared and added

    def __init__(self, items: list[Variable], source=None):
        super().__init__(source)
        self.items = items

    def __repr__(self):
        return f"{type(self).__name__}({self.items!r})"

    def python_type(self):
        return self.cls

    def example(self):
        return self.cls()

    def real_of(self, items: list) -> Any:
        """A real object of the class with these items."""
        return self.cls(items)

    def item(self, frame, index: int) -> Variable:
        """items[index], realised."""
        value = self.items[index]
        real = value.realize(frame)
        if real is not value:
            self.items[index] = real
        return real

    def unpack(self, frame):
        return [self.item(frame, i) for i in range(len(self.items))]

    def like(self, items: list[Variable]) -> SequenceVariable:
        """A new sequence of the plain class (slices and sums of named tuples are tuples)."""
        return TupleVariable(items)

    def length(self, frame):
        return ConstantVariable(len(self.items))

    def truth(self, frame):
        return bool(self.items)

    def getitem(self, frame, key):
        if isinstance(key, SliceVariable):
            return self.like(run_python(frame, operator.getitem, self.items, key.bounds(frame)))
        index = frame.ops.index(frame, key, operator.getitem, self)
        if not -sys.maxsize - 1 <= index <= sys.maxsize:
            run_python(frame, operator.getitem, [], index)  # (which says that there cannot be such a place)
        if not -len(self.items) <= index < len(self.items):
            raise raise_exception(frame, IndexError, f"{self.family.__name__} index out of range")
        return self.item(frame, index)

    def contains(self, frame, item):
        return boolean(any(frame.ops.equals(frame, v, item) for v in self.unpack(frame)))

    def backwards(self, frame):
        return frame.values.SequenceIterator(self, -1)

    def binary(self, frame, op, other):
        row = ROWS[op]
        if row.function is operator.mul:
            return self.repeated(frame, other)
        other = getattr(other, "native", other)
        if not isinstance(other, SequenceVariable) or other.family is not self.family:
            return None
        if row.function is operator.add:
            return self.like(self.items + other.items)
        return compare(frame, op, self.unpack(frame), other.unpack(frame)) if row.is_comparison else None

    def reflected(self, frame, op, other):
        return self.repeated(frame, other) if op is operator.mul else None

    def repeated(self, frame, times: Variable) -> Variable | None:
        """self * times; None if `times` is no integer."""
        if frame.world.lacks(times.python_type(), "__index__"):
            return None
        return self.like(run_python(frame, operator.mul, self.unpack(frame), frame.ops.index(frame, times)))

    @method("index")
    def index(self, frame, item, start=None, stop=None):
        bounds = slice(*[None if b is None else frame.ops.index(frame, b, search_from) for b in (start, stop)])
        for i in range(*bounds.indices(len(self.items))):
            if frame.ops.equals(frame, self.item(frame, i), item):
                return ConstantVariable(i)
        raise raise_exception(frame, ValueError, self.not_found(item))

    def not_found(self, item: Variable) -> str:
        return "tuple.index(x): x not in tuple"

    @method("count")
    def count(self, frame, item):
        return ConstantVariable(sum(frame.ops.equals(frame, v, item) for v in self.unpack(frame)))

    def length_before(self) -> int:
        """How many items it has before anything is done again."""
        return len(self.items)


class TupleVariable(SequenceVariable):
    __slots__ = ()
    cls = tuple

    def as_python(self):
        return self.cls(v.as_python() for v in self.items)

    def is_constant(self):
        return all(v.is_constant() for v in self.items)

    def as_arg(self):
        return tuple(v.as_arg() for v in self.items)

    def as_meta(self):
        return tuple(v.as_meta() for v in self.items)

    def getitem(self, frame, key):
        if type(self) is TupleVariable and isinstance(key, SliceVariable) and key.bounds(frame) == slice(None):
            return self
        return super().getitem(frame, key)

    def iterate(self, frame):
        return frame.values.SequenceIterator(self)

    def hash_key(self):
        return tuple(v.hash_key() for v in self.items)

    @method("__hash__")
    def hashed(self, frame):
        return ConstantVariable(frame.ops.hash_value(frame, self))

    def is_same(self, other):
        if self is other:
            return True
        if self.source is not None and other.source is not None:
            return self.source == other.source
        if not isinstance(other, TupleVariable):
            return False
        raise NotConstant(self)

    def recipe(self, emit):
        if self.source is not None:
            return emit.load(self.source)
        return emit.shared(self, lambda: outcome.Build("tuple", tuple(emit.value(v) for v in self.items)))


class SizeVariable(TupleVariable):
    """`Tensor.shape`."""

    __slots__ = ()
    cls = aten.Size

    def like(self, items):
        return SizeVariable(items)

    def repeated(self, frame, times):
        result = super().repeated(frame, times)
        return None if result is None else TupleVariable(result.items)

    @method("numel")
    def numel(self, frame):
        total: Variable = ConstantVariable(1)
        for v in self.unpack(frame):
            total = frame.ops.binary(frame, operator.mul, total, v)
        return total

    def recipe(self, emit):
        def make():
            parts = outcome.Build("tuple", tuple(emit.value(v) for v in self.items))
            return outcome.Call(outcome.Const(self.cls), (parts,))

        return emit.shared(self, make)


class NamedTupleVariable(TupleVariable):
    """A tuple of a user's class: collections.namedtuple, typing.NamedTuple, named results of operations."""

    __slots__ = ("cls",)

    def __init__(self, items, cls: type, source=None):
        super().__init__(items, source)
        self.cls = cls

    def example(self):
        return type(self.type_name(), (tuple,), {"__slots__": ()})()  # C names the class in what it refuses

    def as_python(self):
        values = [v.as_python() for v in self.items]
        return self.cls._make(values) if hasattr(self.cls, "_make") else self.cls(values)

    def getattr(self, frame, name):
        fields = getattr(self.cls, "_fields", ())
        if name in fields and not hasattr(self.cls, "_make"):
            return self.item(frame, fields.index(name))
        if hasattr(tuple, name) and name != "__doc__":
            return super().getattr(frame, name)
        found = find(frame, self.cls, name)
        if found is None:
            raise no_attribute(frame, self, name)
        return bind(frame, found, self, frame.world.known(self.cls))

    @method("_replace")
    def replaced(self, frame, **values):
        fields = self.cls._fields  # type: ignore[attr-defined]
        unknown = [name for name in values if name not in fields]
        if unknown:
            raise raise_exception(frame, ValueError, f"Got unexpected field names: {unknown!r}")
        items = [values.get(name, item) for name, item in zip(fields, self.unpack(frame))]
        return NamedTupleVariable(items, self.cls)

    @method("_asdict")
    def as_dict(self, frame):
        keys = [ConstantVariable(f) for f in self.cls._fields]  # type: ignore[attr-defined]
        return frame.values.dict_(zip(keys, self.unpack(frame)))

    def recipe(self, emit):
        if self.source is not None:
            return emit.load(self.source)

        def make():
            values = tuple(emit.value(v) for v in self.items)
            new: Any = tuple.__new__ if hasattr(self.cls, "_make") else self.cls.__new__
            return outcome.Call(outcome.Const(new), (outcome.Const(self.cls), outcome.Build("tuple", values)))

        return emit.shared(self, make)

    # (Last in the class: its name hides the decorator.)
    def method(self, frame, name, args, kwargs):
        if name in self.rules and not frame.world.class_has_own(self.cls, name) or name in ("_replace", "_asdict"):
            return super().method(frame, name, args, kwargs)
        return self.getattr(frame, name).call(frame, args, kwargs)


class ListVariable(SequenceVariable):
    """A list. A change of one that came from outside is replayed after the graph."""

    __slots__ = ()
    cls: type = list
    family = list

    def like(self, items):
        return ListVariable(items)

    def as_arg(self):
        return [v.as_arg() for v in self.items]

    def as_meta(self):
        return [v.as_meta() for v in self.items]

    def is_constant(self):
        return False

    def as_python(self):
        raise NotConstant(self)

    def is_same(self, other):
        return self is other

    def iterate(self, frame):
        return frame.values.SequenceIterator(self)

    def changed(self, frame) -> None:
        frame.output.side_effects.changed(self)

    def binary(self, frame, op, other):
        if op is operator.iadd:
            self.extend(frame, other)
            return self
        if op is operator.imul:
            result = super().binary(frame, op, other)
            if result is None:
                return None
            self.changed(frame)
            self.items = result.items
            return self
        return super().binary(frame, op, other)

    def setitem(self, frame, key, value):
        if isinstance(key, SliceVariable):
            if not frame.world.can_be_iterated(value.python_type()):
                raise frame.ops.refused(frame, operator.setitem, self, key, value)
            plain = value.python_type() in (list, tuple)  # of others a list is made of the iterator, which is asked for one again
            items, bounds = (value if plain else value.iterate(frame)).unpack(frame), key.bounds(frame)
            self.changed(frame)
            run_python(frame, operator.setitem, self.items, bounds, items)
            return
        index = self.place_of(frame, key)
        self.changed(frame)
        self.items[index] = value

    def delitem(self, frame, key):
        if isinstance(key, SliceVariable):
            bounds = key.bounds(frame)
            self.changed(frame)
            del self.items[bounds]
            return
        index = self.place_of(frame, key)
        self.changed(frame)
        del self.items[index]

    def place_of(self, frame, key: Variable) -> int:
        """Which item is changed."""
        index = fits(frame, key, frame.ops.index(frame, key, operator.delitem, self), IndexError)
        if not -len(self.items) <= index < len(self.items):
            raise raise_exception(frame, IndexError, f"{self.assigned()} index out of range")
        return index

    def assigned(self) -> str:
        """How an IndexError of an assignment calls the list."""
        return "list assignment"

    def not_found(self, item):
        return f"{plain(item)!r} is not in list" if VERSION < (3, 14) else "list.index(x): x not in list"

    @method("append")
    def append(self, frame, item):
        self.changed(frame)
        self.items.append(item)

    @method("extend")
    def extend(self, frame, items):
        self.changed(frame)
        for item in one_by_one(frame, items):
            self.items.append(item)

    @method("__iadd__")
    def extended(self, frame, items):
        self.extend(frame, items)
        return self

    @method("insert")
    def insert(self, frame, index, item):
        at = frame.ops.index(frame, index)
        run_python(frame, list.insert, [], at, None)  # which takes no integer that is too large
        self.changed(frame)
        self.items.insert(at, item)

    @method("pop")
    def pop(self, frame, index=None):
        i = -1 if index is None else frame.ops.index(frame, index)
        if not -len(self.items) <= i < len(self.items):
            run_python(frame, list.pop, [None] * bool(self.items), i)
        value = self.item(frame, i)
        self.changed(frame)
        del self.items[i]
        return value

    @method("remove")
    def remove(self, frame, item):
        for i in range(len(self.items)):
            if frame.ops.equals(frame, self.item(frame, i), item):
                self.changed(frame)
                del self.items[i]
                return
        raise raise_exception(frame, ValueError, self.not_removed(item))

    def not_removed(self, item: Variable) -> str:
        return "list.remove(x): x not in list"

    @method("clear")
    def clear(self, frame):
        self.changed(frame)
        self.items = []

    @method("reverse")
    def reverse(self, frame):
        self.changed(frame)
        self.items.reverse()

    @method("sort")
    def sort(self, frame, *, key=None, reverse=None):
        items, self.items = self.unpack(frame), []  # (meanwhile it is empty, as in Python)
        self.changed(frame)
        try:
            sort_items(frame, items, key, reverse)
            modified = bool(self.items)
        finally:
            self.items = items
        if modified:
            raise raise_exception(frame, ValueError, "list modified during sort")

    @method("copy")
    def copy(self, frame):
        return self.like(list(self.items))

    def recipe(self, emit):
        if self.source is not None:
            return emit.load(self.source)
        return emit.shared(self, lambda: outcome.Build("list", tuple(emit.value(v) for v in self.items)))

    def replay(self, emit) -> None:
        """Statements that give the list outside its new contents."""
        new = outcome.Build("list", tuple(emit.value(v) for v in self.items))
        emit.after(outcome.SetItem(emit.value(self), outcome.Const(slice(None)), new))


class SliceVariable(Variable):
    """slice(start, stop, step) of any values."""

    __slots__ = ("parts",)

    def __init__(self, parts: list[Variable], source=None):
        super().__init__(source)
        self.parts = parts

    def python_type(self):
        return slice

    def example(self):
        return slice(None)

    def as_python(self):
        return slice(*[p.as_python() for p in self.parts])

    def bounds(self, frame) -> slice:
        """A slice of Python ints; symbolic bounds are read and guarded."""
        return slice(*[p if p is None else self.bound(frame, p) for p in map(_none, self.parts)])

    def bound(self, frame, part: Variable) -> int:
        return frame.ops.index(frame, part, lambda value: [][value:])

    def as_arg(self):
        return slice(*[p.as_arg() for p in self.parts])

    def as_meta(self):
        return slice(*[p.as_meta() for p in self.parts])

    @attribute("start")
    def start(self, frame):
        return self.parts[0]

    @attribute("stop")
    def stop(self, frame):
        return self.parts[1]

    @attribute("step")
    def step(self, frame):
        return self.parts[2]

    @method("indices")
    def indices(self, frame, length):
        return frame.values.literal(frame, run_python(frame, self.bounds(frame).indices, frame.ops.index(frame, length)))

    def binary(self, frame, op, other):
        if ROWS[op].is_comparison and isinstance(other, SliceVariable):
            return compare(frame, op, self.parts, other.parts)
        return None

    def is_same(self, other):
        return self is other

    def recipe(self, emit):
        return outcome.Build("slice", tuple(emit.value(p) for p in self.parts))


def _none(part: Variable) -> Variable | None:
    return None if part.is_same(NONE) else part


def search_from(place: Any) -> None:
    """What C says of a place that a search begins or ends at, and that is no number."""
    ().index(None, place)


def compare(frame, op: Callable, left: list[Variable], right: list[Variable]) -> Variable:
    """The lexicographic comparison of two sequences."""
    if op in EQUALITY and len(left) != len(right):
        return boolean(op is operator.ne)
    for a, b in zip(left, right):
        if not frame.ops.equals(frame, a, b):
            return boolean(op is operator.ne) if op in EQUALITY else frame.ops.binary(frame, op, a, b)
    return boolean(op(len(left), len(right)))


def sort_items(frame, items: list[Variable], key: Variable | None, reverse: Variable | None) -> list[Variable]:
    """items.sort(key=key, reverse=reverse) by comparisons made in the traced program; where one raises, the items stay in
    the order that Python's own sort has come to."""

    class Keyed:
        __slots__ = ("key", "item")

        def __init__(self, item):
            self.item = item
            self.key = item if key is None or key.is_same(NONE) else key.call(frame, [item], {})

        def __lt__(self, other):
            return frame.ops.binary(frame, operator.lt, self.key, other.key).truth(frame)

    backwards = reverse is not None and bool(reverse.truth(frame) if VERSION >= (3, 12) else frame.ops.index(frame, reverse))
    keyed = [Keyed(i) for i in items]
    try:
        keyed.sort(reverse=backwards)
    finally:
        items[:] = [k.item for k in keyed]
    return items


def fits(frame, key: Variable, index: int, error: type[Exception]) -> int:
    """The number of an item that C can hold."""
    if not -sys.maxsize - 1 <= index <= sys.maxsize:
        raise raise_exception(frame, error, f"cannot fit '{key.type_name()}' into an index-sized integer")
    return index
