"""Python's builtins that make containers and iterators, and ask them."""

from __future__ import annotations

import collections
from collections.abc import Callable

from dynamo import breaks
from dynamo.breaks import Unsupported
from dynamo.bytecode.instruction import VERSION
from dynamo.variables import iterator as iterators
from dynamo.variables.base import Exhausted, one_by_one
from dynamo.variables.builtin import CLASSES, FUNCTIONS, builtin
from dynamo.variables.constant import FALSE, NONE, ConstantVariable, literal, plain
from dynamo.variables.construct import default_dict
from dynamo.variables.deque import DequeVariable
from dynamo.variables.exception import run_python
from dynamo.variables.mapping import DictVariable
from dynamo.variables.object import ObjectVariable
from dynamo.variables.sequence import ListVariable, SliceVariable, TupleVariable, sort_items
from dynamo.variables.sets import Given, SetHistory, SetVariable, set_of


@builtin(len)
def len_(frame, value, /):
    return value.length(frame)


# -------------------------------------------------------------------------------------------- iteration
@builtin(iter)
def iter_(frame, value, sentinel=None, /):
    if sentinel is None:
        found = value.iterate(frame)
        return found.object if isinstance(found, iterators.ObjectIterator) else found  # (which may be the value itself)
    if frame.world.lacks(value.python_type(), "__call__"):
        run_python(frame, iter, None, None)  # whose words differ by version
    return iterators.CallIterator(value, sentinel)


@builtin(next)
def next_(frame, it, default=None, /):
    try:
        return it.next(frame)
    except Exhausted as e:
        if default is not None:
            return default
        raise e.stop(frame) from None


@builtin(range)
def range_(frame, *args):
    if len(args) > 3:
        run_python(frame, range, *[0] * len(args))  # (which counts them before it looks at them)
    bounds = [frame.ops.index(frame, a) for a in args]
    return ConstantVariable(run_python(frame, range, *bounds))


@builtin(enumerate)
def enumerate_(frame, iterable, start=ConstantVariable(0)):
    first = frame.ops.index(frame, start)
    return iterators.EnumerateIterator(iterable.iterate(frame), first)


@builtin(zip)
def zip_(frame, *iterables, strict=FALSE):
    inner = []
    for i, values in enumerate(iterables):
        cls = values.python_type()
        if not frame.world.can_be_iterated(cls):
            run_python(frame, zip, *[()] * i, values.example())
        inner.append(values.iterate(frame))
    return iterators.ZipIterator(inner, strict.truth(frame))


def map_(frame, function, *iterables, strict=FALSE):
    if not iterables:
        run_python(frame, map, None)
    return iterators.MapIterator(function, [v.iterate(frame) for v in iterables], strict.truth(frame))


# map has `strict` from 3.14 on.
builtin(map)(map_ if VERSION >= (3, 14) else lambda frame, function, *iterables: map_(frame, function, *iterables))


@builtin(filter)
def filter_(frame, function, iterable, /):
    return iterators.FilterIterator(function, iterable.iterate(frame))


@builtin(reversed)
def reversed_(frame, sequence, /):
    if not isinstance(sequence, ObjectVariable):
        return sequence.backwards(frame)
    method = sequence.special(frame, "__reversed__")
    if method is not None:
        return method.call(frame, [], {})
    if frame.world.on_class(sequence.python_type(), "__reversed__") is None:  # (mappings say so)
        raise frame.values.error(frame, TypeError, f"'{sequence.type_name()}' object is not reversible")
    if frame.world.lacks(sequence.python_type(), "__getitem__"):
        raise frame.ops.refused(frame, reversed, sequence)
    last = sequence.length(frame).as_python() - 1
    return frame.values.sequence_iterator(sequence.special(frame, "__getitem__"), last)


@builtin(sorted)
def sorted_(frame, iterable, /, *, key=None, reverse=None):
    items = iterable.unpack_unordered(frame) if key is None or key.is_same(frame.values.NONE) else iterable.unpack(frame)
    return ListVariable(sort_items(frame, items, key, reverse))


# ------------------------------------------------------------------------------------------- containers
@builtin(list)
def list_(frame, iterable=None, /):
    return ListVariable([] if iterable is None else iterable.unpack(frame))


@builtin(tuple)
def tuple_(frame, iterable=None, /):
    if type(iterable) is TupleVariable:
        return iterable
    return TupleVariable([] if iterable is None else iterable.unpack(frame))


@builtin(set)
def set_(frame, iterable=None, /):
    return new_set(frame, iterable, False)


@builtin(frozenset)
def frozenset_(frame, iterable=None, /):
    if iterable is not None and iterable.python_type() is frozenset:
        return iterable
    return new_set(frame, iterable, True)


def new_set(frame, iterable, frozen: bool) -> SetVariable:
    if iterable is None:
        return SetVariable((), frozen)
    if not issubclass(iterable.python_type(), (set, frozenset)):
        new = set_of(frame, iterable.unpack(frame), frozen)
        if iterable.python_type() is dict and new.twin is not None:  # C makes room for all at once
            new.twin = type(new.twin)(dict.fromkeys(new.entries))
            new.history = SetHistory(made=(type(new.twin), Given(new, "dict")))
        return new
    other = frame.values.as_set(frame, iterable)
    new = SetVariable((), frozen)
    new.entries = dict(other.entries)
    new.twin = None if other.twin is None else (frozenset if frozen else set)(other.twin)
    new.history = SetHistory(made=(frozenset if frozen else set, Given(other, "set")))
    return new


def _dict(cls):
    def rule(frame, other=None, /, **kwargs):
        new = DictVariable(cls=cls)
        if other is not None:
            new.merge(frame, other)
        for name, value in kwargs.items():
            new.setitem(frame, ConstantVariable(name), value)
        return new

    return rule


builtin(dict)(_dict(dict))
builtin(collections.OrderedDict)(_dict(collections.OrderedDict))
CLASSES[collections.defaultdict] = default_dict


def from_keys(cls: type) -> Callable:
    """The rule of cls.fromkeys, for a class of dicts."""

    def rule(frame, args, kwargs):
        kwargs = dict(kwargs)
        if cls is collections.OrderedDict:  # (the others take no keywords)
            args = [*args, *(kwargs.pop(name) for name in ("iterable", "value")[len(args) :] if name in kwargs)]
        if kwargs or not 1 <= len(args) <= 2:
            raise Unsupported(breaks.UNKNOWN_CALL, f"{cls.__name__}.fromkeys with these arguments")
        new = frame.world.known(cls).call(frame, [], {})
        for k in one_by_one(frame, args[0]):
            new.setitem(frame, k, args[1] if len(args) > 1 else NONE)
        return new

    return rule


for _cls in (dict, collections.OrderedDict, collections.defaultdict):
    FUNCTIONS[_cls.fromkeys] = from_keys(_cls)


@builtin(collections.deque)
def deque_(frame, iterable=None, maxlen=NONE):
    limit = plain(maxlen)
    run_python(frame, collections.deque, (), limit)
    new = DequeVariable([], limit)
    if iterable is not None:
        new.put(iterable.unpack(frame), False)
    return new


@builtin(slice)
def slice_(frame, *parts):
    if not 1 <= len(parts) <= 3:
        return literal(frame, run_python(frame, slice, *[plain(p) for p in parts]))
    values = {1: [NONE, *parts, NONE], 2: [*parts, NONE], 3: list(parts)}[len(parts)]
    return SliceVariable(values)
