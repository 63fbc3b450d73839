"""Iterators: over containers, zip, map, filter, enumerate, calls with a sentinel, and generators."""

from __future__ import annotations

import _operator as operator
import collections
import sys
import types
from collections.abc import Callable
from typing import Any

from aten.scalar.unpatched import itertools
from dynamo import breaks, outcome
from dynamo.breaks import NotConstant, Raised, Unsupported
from dynamo.bytecode.instruction import VERSION
from dynamo.polyfills.iteration import Given, advanced, exhausted, placed
from dynamo.variables.base import Exhausted, TrueVariable, Variable, method
from dynamo.variables.constant import NONE, ConstantVariable
from dynamo.variables.exception import raise_exception, thrown


class IteratorVariable(TrueVariable):
    """What all iterators share."""

    __slots__ = ()

    def iterate(self, frame):
        return self

    def is_same(self, other):
        return self is other


class ItemsIterator(IteratorVariable):
    """Over a fixed list of values; `make(of)` is the iterator at run time (None: one over a tuple of them)."""

    __slots__ = ("items", "index", "of", "make")

    def __init__(self, items: list[Variable], of: Variable | None = None, make: Callable = iter):
        super().__init__()
        self.items = items
        self.index = 0
        self.of = of
        self.make = make

    def python_type(self):
        return type(iter(())) if self.of is None else type(self.make(self.of.example()))

    def next(self, frame):
        if self.index >= len(self.items):
            raise Exhausted()
        value = self.items[self.index].realize(frame)
        self.index += 1
        return value

    def recipe(self, emit):
        def make():
            if self.of is None:
                rest = tuple(emit.value(v) for v in self.items[self.index :])
                return outcome.Call(outcome.Const(iter), (outcome.Build("tuple", rest),))
            new = outcome.Call(outcome.Const(self.make), (emit.value(self.of),))
            return outcome.Call(outcome.Const(advanced), (new, outcome.Const(self.index))) if self.index else new

        return emit.shared(self, make)


class RangeIterator(IteratorVariable):
    """Over a range, which may be longer than anything that is traced; `make(of)` is the iterator at run time."""

    __slots__ = ("values", "index", "of", "make")

    def __init__(self, values: range, of: Variable, make: Callable = iter):
        super().__init__()
        self.values = values
        self.index = 0
        self.of = of
        self.make = make

    def python_type(self):
        return type(self.make(self.of.example()))

    def next(self, frame):
        try:
            value = self.values[self.index]
        except IndexError:
            raise Exhausted() from None
        self.index += 1
        return frame.values.literal(frame, value)

    def recipe(self, emit):
        def make():
            new = outcome.Call(outcome.Const(self.make), (emit.value(self.of),))
            return outcome.Call(outcome.Const(advanced), (new, outcome.Const(self.index))) if self.index else new

        return emit.shared(self, make)


class HashedIterator(ItemsIterator):
    """Over a dict, a view or a set, which must not change its size meanwhile."""

    __slots__ = ("container", "size", "shape", "ended")

    def __init__(self, items: list[Variable], container: Any, of: Variable, make: Callable = iter):
        super().__init__(items, of, make)
        self.container = container
        self.size = len(container.entries)
        self.shape = container.shape
        self.ended = False

    def next(self, frame):
        ordered = issubclass(getattr(self.container, "cls", object), collections.OrderedDict)
        if self.ended or (ordered and self.index >= len(self.items)):  # (an OrderedDict knows early that nothing follows)
            raise Exhausted()
        if ordered and self.shape != self.container.shape:
            raise raise_exception(frame, RuntimeError, "OrderedDict mutated during iteration")
        if len(self.container.entries) != self.size:
            self.size = -1
            text = f"{'Set' if issubclass(self.of.python_type(), set) else 'dictionary'} changed size during iteration"
            raise raise_exception(frame, RuntimeError, text)
        if self.shape != self.container.shape:
            raise self.unsupported("next() after a change")
        try:
            return super().next(frame)
        except Exhausted:
            self.ended = True
            raise

    def recipe(self, emit):
        if self.ended:
            self.of, self.items = None, []
        elif self.shape != self.container.shape or (self.container.source is not None and self.shape):
            raise self.unsupported("an iterator over what has changed")  # (new code makes it before the changes)
        return super().recipe(emit)


class SequenceIterator(IteratorVariable):
    """Over a list, which may change meanwhile, or a tuple; backwards if `step` is -1."""

    __slots__ = ("sequence", "index", "step")

    def __init__(self, sequence: Any, step: int = 1):
        super().__init__()
        self.sequence = sequence
        self.index = 0 if step == 1 else len(sequence.items) - 1
        self.step = step

    def make(self) -> Callable:
        return iter if self.step == 1 else reversed

    def python_type(self):
        return type(self.make()(self.sequence.example()))

    def next(self, frame):
        if not 0 <= self.index < len(self.sequence.items):
            self.index = -1 if self.step < 0 else 1 << 62  # an exhausted one stays exhausted
            raise Exhausted()
        value = self.sequence.item(frame, self.index)
        self.index += self.step
        return value

    def recipe(self, emit):
        if not -1 < self.index < 1 << 62:  # (it has let go of its sequence, which may grow)
            empty = outcome.Build("list" if isinstance(self.sequence.example(), list) else "tuple", ())
            ended = outcome.Call(outcome.Const(exhausted), (outcome.Call(outcome.Const(self.make()), (empty,)),))
            return emit.shared(self, lambda: ended)
        new = outcome.Call(outcome.Const(self.make()), (emit.value(self.sequence),))
        before, now, last = self.sequence.length_before(), len(self.sequence.items), self.index - (self.step == 1)
        if last < before:
            return emit.shared(self, lambda: outcome.Call(outcome.Const(placed), (new, outcome.Const(self.index))))
        if last >= now:
            raise self.unsupported("an iterator behind the end of what has shrunk")
        state = (outcome.Const(self.index),)  # (the list must have grown before: no index beyond the end is taken)
        return emit.shared(
            self, lambda: new, lambda temp: emit.at_last(outcome.Do(outcome.Call(outcome.GetAttr(temp, "__setstate__"), state)))
        )


class DequeIterator(SequenceIterator):
    """Over a deque, which must not change meanwhile."""

    __slots__ = ("state",)

    def __init__(self, sequence: Any, step: int = 1):
        super().__init__(sequence, step)
        self.state = sequence.state

    def next(self, frame):
        if self.sequence.state != self.state:
            raise raise_exception(frame, RuntimeError, "deque mutated during iteration")
        return super().next(frame)

    def recipe(self, emit):
        done = self.index if self.step == 1 else len(self.sequence.items) - 1 - self.index
        outside = self.sequence.source is not None
        if self.sequence.state != self.state or (self.state if outside else self.sequence.filled_at_last):
            raise self.unsupported("an iterator over what has changed")  # (new code makes it before the changes)
        new = outcome.Call(outcome.Const(self.make()), (emit.value(self.sequence),))
        count = outcome.Const(min(done, len(self.sequence.items)))
        return emit.shared(self, lambda: outcome.Call(outcome.Const(advanced), (new, count)))


class CountIterator(IteratorVariable):
    """itertools.count(start, step)."""

    __slots__ = ("value", "step")

    def __init__(self, value: Variable, step: Variable):
        super().__init__()
        self.value = value
        self.step = step

    def python_type(self):
        return itertools.count

    def next(self, frame):
        value = self.value
        self.value = frame.ops.binary(frame, operator.add, value, self.step)
        return value

    def recipe(self, emit):
        args = (emit.value(self.value), emit.value(self.step))
        return emit.shared(self, lambda: outcome.Call(outcome.Const(itertools.count), args))


def handed(emit, iterator: Variable) -> Any:
    """The recipe of an iterator as what another one is made of."""
    made, plain = emit.value(iterator), isinstance(iterator, IteratorVariable) and not isinstance(iterator, ObjectIterator)
    return made if plain else outcome.Call(outcome.Const(Given), (made,))


class Together(IteratorVariable):
    """An iterator over several at once."""

    __slots__ = ("iterators", "strict")

    def __init__(self, iterators: list[Variable], strict: bool = False):
        super().__init__()
        self.iterators = iterators
        self.strict = strict

    def step(self, frame) -> list[Variable]:
        """The next item of each."""
        items: list[Variable] = []
        for i, iterator in enumerate(self.iterators):
            try:
                items.append(iterator.next(frame))
            except Exhausted:
                if self.strict:
                    self.check_lengths(frame, i)
                raise
        return items

    def check_lengths(self, frame, at: int) -> None:
        """After iterator `at` came to its end first: with strict=True it raises unless all do."""
        name = self.python_type().__name__
        if at:
            raise raise_exception(frame, ValueError, f"{name}() argument {at + 1} is shorter than argument{_upto(at)}")
        for i, iterator in enumerate(self.iterators[1:], 1):
            try:
                iterator.next(frame)
            except Exhausted:
                continue
            raise raise_exception(frame, ValueError, f"{name}() argument {i + 1} is longer than argument{_upto(i)}")

    def strictness(self) -> tuple:
        """The keyword argument that makes it so."""
        return (("strict", outcome.Const(True)),) if self.strict else ()


class ZipIterator(Together):
    __slots__ = ()

    def python_type(self):
        return zip

    def next(self, frame):
        items = self.step(frame)
        if not items:
            raise Exhausted()
        return frame.values.tuple_(items)

    def recipe(self, emit):
        parts = tuple(handed(emit, i) for i in self.iterators)
        return emit.shared(self, lambda: outcome.Call(outcome.Const(zip), parts, self.strictness()))


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
        value = self.iterator.next(frame)
        self.index += 1
        return frame.values.tuple_([ConstantVariable(self.index - 1), value])

    def recipe(self, emit):
        args = (handed(emit, self.iterator), outcome.Const(self.index))
        return emit.shared(self, lambda: outcome.Call(outcome.Const(enumerate), args))


class MapIterator(Together):
    __slots__ = ("function",)

    def __init__(self, function: Variable, iterators: list[Variable], strict: bool = False):
        super().__init__(iterators, strict)
        self.function = function

    def python_type(self):
        return map

    def next(self, frame):
        return self.function.call(frame, self.step(frame), {})

    def recipe(self, emit):
        args = (emit.value(self.function), *[handed(emit, i) for i in self.iterators])
        return emit.shared(self, lambda: outcome.Call(outcome.Const(map), args, self.strictness()))


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
        args = (emit.value(self.function), handed(emit, self.iterator))
        return emit.shared(self, lambda: outcome.Call(outcome.Const(filter), args))


class CallIterator(IteratorVariable):
    """iter(function, sentinel)."""

    __slots__ = ("function", "sentinel")

    def __init__(self, function: Variable, sentinel: Variable):
        super().__init__()
        self.function: Variable | None = function
        self.sentinel = sentinel

    def python_type(self):
        return type(iter(int, 1))

    def next(self, frame):
        if self.function is None:
            raise Exhausted()
        value = self.function.call(frame, [], {})
        if frame.ops.equals(frame, value, self.sentinel):
            self.function = None
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

    def iterate(self, frame):
        return self.object.iterate(frame)

    def next(self, frame):
        try:
            return frame.ops.special(frame, self.object, "__next__")
        except Raised as r:
            if issubclass(r.value.cls, StopIteration):
                raise Exhausted(r.value.args[0] if r.value.args else None, r) from None
            raise

    def getattr(self, frame, name):
        return self.object.getattr(frame, name)

    def method(self, frame, name, args, kwargs):
        return self.object.method(frame, name, args, kwargs)

    def recipe(self, emit):
        return emit.value(self.object)


class GeneratorVariable(IteratorVariable):
    """A generator: its frame, run from yield to yield.

    One that is dropped inside of a `try` or `with` is closed, as Python closes it: the last reference to its Variable
    goes as the traced program drops the generator.
    """

    __slots__ = ("frame", "done", "started", "running", "born")

    def __init__(self, frame):
        super().__init__()
        self.frame = frame
        self.born = frame.output.root.group_step
        self.done = False
        self.started = False
        self.running = False

    def __del__(self):
        output = self.frame.output
        if not output.tracing:
            return
        if self.frame in output.suspended:
            try:
                self.close(output.current)
            except (Raised, Unsupported, NotConstant):
                return  # it stays among the suspended, with which a capture cannot end
        self.frame.stack.clear()  # what it alone held goes now: the generator that it delegates to, say
        self.frame.locals.clear()

    def python_type(self):
        return types.GeneratorType

    def resume(self, frame, sent: Variable | None = None, raised: Raised | None = None) -> Variable:
        """Run to the next yield. Raises Exhausted at the return."""
        if self.done:
            if raised is not None:
                frame.note_thrown(raised, own=False)
                raise raised
            raise Exhausted()
        if self.running:
            raise raise_exception(frame, ValueError, "generator already executing")
        if not self.started and sent is not None and not sent.is_same(NONE):
            raise raise_exception(frame, TypeError, "can't send non-None value to a just-started generator")
        self.frame.parent = frame
        self.running = True
        try:
            yielded = self.frame.resume_generator(sent if sent is not None else NONE, raised, self.started)
        except Raised as r:
            self.end(frame)
            if issubclass(r.value.cls, StopIteration):
                raise stopped(frame, r.value) from r
            raise
        finally:
            self.running = False
        self.started = True
        if yielded is None:
            self.end(frame)
            raise Exhausted(None if self.frame.result.is_same(NONE) else self.frame.result)
        if protected(self.frame) or self.closes_another(frame):
            frame.output.suspended[self.frame] = self.born
        else:
            frame.output.suspended.pop(self.frame, None)
        return yielded

    def end(self, frame) -> None:
        self.done = True
        frame.output.suspended.pop(self.frame, None)
        self.frame.stack.clear()
        self.frame.locals.clear()

    def next(self, frame):
        return self.resume(frame)

    @method("send")
    def send(self, frame, value):
        try:
            return self.resume(frame, value)
        except Exhausted as e:
            raise e.stop(frame) from None

    @method("throw")
    def throw(self, frame, cls, value=None, traceback=None):
        if VERSION >= (3, 12) and value is not None:
            raise self.unsupported("throw() of several arguments, of which Python warns")
        value, traceback = (NONE if v is None else v for v in (value, traceback))
        if not issubclass(traceback.python_type(), (types.TracebackType, types.NoneType)):
            raise raise_exception(frame, TypeError, "throw() third argument must be a traceback object")
        try:
            return self.raise_inside(frame, Raised(thrown(frame, cls, value)))
        except Exhausted as e:
            raise e.stop(frame) from None

    def delegate(self) -> Variable | None:
        """The iterator of the `yield from` that the generator stands at, if it stands at one."""
        if self.done or self.running or not self.started:
            return None
        at = self.frame.instructions[self.frame.pc]
        if at.name != "RESUME" or at.arg & 3 != AFTER_YIELD_FROM:
            return None
        return self.frame.stack[-1]

    def closes_another(self, frame) -> bool:
        """Whether closing the generator closes an object that it delegates to (generators are closed as they are dropped)."""
        below = self.delegate()
        return isinstance(below, ObjectIterator) and below.object.hasattr(frame, "close")

    def raise_inside(self, frame, raised: Raised) -> Variable:
        """Run to the next yield with an exception raised where the generator stands: in what it delegates to, first."""
        below = self.delegate()
        if below is None:
            return self.resume(frame, raised=raised)
        self.running = True
        try:
            if issubclass(raised.value.cls, GeneratorExit):
                close_iterator(frame, below)
            elif isinstance(below, GeneratorVariable):
                return below.raise_inside(frame, raised)
            elif below.hasattr(frame, "throw"):
                return below.method(frame, "throw", [raised.value], {})
        except Exhausted as e:
            return self.go_on(frame, NONE if e.value is None else e.value)
        except Raised as r:
            if issubclass(r.value.cls, StopIteration):
                return self.go_on(frame, r.value.args[0] if r.value.args else NONE)
            raised = r
        finally:
            self.running = False
        return self.resume(frame, raised=raised)

    def go_on(self, frame, value: Variable) -> Variable:
        """Run to the next yield behind a `yield from` whose iterator has ended with a value."""
        self.running = False
        send = next(i for i in reversed(self.frame.instructions[: self.frame.pc]) if i.name == "SEND")
        if VERSION < (3, 12):
            self.frame.stack.pop()
        self.frame.pc = send.target
        return self.resume(frame, value)

    @method("close")
    def close(self, frame):
        if self.done or not self.started:
            self.end(frame)
            return NONE
        closing = Raised(frame.values.exception(GeneratorExit))
        frame.note_context(closing)
        try:
            self.raise_inside(frame, closing)
        except Exhausted as e:
            return e.value if e.value is not None and CLOSE_RETURNS else NONE
        except Raised as r:
            if issubclass(r.value.cls, GeneratorExit):
                return NONE
            raise
        raise raise_exception(frame, RuntimeError, "generator ignored GeneratorExit")

    def recipe(self, emit):
        raise Unsupported(breaks.SUSPENDED, self.describe(), self.born)


AFTER_YIELD_FROM = 2  # of the argument of RESUME
CLOSE_RETURNS = sys.version_info >= (3, 13)  # generator.close() answers with what the generator returns


def close_iterator(frame, iterator: Variable) -> None:
    """What closing a generator does to the iterator that it delegates to."""
    if isinstance(iterator, GeneratorVariable) or iterator.hasattr(frame, "close"):
        iterator.method(frame, "close", [], {})


def stopped(frame, e: Any) -> Raised:
    """The RuntimeError that a StopIteration becomes where it leaves a generator."""
    raised = raise_exception(frame, RuntimeError, "generator raised StopIteration")
    raised.value.set_cause(frame, e)
    raised.value.context = e
    raised.noted = raised.value.raised = True
    return raised


def protected(frame) -> bool:
    """Whether a suspended frame stands inside of a `try` or `with`, so that closing it runs code."""
    at: int | None = frame.pc - 1
    while at is not None:
        at = next((target for first, last, target, _, _ in frame.handlers if first <= at < last), None)
        if at is None or frame.instructions[at].name == "CALL_INTRINSIC_1":  # of StopIteration, around the whole body
            return False
        if frame.instructions[at].name != "CLEANUP_THROW":  # of `yield from`, inside of what stands around it
            return True
    return False
