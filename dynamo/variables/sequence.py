"""Tuples, named tuples, sizes, lists and slices."""

from __future__ import annotations

import operator
from typing import Any

from dynamo import outcome
from dynamo.graph_break import NotConstant
from dynamo.variables.base import Variable
from dynamo.variables.constant import NONE, ConstantVariable, boolean, literal
from dynamo.variables.exception import raise_exception, run_python

COMPARISONS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)


class SequenceVariable(Variable):
    """What lists and tuples share. `items` may hold Lazy values: read them by `unpack` or `item`."""

    __slots__ = ("items",)
    cls: type = tuple

    def __init__(self, items: list[Variable], source=None):
        super().__init__(source)
        self.items = items

    def __repr__(self):
        return f"{type(self).__name__}({self.items!r})"

    def python_type(self):
        return self.cls

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
            return self.like(self.items[key.as_slice()])
        index = as_index(
            frame, key, f"{self.cls.__name__} indices must be integers or slices, not {key.python_type().__name__}"
        )
        if not -len(self.items) <= index < len(self.items):
            raise raise_exception(frame, IndexError, f"{self.cls.__name__} index out of range")
        return self.item(frame, index)

    def contains(self, frame, item):
        from dynamo.interpreter.operators import equals

        return boolean(any(equals(frame, v, item) for v in self.unpack(frame)))

    def binary(self, frame, op, other):
        if (
            op in (operator.mul, operator.imul)
            and not isinstance(other, SequenceVariable)
            and other.python_type() is int
        ):
            return self.like(self.unpack(frame) * as_index(frame, other, ""))
        if not isinstance(other, SequenceVariable):
            return None
        same_kind = issubclass(other.cls, tuple) == issubclass(self.cls, tuple)
        if op in (operator.add, operator.iadd) and same_kind:
            return self.like(self.items + other.items)
        if op in COMPARISONS and same_kind:
            return compare(frame, op, self.unpack(frame), other.unpack(frame))
        return None

    def reflected(self, frame, op, other):
        if op is operator.mul and isinstance(other, ConstantVariable) and isinstance(other.value, int):
            return self.like(self.unpack(frame) * other.value)
        return None

    def unary(self, frame, op):
        raise raise_exception(frame, TypeError, f"bad operand type for unary {op.__name__}: '{self.cls.__name__}'")

    def method(self, frame, name, args, kwargs):
        table = self.methods
        if name in table:
            return table[name](self, frame, *args, **kwargs)
        return super().method(frame, name, args, kwargs)

    def getattr(self, frame, name):
        from dynamo.variables.function import BoundMethod

        if name == "__class__":
            return literal(frame, self.cls)
        if not hasattr(self.cls, name):
            raise raise_exception(frame, AttributeError, f"'{self.cls.__name__}' object has no attribute '{name}'")
        return BoundMethod(self, name)

    def index(self, frame, item, start=None, stop=None):
        from dynamo.interpreter.operators import equals

        bounds = slice(start.as_python() if start else None, stop.as_python() if stop else None)
        for i in range(*bounds.indices(len(self.items))):
            if equals(frame, self.item(frame, i), item):
                return ConstantVariable(i)
        raise raise_exception(frame, ValueError, f"{self.cls.__name__}.index(x): x not in {self.cls.__name__}")

    def count(self, frame, item):
        from dynamo.interpreter.operators import equals

        return ConstantVariable(sum(equals(frame, v, item) for v in self.unpack(frame)))

    methods = {
        "index": index,
        "count": count,
        "__len__": lambda self, frame: self.length(frame),
        "__getitem__": lambda self, frame, key: self.getitem(frame, key),
        "__contains__": lambda self, frame, item: self.contains(frame, item),
        "__iter__": lambda self, frame: self.iterate(frame),
    }


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

    def iterate(self, frame):
        from dynamo.variables.iterator import ItemsIterator

        return ItemsIterator(self.unpack(frame))

    def hash_key(self):
        return tuple(v.hash_key() for v in self.items)

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

    @property
    def cls(self):
        from aten import Size

        return Size

    def like(self, items):
        return SizeVariable(items)

    def method(self, frame, name, args, kwargs):
        if name == "numel":
            from dynamo.interpreter.operators import binary

            total = ConstantVariable(1)
            for v in self.items:
                total = binary(frame, operator.mul, total, v)
            return total
        return super().method(frame, name, args, kwargs)

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

    def as_python(self):
        values = [v.as_python() for v in self.items]
        return self.cls._make(values) if hasattr(self.cls, "_make") else self.cls(values)

    def getattr(self, frame, name):
        fields = getattr(self.cls, "_fields", ())
        if name in fields:
            return self.item(frame, fields.index(name))
        if name in ("_fields", "_field_defaults", "__doc__"):
            return literal(frame, getattr(self.cls, name))
        if hasattr(tuple, name):
            return super().getattr(frame, name)
        from dynamo.variables.object import class_attribute

        return class_attribute(frame, self, self.cls, name)

    def method(self, frame, name, args, kwargs):
        if name == "_replace":
            items = self.unpack(frame)
            for key, value in kwargs.items():
                items[self.cls._fields.index(key)] = value
            return NamedTupleVariable(items, self.cls)
        if name == "_asdict":
            from dynamo.variables.mapping import DictVariable

            keys = [ConstantVariable(f) for f in self.cls._fields]
            return DictVariable.of(zip(keys, self.unpack(frame)))
        if name in self.methods and name not in self.cls.__dict__:
            return self.methods[name](self, frame, *args, **kwargs)
        return self.getattr(frame, name).call(frame, args, kwargs)

    def recipe(self, emit):
        if self.source is not None:
            return emit.load(self.source)

        def make():
            values = tuple(emit.value(v) for v in self.items)
            if hasattr(self.cls, "_make"):
                return outcome.Call(outcome.Const(self.cls), values)
            return outcome.Call(outcome.Const(self.cls), (outcome.Build("tuple", values),))

        return emit.shared(self, make)


class ListVariable(SequenceVariable):
    """A list. A change of one that came from outside is replayed after the graph."""

    __slots__ = ()
    cls = list

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
        from dynamo.variables.iterator import ListIterator

        return ListIterator(self)

    def changed(self, frame) -> None:
        frame.output.side_effects.changed(self)

    def binary(self, frame, op, other):
        if op is operator.iadd:
            self.extend(frame, other)
            return self
        if op is operator.imul:
            self.changed(frame)
            self.items = self.items * as_index(frame, other, "")
            return self
        return super().binary(frame, op, other)

    def setitem(self, frame, key, value):
        self.changed(frame)
        if isinstance(key, SliceVariable):
            run_python(frame, operator.setitem, self.items, key.as_slice(), value.unpack(frame))
            return
        index = as_index(frame, key, f"list indices must be integers or slices, not {key.python_type().__name__}")
        if not -len(self.items) <= index < len(self.items):
            raise raise_exception(frame, IndexError, "list assignment index out of range")
        self.items[index] = value

    def delitem(self, frame, key):
        self.changed(frame)
        index = (
            key.as_slice() if isinstance(key, SliceVariable) else as_index(frame, key, "list indices must be integers")
        )
        run_python(frame, operator.delitem, self.items, index)

    def append(self, frame, item):
        self.changed(frame)
        self.items.append(item)
        return NONE

    def extend(self, frame, items):
        new = items.unpack(frame)
        self.changed(frame)
        self.items.extend(new)
        return NONE

    def insert(self, frame, index, item):
        self.changed(frame)
        self.items.insert(as_index(frame, index, ""), item)
        return NONE

    def pop(self, frame, index=None):
        i = -1 if index is None else as_index(frame, index, "")
        if not -len(self.items) <= i < len(self.items):
            raise raise_exception(frame, IndexError, "pop index out of range" if self.items else "pop from empty list")
        value = self.item(frame, i)
        self.changed(frame)
        del self.items[i]
        return value

    def remove(self, frame, item):
        try:
            index = self.index(frame, item)
        except Exception as e:
            from dynamo.graph_break import Raised

            if isinstance(e, Raised):
                raise raise_exception(frame, ValueError, "list.remove(x): x not in list") from None
            raise
        self.changed(frame)
        del self.items[index.value]
        return NONE

    def clear(self, frame):
        self.changed(frame)
        self.items = []
        return NONE

    def reverse(self, frame):
        self.changed(frame)
        self.items.reverse()
        return NONE

    def sort(self, frame, *, key=None, reverse=None):
        items = sort_items(frame, self.unpack(frame), key, reverse)
        self.changed(frame)
        self.items = items
        return NONE

    methods = {
        **SequenceVariable.methods,
        "append": append,
        "extend": extend,
        "insert": insert,
        "pop": pop,
        "remove": remove,
        "clear": clear,
        "reverse": reverse,
        "sort": sort,
        "copy": lambda self, frame: ListVariable(list(self.items)),
        "__setitem__": lambda self, frame, key, value: self.setitem(frame, key, value) or NONE,
        "__delitem__": lambda self, frame, key: self.delitem(frame, key) or NONE,
    }

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

    def as_python(self):
        return slice(*[p.as_python() for p in self.parts])

    def as_slice(self) -> slice:
        """A slice of Python ints; symbolic bounds are read and guarded."""
        from dynamo.variables.constant import plain

        return slice(*[plain(p) for p in self.parts])

    def as_arg(self):
        return slice(*[p.as_arg() for p in self.parts])

    def as_meta(self):
        return slice(*[p.as_meta() for p in self.parts])

    def getattr(self, frame, name):
        if name in ("start", "stop", "step"):
            return self.parts[("start", "stop", "step").index(name)]
        from dynamo.variables.function import BoundMethod

        return BoundMethod(self, name)

    def method(self, frame, name, args, kwargs):
        if name == "indices":
            return literal(frame, run_python(frame, self.as_slice().indices, *[a.as_python() for a in args]))
        return super().method(frame, name, args, kwargs)

    def recipe(self, emit):
        return outcome.Build("slice", tuple(emit.value(p) for p in self.parts))


def as_index(frame, value: Variable, message: str) -> int:
    """The int that `value` is, for use as an index; a symbolic one is guarded. Raises TypeError in the program."""
    from dynamo.variables.constant import plain

    index: Any = plain(value)
    if not hasattr(index, "__index__"):
        name = type(index).__name__
        raise raise_exception(frame, TypeError, message or f"'{name}' object cannot be interpreted as an integer")
    return operator.index(index)


def compare(frame, op, left: list[Variable], right: list[Variable]) -> Variable:
    """The lexicographic comparison of two sequences."""
    from dynamo.interpreter.operators import binary, equals

    if op in (operator.eq, operator.ne) and len(left) != len(right):
        return boolean(op is operator.ne)
    for a, b in zip(left, right):
        if not equals(frame, a, b):
            return boolean(op is operator.ne) if op in (operator.eq, operator.ne) else binary(frame, op, a, b)
    return boolean(op(len(left), len(right)))


def sort_items(frame, items: list[Variable], key: Variable | None, reverse: Variable | None) -> list[Variable]:
    """sorted(items, key=key, reverse=reverse) by comparisons made in the traced program."""
    from dynamo.interpreter.operators import binary

    class Keyed:
        __slots__ = ("key", "item")

        def __init__(self, item):
            self.item = item
            self.key = item if key is None or key.is_same(NONE) else key.call(frame, [item], {})

        def __lt__(self, other):
            return binary(frame, operator.lt, self.key, other.key).truth(frame)

    keyed = sorted([Keyed(i) for i in items], reverse=bool(reverse is not None and reverse.truth(frame)))
    return [k.item for k in keyed]
