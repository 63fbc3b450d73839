"""Dicts (also OrderedDict, defaultdict and mapping proxies), their views, and sets."""

from __future__ import annotations

import collections
import operator
from collections.abc import Iterable

from dynamo import outcome
from dynamo.graph_break import NotConstant, Raised
from dynamo.variables.base import Variable
from dynamo.variables.constant import FALSE, NONE, TRUE, ConstantVariable, boolean, literal
from dynamo.variables.exception import ExceptionVariable, raise_exception

MISSING = object()


class HashedVariable(Variable):
    """What dicts and sets share: `entries` by hash key."""

    __slots__ = ("entries",)

    def is_same(self, other):
        return self is other

    def changed(self, frame) -> None:
        frame.output.side_effects.changed(self)

    def length(self, frame):
        return ConstantVariable(len(self.entries))

    def truth(self, frame):
        return bool(self.entries)

    def contains(self, frame, item):
        return boolean(_key(frame, item) in self.entries)


class DictVariable(HashedVariable):
    """A dict. `entries`: hash key → [key, value]; values may be Lazy. `cls` may be a subclass that only adds order or
    a default. A change of a dict from outside is replayed after the graph."""

    __slots__ = ("entries", "cls", "default_factory")

    def __init__(self, entries: dict | None = None, cls: type = dict, default_factory: Variable = NONE, source=None):
        super().__init__(source)
        self.entries: dict = {} if entries is None else entries
        self.cls = cls
        self.default_factory = default_factory

    @staticmethod
    def of(pairs: Iterable[tuple[Variable, Variable]], cls: type = dict) -> DictVariable:
        """A new dict of (key, value) Variables."""
        return DictVariable({k.hash_key(): [k, v] for k, v in pairs}, cls)

    def __repr__(self):
        return f"DictVariable({list(self.entries.values())!r})"

    def python_type(self):
        return self.cls

    def as_arg(self):
        return {k.as_python(): v.as_arg() for k, v in self.entries.values()}

    def lookup(self, frame, key: Variable):
        """The value under key, or MISSING."""
        entry = self.entries.get(_key(frame, key))
        if entry is None:
            return MISSING
        entry[1] = entry[1].realize(frame)
        return entry[1]

    def pairs(self, frame) -> list[tuple[Variable, Variable]]:
        for entry in self.entries.values():
            entry[1] = entry[1].realize(frame)
        return [(k, v) for k, v in self.entries.values()]

    def unpack(self, frame):
        return [k for k, _ in self.entries.values()]

    def iterate(self, frame):
        from dynamo.variables.iterator import ItemsIterator

        return ItemsIterator(self.unpack(frame))

    def getitem(self, frame, key):
        value = self.lookup(frame, key)
        if value is not MISSING:
            return value
        if not self.default_factory.is_same(NONE):
            value = self.default_factory.call(frame, [], {})
            self.setitem(frame, key, value)
            return value
        raise Raised(ExceptionVariable(KeyError, [key]))

    def setitem(self, frame, key, value):
        self.changed(frame)
        k = _key(frame, key)
        entry = self.entries.get(k)
        if entry is None:
            self.entries[k] = [key, value]
        else:
            entry[1] = value

    def delitem(self, frame, key):
        k = _key(frame, key)
        if k not in self.entries:
            raise Raised(ExceptionVariable(KeyError, [key]))
        self.changed(frame)
        del self.entries[k]

    def binary(self, frame, op, other):
        if not isinstance(other, DictVariable):
            return None
        if op is operator.or_:
            new = DictVariable({k: list(e) for k, e in self.entries.items()}, self.cls)
            new.merge(frame, other)
            return new
        if op is operator.ior:
            self.changed(frame)
            self.merge(frame, other)
            return self
        if op in (operator.eq, operator.ne):
            from dynamo.interpreter.operators import equals

            mine, theirs = dict(self.entries), dict(other.entries)
            same = mine.keys() == theirs.keys() and all(
                equals(frame, self.lookup(frame, e[0]), other.lookup(frame, e[0])) for e in mine.values()
            )
            return boolean(same == (op is operator.eq))
        return None

    def merge(self, frame, other: Variable) -> None:
        """update() from a mapping or an iterable of pairs."""
        if isinstance(other, DictVariable):
            pairs = other.pairs(frame)
        elif other.hasattr(frame, "keys"):
            keys = other.method(frame, "keys", [], {}).unpack(frame)
            pairs = [(k, other.getitem(frame, k)) for k in keys]
        else:
            pairs = []
            for item in other.unpack(frame):
                key, value = item.unpack(frame)
                pairs.append((key, value))
        for k, v in pairs:
            self.setitem(frame, k, v)

    def getattr(self, frame, name):
        from dynamo.variables.function import BoundMethod

        if name == "__class__":
            return literal(frame, self.cls)
        if name == "default_factory" and self.cls is collections.defaultdict:
            return self.default_factory
        if not hasattr(self.cls, name):
            raise raise_exception(frame, AttributeError, f"'{self.cls.__name__}' object has no attribute '{name}'")
        return BoundMethod(self, name)

    def method(self, frame, name, args, kwargs):
        if name in METHODS:
            return METHODS[name](self, frame, *args, **kwargs)
        return super().method(frame, name, args, kwargs)

    def recipe(self, emit):
        if self.source is not None:
            return emit.load(self.source)

        def make():
            items = outcome.Build("dict", tuple(emit.value(x) for entry in self.entries.values() for x in entry))
            if self.cls is dict:
                return items
            if self.cls is collections.defaultdict:
                return outcome.Call(outcome.Const(self.cls), (emit.value(self.default_factory), items))
            return outcome.Call(outcome.Const(self.cls), (items,))

        return emit.shared(self, make)

    def replay(self, emit) -> None:
        """Statements that give the dict outside its new contents (dict's own methods: no user code runs)."""
        me = emit.value(self)
        items = outcome.Build("dict", tuple(emit.value(x) for entry in self.entries.values() for x in entry))
        cls = collections.OrderedDict if issubclass(self.cls, collections.OrderedDict) else dict
        emit.after(outcome.Do(outcome.Call(outcome.Const(cls.clear), (me,))))
        emit.after(outcome.Do(outcome.Call(outcome.Const(cls.update), (me, items))))


def _key(frame, key: Variable):
    from dynamo.variables.sequence import ListVariable

    if isinstance(key, (ListVariable, DictVariable)) or (isinstance(key, SetVariable) and not key.frozen):
        raise raise_exception(frame, TypeError, f"unhashable type: '{key.python_type().__name__}'")
    return key.hash_key()


def _get(self, frame, key, default=NONE):
    value = self.lookup(frame, key)
    return default if value is MISSING else value


def _pop(self, frame, key, default=None):
    value = self.lookup(frame, key)
    if value is MISSING:
        if default is None:
            raise Raised(ExceptionVariable(KeyError, [key]))
        return default
    self.delitem(frame, key)
    return value


def _popitem(self, frame, last=TRUE):
    if not self.entries:
        raise raise_exception(frame, KeyError, "popitem(): dictionary is empty")
    from dynamo.variables.sequence import TupleVariable

    entries = list(self.entries.items())
    k, entry = entries[-1 if last.truth(frame) else 0]
    entry[1] = entry[1].realize(frame)
    self.changed(frame)
    del self.entries[k]
    return TupleVariable(list(entry))


def _setdefault(self, frame, key, default=NONE):
    value = self.lookup(frame, key)
    if value is MISSING:
        self.setitem(frame, key, default)
        return default
    return value


def _update(self, frame, other=None, **kwargs):
    if other is not None:
        self.merge(frame, other)
    for name, value in kwargs.items():
        self.setitem(frame, ConstantVariable(name), value)
    return NONE


def _clear(self, frame):
    self.changed(frame)
    self.entries = {}
    return NONE


def _copy(self, frame):
    return DictVariable({k: list(e) for k, e in self.entries.items()}, self.cls, self.default_factory)


def _move_to_end(self, frame, key, last=TRUE):
    k = _key(frame, key)
    if k not in self.entries:
        raise Raised(ExceptionVariable(KeyError, [key]))
    self.changed(frame)
    entry = self.entries.pop(k)
    if last.truth(frame):
        self.entries[k] = entry
    else:
        self.entries = {k: entry, **self.entries}
    return NONE


METHODS = {
    "get": _get,
    "pop": _pop,
    "popitem": _popitem,
    "setdefault": _setdefault,
    "update": _update,
    "clear": _clear,
    "copy": _copy,
    "move_to_end": _move_to_end,
    "keys": lambda self, frame: DictView(self, "keys"),
    "values": lambda self, frame: DictView(self, "values"),
    "items": lambda self, frame: DictView(self, "items"),
    "__len__": lambda self, frame: self.length(frame),
    "__getitem__": lambda self, frame, key: self.getitem(frame, key),
    "__setitem__": lambda self, frame, key, value: self.setitem(frame, key, value) or NONE,
    "__delitem__": lambda self, frame, key: self.delitem(frame, key) or NONE,
    "__contains__": lambda self, frame, key: self.contains(frame, key),
    "__iter__": lambda self, frame: self.iterate(frame),
}


class DictView(Variable):
    """keys(), values() or items() of a dict."""

    __slots__ = ("mapping", "kind")

    def __init__(self, mapping: DictVariable, kind: str):
        super().__init__()
        self.mapping = mapping
        self.kind = kind

    def python_type(self):
        return type(getattr({}, self.kind)())

    def unpack(self, frame):
        from dynamo.variables.sequence import TupleVariable

        if self.kind == "keys":
            return self.mapping.unpack(frame)
        pairs = self.mapping.pairs(frame)
        return [v for _, v in pairs] if self.kind == "values" else [TupleVariable([k, v]) for k, v in pairs]

    def iterate(self, frame):
        from dynamo.variables.iterator import ItemsIterator

        return ItemsIterator(self.unpack(frame))

    def length(self, frame):
        return self.mapping.length(frame)

    def truth(self, frame):
        return self.mapping.truth(frame)

    def contains(self, frame, item):
        from dynamo.variables.sequence import ListVariable

        if self.kind == "keys":
            return self.mapping.contains(frame, item)
        return ListVariable(self.unpack(frame)).contains(frame, item)

    def binary(self, frame, op, other):
        if self.kind == "keys" and op in SET_OPERATORS:
            return as_set(frame, self).binary(frame, op, as_set(frame, other))
        return None

    def getattr(self, frame, name):
        from dynamo.variables.function import BoundMethod

        return BoundMethod(self, name)

    def recipe(self, emit):
        return outcome.Call(outcome.GetAttr(emit.value(self.mapping), self.kind))


SET_OPERATORS = {
    operator.and_: lambda a, b: a & b,
    operator.or_: lambda a, b: a | b,
    operator.sub: lambda a, b: a - b,
    operator.xor: lambda a, b: a ^ b,
    operator.eq: lambda a, b: a == b,
    operator.ne: lambda a, b: a != b,
    operator.le: lambda a, b: a <= b,
    operator.lt: lambda a, b: a < b,
    operator.ge: lambda a, b: a >= b,
    operator.gt: lambda a, b: a > b,
}
IN_PLACE = {
    operator.iand: operator.and_,
    operator.ior: operator.or_,
    operator.isub: operator.sub,
    operator.ixor: operator.xor,
}


class SetVariable(HashedVariable):
    """A set or frozenset. `entries`: hash key → item, in insertion order."""

    __slots__ = ("frozen",)

    def __init__(self, items: Iterable[Variable] = (), frozen: bool = False, source=None):
        super().__init__(source)
        self.entries = {v.hash_key(): v for v in items}
        self.frozen = frozen

    def python_type(self):
        return frozenset if self.frozen else set

    def as_python(self):
        if not self.frozen:
            raise NotConstant(self)
        return frozenset(v.as_python() for v in self.entries.values())

    def hash_key(self):
        return frozenset(self.entries)

    def unpack(self, frame):
        return list(self.entries.values())

    def iterate(self, frame):
        from dynamo.variables.iterator import ItemsIterator

        return ItemsIterator(self.unpack(frame))

    def binary(self, frame, op, other):
        if isinstance(other, DictView):
            other = as_set(frame, other)
        other_entries = other.entries if isinstance(other, SetVariable) else None
        if other_entries is None and isinstance(other, ConstantVariable) and isinstance(other.value, frozenset):
            other_entries = as_set(frame, other).entries
        if other_entries is None:
            return None
        plain_op = IN_PLACE.get(op, op)
        if plain_op not in SET_OPERATORS:
            return None
        result = SET_OPERATORS[plain_op](self.entries.keys(), other_entries.keys())
        if isinstance(result, bool):
            return boolean(result)
        both = {**other_entries, **self.entries}
        entries = {k: both[k] for k in both if k in result}
        if op in IN_PLACE and not self.frozen:
            self.changed(frame)
            self.entries = entries
            return self
        return SetVariable(entries.values(), self.frozen)

    def getattr(self, frame, name):
        from dynamo.variables.function import BoundMethod

        if not hasattr(self.python_type(), name):
            raise raise_exception(
                frame, AttributeError, f"'{self.python_type().__name__}' object has no attribute '{name}'"
            )
        return BoundMethod(self, name)

    def method(self, frame, name, args, kwargs):
        if name in SET_METHODS:
            return SET_METHODS[name](self, frame, *args, **kwargs)
        return super().method(frame, name, args, kwargs)

    def recipe(self, emit):
        if self.source is not None:
            return emit.load(self.source)

        def make():
            items = outcome.Build("set", tuple(emit.value(v) for v in self.entries.values()))
            return outcome.Call(outcome.Const(frozenset), (items,)) if self.frozen else items

        return emit.shared(self, make)

    def replay(self, emit) -> None:
        me = emit.value(self)
        items = outcome.Build("set", tuple(emit.value(v) for v in self.entries.values()))
        emit.after(outcome.Do(outcome.Call(outcome.Const(set.clear), (me,))))
        emit.after(outcome.Do(outcome.Call(outcome.Const(set.update), (me, items))))


def as_set(frame, value: Variable) -> SetVariable:
    return value if isinstance(value, SetVariable) else SetVariable(value.unpack(frame))


def _add(self, frame, item):
    key = _key(frame, item)
    if key not in self.entries:
        self.changed(frame)
        self.entries[key] = item
    return NONE


def _discard(self, frame, item):
    if _key(frame, item) in self.entries:
        self.changed(frame)
        del self.entries[_key(frame, item)]
    return NONE


def _remove(self, frame, item):
    if _key(frame, item) not in self.entries:
        raise Raised(ExceptionVariable(KeyError, [item]))
    return _discard(self, frame, item)


def _set_pop(self, frame):
    if not self.entries:
        raise raise_exception(frame, KeyError, "pop from an empty set")
    if len(self.entries) > 1:
        raise self.unsupported("pop() of a set of several items: which one depends on hashes")
    self.changed(frame)
    return self.entries.pop(next(iter(self.entries)))


def _fold(op, in_place: bool):
    def method(self, frame, *others):
        result = self if in_place else SetVariable(self.entries.values(), self.frozen)
        for other in others:
            result = result.binary(frame, op, as_set(frame, other))
        return NONE if in_place else result

    return method


def _compare(op):
    return lambda self, frame, other: self.binary(frame, op, as_set(frame, other))


SET_METHODS = {
    "add": _add,
    "discard": _discard,
    "remove": _remove,
    "pop": _set_pop,
    "clear": lambda self, frame: _clear(self, frame),
    "copy": lambda self, frame: SetVariable(self.entries.values(), self.frozen),
    "union": _fold(operator.or_, False),
    "intersection": _fold(operator.and_, False),
    "difference": _fold(operator.sub, False),
    "symmetric_difference": _fold(operator.xor, False),
    "update": _fold(operator.ior, True),
    "intersection_update": _fold(operator.iand, True),
    "difference_update": _fold(operator.isub, True),
    "issubset": _compare(operator.le),
    "issuperset": _compare(operator.ge),
    "isdisjoint": lambda self, frame, other: (
        TRUE if not (self.entries.keys() & as_set(frame, other).entries.keys()) else FALSE
    ),
    "__len__": lambda self, frame: self.length(frame),
    "__contains__": lambda self, frame, item: self.contains(frame, item),
    "__iter__": lambda self, frame: self.iterate(frame),
}
