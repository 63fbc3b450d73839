"""Iterators: over known items, live lists, zip, map, filter, enumerate, calls with a sentinel, and generators."""

from __future__ import annotations

from dynamo import graph_break, outcome
from dynamo.graph_break import Raised, Unsupported
from dynamo.variables.base import Exhausted, TrueVariable, Variable
from dynamo.variables.constant import NONE, ConstantVariable, literal
from dynamo.variables.exception import ExceptionVariable


class IteratorVariable(TrueVariable):
    """What all iterators share."""

    __slots__ = ()

    def iterate(self, frame):
        return self

    def getattr(self, frame, name):
        from dynamo.variables.exception import raise_exception
        from dynamo.variables.function import BoundMethod

        if not hasattr(self.python_type(), name):
            text = f"'{self.python_type().__name__}' object has no attribute '{name}'"
            raise raise_exception(frame, AttributeError, text)
        return BoundMethod(self, name)

    def method(self, frame, name, args, kwargs):
        if name == "__next__":
            return next_or_stop(frame, self)
        if name == "__iter__":
            return self
        raise self.unsupported(f"method {name}")


def next_or_stop(frame, iterator: Variable) -> Variable:
    """next(iterator), raising StopIteration in the traced program at the end."""
    try:
        return iterator.next(frame)
    except Exhausted as e:
        raise Raised(ExceptionVariable(StopIteration, [e.value] if e.value is not None else [])) from None


class ItemsIterator(IteratorVariable):
    """Over a fixed list of values: tuples, ranges, strings, dict views …"""

    __slots__ = ("items", "index")

    def __init__(self, items: list[Variable], source=None):
        super().__init__(source)
        self.items = items
        self.index = 0

    def python_type(self):
        return type(iter(()))

    def next(self, frame):
        if self.index >= len(self.items):
            raise Exhausted()
        value = self.items[self.index]
        self.index += 1
        return value

    def unpack(self, frame):
        rest, self.index = self.items[self.index :], len(self.items)
        return rest

    def recipe(self, emit):
        def make():
            rest = tuple(emit.value(v) for v in self.items[self.index :])
            return outcome.Call(outcome.Const(iter), (outcome.Build("tuple", rest),))

        return emit.shared(self, make)


class ListIterator(IteratorVariable):
    """Over a list that may change meanwhile."""

    __slots__ = ("list", "index")

    def __init__(self, list: Variable):
        super().__init__()
        self.list = list
        self.index = 0

    def python_type(self):
        return type(iter([]))

    def next(self, frame):
        if self.index >= len(self.list.items):
            self.index = 1 << 62  # an exhausted list iterator stays exhausted
            raise Exhausted()
        value = self.list.item(frame, self.index)
        self.index += 1
        return value

    def recipe(self, emit):
        def fill(temp):
            index = outcome.Const(min(self.index, len(self.list.items)))
            emit.after(outcome.Do(outcome.Call(outcome.GetAttr(temp, "__setstate__"), (index,))))

        return emit.shared(self, lambda: outcome.Call(outcome.Const(iter), (emit.value(self.list),)), fill)


class CountIterator(IteratorVariable):
    """itertools.count(start, step)."""

    __slots__ = ("value", "step")

    def __init__(self, value: Variable, step: Variable):
        super().__init__()
        self.value = value
        self.step = step

    def python_type(self):
        import itertools

        return itertools.count

    def next(self, frame):
        import operator

        from dynamo.interpreter.operators import binary

        value = self.value
        self.value = binary(frame, operator.add, value, self.step)
        return value

    def recipe(self, emit):
        import itertools

        args = (emit.value(self.value), emit.value(self.step))
        return emit.shared(self, lambda: outcome.Call(outcome.Const(itertools.count), args))


class ZipIterator(IteratorVariable):
    __slots__ = ("iterators", "strict")

    def __init__(self, iterators: list[Variable], strict: bool = False):
        super().__init__()
        self.iterators = iterators
        self.strict = strict

    def python_type(self):
        return zip

    def next(self, frame):
        from dynamo.variables.sequence import TupleVariable

        items: list[Variable] = []
        for i, iterator in enumerate(self.iterators):
            try:
                items.append(iterator.next(frame))
            except Exhausted:
                if self.strict:
                    self.check_lengths(frame, i)
                raise
        if not items:
            raise Exhausted()
        return TupleVariable(items)

    def check_lengths(self, frame, at: int) -> None:
        """After iterator `at` came to its end first: zip(strict=True) raises unless all do."""
        from dynamo.variables.exception import raise_exception

        if at:
            raise raise_exception(frame, ValueError, f"zip() argument {at + 1} is shorter than argument{_upto(at)}")
        for i, iterator in enumerate(self.iterators[1:], 1):
            try:
                iterator.next(frame)
            except Exhausted:
                continue
            raise raise_exception(frame, ValueError, f"zip() argument {i + 1} is longer than argument{_upto(i)}")

    def recipe(self, emit):
        kwargs = (("strict", outcome.Const(True)),) if self.strict else ()
        parts = tuple(emit.value(i) for i in self.iterators)
        return emit.shared(self, lambda: outcome.Call(outcome.Const(zip), parts, kwargs))


def _upto(n: int) -> str:
    return " 1" if n == 1 else f"s 1-{n}"


class EnumerateIterator(IteratorVariable):
    __slots__ = ("iterator", "index")

    def __init__(self, iterator: Variable, index: int):
        super().__init__()
        self.iterator = iterator
        self.index = index

    def python_type(self):
        return enumerate

    def next(self, frame):
        from dynamo.variables.sequence import TupleVariable

        value = self.iterator.next(frame)
        self.index += 1
        return TupleVariable([ConstantVariable(self.index - 1), value])

    def recipe(self, emit):
        args = (emit.value(self.iterator), outcome.Const(self.index))
        return emit.shared(self, lambda: outcome.Call(outcome.Const(enumerate), args))


class MapIterator(IteratorVariable):
    __slots__ = ("function", "iterators")

    def __init__(self, function: Variable, iterators: list[Variable]):
        super().__init__()
        self.function = function
        self.iterators = iterators

    def python_type(self):
        return map

    def next(self, frame):
        return self.function.call(frame, [i.next(frame) for i in self.iterators], {})

    def recipe(self, emit):
        args = (emit.value(self.function), *[emit.value(i) for i in self.iterators])
        return emit.shared(self, lambda: outcome.Call(outcome.Const(map), args))


class FilterIterator(IteratorVariable):
    __slots__ = ("function", "iterator")

    def __init__(self, function: Variable, iterator: Variable):
        super().__init__()
        self.function = function
        self.iterator = iterator

    def python_type(self):
        return filter

    def next(self, frame):
        while True:
            value = self.iterator.next(frame)
            keep = value if self.function.is_same(NONE) else self.function.call(frame, [value], {})
            if keep.truth(frame):
                return value

    def recipe(self, emit):
        args = (emit.value(self.function), emit.value(self.iterator))
        return emit.shared(self, lambda: outcome.Call(outcome.Const(filter), args))


class CallIterator(IteratorVariable):
    """iter(function, sentinel)."""

    __slots__ = ("function", "sentinel")

    def __init__(self, function: Variable, sentinel: Variable):
        super().__init__()
        self.function = function
        self.sentinel = sentinel

    def python_type(self):
        return type(iter(int, 1))

    def next(self, frame):
        from dynamo.interpreter.operators import equals

        value = self.function.call(frame, [], {})
        if equals(frame, value, self.sentinel):
            raise Exhausted()
        return value


class ObjectIterator(IteratorVariable):
    """An object of a user's class with `__next__`."""

    __slots__ = ("object",)

    def __init__(self, object: Variable):
        super().__init__()
        self.object = object

    def python_type(self):
        return self.object.python_type()

    def next(self, frame):
        try:
            return self.object.method(frame, "__next__", [], {})
        except Raised as r:
            if issubclass(r.value.cls, StopIteration):
                raise Exhausted(r.value.args[0] if r.value.args else None) from None
            raise

    def getattr(self, frame, name):
        return self.object.getattr(frame, name)

    def method(self, frame, name, args, kwargs):
        return self.object.method(frame, name, args, kwargs)

    def recipe(self, emit):
        return emit.value(self.object)


class GeneratorVariable(IteratorVariable):
    """A generator: its frame, run from yield to yield."""

    __slots__ = ("frame", "done", "started", "running")

    def __init__(self, frame):
        super().__init__()
        self.frame = frame
        self.done = False
        self.started = False
        self.running = False

    def python_type(self):
        import types

        return types.GeneratorType

    def resume(self, frame, sent: Variable | None = None, raised: Raised | None = None) -> Variable:
        """Run to the next yield. Raises Exhausted at the return."""
        if self.done:
            if raised is not None:
                raise raised
            raise Exhausted()
        if self.running:
            from dynamo.variables.exception import raise_exception

            raise raise_exception(frame, ValueError, "generator already executing")
        self.frame.parent = frame
        self.running = True
        try:
            yielded = self.frame.resume_generator(sent if sent is not None else NONE, raised, self.started)
        except Raised as r:
            self.done = True
            if issubclass(r.value.cls, StopIteration):
                raise Raised(ExceptionVariable(RuntimeError, [literal(frame, "generator raised StopIteration")])) from r
            raise
        finally:
            self.running = False
        self.started = True
        if yielded is None:
            self.done = True
            raise Exhausted(self.frame.result)
        return yielded

    def next(self, frame):
        return self.resume(frame)

    def method(self, frame, name, args, kwargs):
        if name == "send":
            try:
                return self.resume(frame, args[0])
            except Exhausted as e:
                raise Raised(ExceptionVariable(StopIteration, [e.value] if e.value is not None else [])) from None
        if name == "throw":
            return self.throw(frame, args)
        if name == "close":
            return self.close(frame)
        return super().method(frame, name, args, kwargs)

    def throw(self, frame, args) -> Variable:
        from dynamo.variables.object import make_exception

        value = make_exception(frame, args[1] if len(args) > 1 and not args[1].is_same(NONE) else args[0])
        try:
            return self.resume(frame, raised=Raised(value))
        except Exhausted as e:
            raise Raised(ExceptionVariable(StopIteration, [e.value] if e.value is not None else [])) from None

    def close(self, frame) -> Variable:
        if self.done or not self.started:
            self.done = True
            return NONE
        try:
            self.resume(frame, raised=Raised(ExceptionVariable(GeneratorExit, [])))
        except Exhausted:
            return NONE
        except Raised as r:
            if issubclass(r.value.cls, GeneratorExit):
                return NONE
            raise
        raise Raised(ExceptionVariable(RuntimeError, [literal(frame, "generator ignored GeneratorExit")]))

    def recipe(self, emit):
        if not self.started and not self.done and self.frame.function is not None:
            return self.frame.recipe_of_call(emit, self)
        raise Unsupported(graph_break.SUSPENDED, self.describe())
