"""Dicts (also OrderedDict, defaultdict and mapping proxies) and their views."""

from __future__ import annotations

import _operator as operator
import collections
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from aten.later import later
from aten.scalar.unpatched import itertools
from dynamo import breaks, outcome
from dynamo.breaks import Raised, Unsupported
from dynamo.bytecode.instruction import VERSION
from dynamo.operators import ROWS
from dynamo.variables import attributes, hashed
from dynamo.variables.base import IdentityKey, Variable, attribute, method, one_by_one
from dynamo.variables.constant import NONE, TRUE, ConstantVariable, boolean
from dynamo.variables.dict_changes import DictChanges
from dynamo.variables.exception import ExceptionVariable, raise_exception
from dynamo.variables.storage import Storage

view_operator = later("dynamo.variables.view_operators", "combined")
MISSING = object()


class HashedVariable(Variable):
    """What dicts and sets share: `entries` by hash key. `shape` counts the changes of what is in it."""

    __slots__ = ("entries", "shape")
    entries: dict
    shape: int
    role = "dict key"

    def is_same(self, other):
        return self is other

    def changed(self, frame) -> None:
        frame.output.side_effects.changed(self)

    def reshaped(self, frame) -> None:
        """A key comes or goes."""
        self.changed(frame)
        self.shape += 1

    def length(self, frame):
        return ConstantVariable(len(self.entries))

    def truth(self, frame):
        return bool(self.entries)

    def key(self, frame, item: Variable) -> Any:
        """What the item is found under. That an object is none of those here is guarded."""
        try:
            key = frame.ops.key(frame, item)
        except Raised as raised:
            raise self.refused(frame, item, raised) from None
        if issubclass(type(key), IdentityKey) and key not in self.entries:  # (it may be a class)
            frame.output.told_apart(self, key.variable)
        if issubclass(type(key), hashed.HashedKey) and any(
            k.hash != key.hash and k.variable.is_same(key.variable) for k in self.entries if isinstance(k, hashed.HashedKey)
        ):  # Python finds it by identity if it happens to look where it lies
            raise item.unsupported("a look-up by another hash than it was stored with")
        return key

    def refused(self, frame, item: Variable, raised: Raised) -> Raised:
        """The error of an item without a hash: from 3.14 on it tells what the item was to be."""
        if VERSION < (3, 14) or raised.value.python_type() is not TypeError:
            return raised
        text = frame.ops.text(frame, raised.value).as_python()
        return raise_exception(frame, TypeError, f"cannot use '{item.full_type_name()}' as a {self.role} ({text})")

    def objects(self) -> list[Variable]:
        """The keys that are found by identity."""
        return [key.variable for key in self.entries if isinstance(key, IdentityKey)]

    def contains(self, frame, item):
        return boolean(self.key(frame, item) in self.entries)

    @method("clear")
    def clear(self, frame):
        self.reshaped(frame)
        self.entries = {}


def ordered_pairs_from(frame, other: Variable) -> Iterator[tuple[Variable, Variable]]:
    """The items that update() of an OrderedDict takes: written anew in C, it asks for more, and has words of its own."""
    other = other.whole() if isinstance(other, DictVariable) else other
    if isinstance(other, DictVariable):
        yield from other.pairs(frame)
        return
    if other.hasattr(frame, "keys"):  # of a subclass of dict, too: each item is asked for before the next key
        for k in one_by_one(frame, other.method(frame, "keys", [], {})):
            yield k, other.getitem(frame, k)
        return
    items = other.method(frame, "items", [], {}) if other.hasattr(frame, "items") else other
    for item in one_by_one(frame, items):
        pair = list(itertools.islice(one_by_one(frame, item), 3))
        if len(pair) > 2:
            raise raise_exception(frame, ValueError, "too many values to unpack (expected 2)")
        if len(pair) < 2:
            raise raise_exception(frame, ValueError, f"need more than {len(pair)} value{'' if pair else 's'} to unpack")
        yield pair[0], pair[1]


def pairs_from(frame, other: Variable) -> Iterator[tuple[Variable, Variable]]:
    """The items that update() takes from a mapping or an iterable of pairs, one after the other."""
    other = other.whole() if isinstance(other, DictVariable) else other
    part = getattr(other.realize(frame), "native", None)
    if isinstance(other, DictVariable):
        yield from other.pairs(frame)
    elif isinstance(part, DictVariable) and frame.world.on_class(other.python_type(), "__iter__") is dict.__iter__:
        yield from part.pairs(frame)  # of a subclass C reads what is in it, whatever the class says of `keys` and items
    elif other.hasattr(frame, "keys"):
        yield from pairs_of_keys(frame, other)
    else:
        for i, item in enumerate(one_by_one(frame, other)):
            yield pair_of(frame, item, i)


def pairs_of_keys(frame, other: Variable) -> Iterator[tuple[Variable, Variable]]:
    for k in other.method(frame, "keys", [], {}).unpack(frame):
        yield k, other.getitem(frame, k)


def check_factory(frame, factory: Variable) -> None:
    """Refuse what a defaultdict cannot call for what is missing."""
    if not factory.is_same(NONE) and frame.world.lacks(factory.python_type(), "__call__"):
        raise raise_exception(frame, TypeError, "first argument must be callable or None")


class DictVariable(HashedVariable):
    """A dict. `entries`: hash key → [key, value]; values may be Lazy. `cls` may be a subclass that only adds order or
    a default, or a mapping proxy. A change of a dict from outside is replayed after the graph. `real`: an OrderedDict from
    outside."""

    __slots__ = ("cls", "default_factory", "real", "changes")

    def __init__(self, entries: dict | None = None, cls: type = dict, default_factory: Variable = NONE, source=None, real=None):
        super().__init__(source)
        self.entries = {} if entries is None else entries
        self.shape = 0
        self.cls = cls
        self.default_factory = default_factory
        self.real = real
        self.changes = DictChanges()

    @staticmethod
    def of(pairs: Iterable[tuple[Variable, Variable]], cls: type = dict) -> DictVariable:
        """A new dict of (key, value) Variables, whose keys are constants. The first of equal keys stays."""
        new = DictVariable(cls=cls)
        for k, v in pairs:
            new.entries.setdefault(k.hash_key(), [k, v])[1] = v
        return new

    def __repr__(self):
        return f"DictVariable({list(self.entries.values())!r})"

    def python_type(self):
        return self.cls

    def example(self):
        return self.cls({}) if self.cls is types.MappingProxyType else self.cls()

    def real_of(self, pairs: list) -> Any:
        """A real object of the class with these pairs."""
        if self.cls is types.MappingProxyType:
            return self.cls(dict(pairs))
        if self.cls is collections.defaultdict:
            return self.cls(self.default_factory.as_python(), pairs)
        return self.cls(pairs)

    def as_arg(self):
        return {k.as_python(): v.as_arg() for k, v in self.entries.values()}

    def as_meta(self):
        made = {k.as_python(): v.as_meta() for k, v in self.entries.values()}  # (rules name the class in what they refuse)
        return collections.defaultdict(None, made) if self.cls is collections.defaultdict else self.cls(made)

    def lookup(self, frame, key: Variable):
        """The value under key, or MISSING."""
        entry = self.entries.get(self.key(frame, key))
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
        return frame.values.HashedIterator(self.unpack(frame), self, self)

    def backwards(self, frame):
        return frame.values.HashedIterator(self.unpack(frame)[::-1], self, self, reversed)

    def getitem(self, frame, key):
        value = self.lookup(frame, key)
        if value is not MISSING:
            return value
        if not self.default_factory.is_same(NONE):
            value = self.default_factory.call(frame, [], {})
            self.setitem(frame, key, value)
            return value
        raise missing(key)

    def setitem(self, frame, key, value):
        self.check_mutable(frame, operator.setitem, key, value)
        k, new = self.key(frame, key), [key, value]
        entry = self.entry(frame, k, new)
        if entry is not new:
            self.changed(frame)
            self.changes.stored[k] = None
            entry[1] = value

    def entry(self, frame, k: Any, new: list) -> list:
        """What is under the key, which is looked for once (`__hash__` and `__eq__` may be the program's): `new` if nothing was."""
        found = self.entries.setdefault(k, new)
        if found is new:
            self.reshaped(frame)
            self.changes.note("add", k, new[0])
        return found

    def taken(self, frame, key):
        """The value under the key, which goes; MISSING if nothing is there."""
        k = self.key(frame, key)
        entry = self.entries.pop(k, None)
        if entry is None:
            return MISSING
        self.reshaped(frame)
        self.changes.note("del", k, entry[0])
        return entry[1].realize(frame)

    @method("clear")
    def clear(self, frame):
        super().clear(frame)
        self.changes.note("clear")

    def delitem(self, frame, key):
        self.check_mutable(frame, operator.delitem, key)
        if self.taken(frame, key) is MISSING:
            raise missing(key)

    def check_mutable(self, frame, function: Callable, *args: Variable) -> None:
        if self.cls is types.MappingProxyType:
            raise frame.ops.refused(frame, function, self, *args)

    def unwrapped(self) -> DictVariable:
        """What stands behind a mapping proxy, which leaves operators to it; else the dict itself."""
        return DictVariable(self.entries) if self.cls is types.MappingProxyType else self

    def binary(self, frame, op, other):
        row = ROWS[op]
        if self.cls is types.MappingProxyType:
            if op is operator.ior:
                raise frame.ops.refused(frame, op, self, other)
            if row.is_comparison or row.function is operator.or_:
                behind = other.unwrapped() if isinstance(other, DictVariable) and not row.is_comparison else other
                return frame.ops.binary(frame, op, self.unwrapped(), behind)
        if op is operator.ior:
            self.merge(frame, other)
            return self
        other = getattr(other, "native", other)
        if not isinstance(other, DictVariable):
            return None
        if row.function is operator.or_:
            return self.union(frame, self, other)
        if op in (operator.eq, operator.ne):
            return boolean(self.equal(frame, other) == (op is operator.eq))
        return None

    def reflected(self, frame, op, other):
        if self.cls is types.MappingProxyType and op is operator.or_:
            return frame.ops.binary(frame, op, other, self.unwrapped())
        other = getattr(other, "native", other)
        return self.union(frame, other, self) if op is operator.or_ and isinstance(other, DictVariable) else None

    def union(self, frame, left: DictVariable, right: DictVariable) -> DictVariable:
        """left | right, of the class of `self`."""
        cls = dict if self.cls is types.MappingProxyType else self.cls
        new = left.copied(frame, cls, self.default_factory)
        new.merge(frame, right)
        return new

    def whole(self) -> Variable:
        """The object that C asks: of a part, the one that it lies in."""
        return self

    def copied(self, frame, cls: type, default_factory: Variable) -> DictVariable:
        """A new dict of what C reads in this one."""
        return DictVariable({k: list(e) for k, e in self.entries.items()}, cls, default_factory)

    def equal(self, frame, other: DictVariable) -> bool:
        ordered = issubclass(self.cls, collections.OrderedDict) and issubclass(other.cls, collections.OrderedDict)
        if len(self.entries) != len(other.entries):
            return False
        for k, mine in list(self.entries.items()):
            theirs = other.entries.get(k)
            if theirs is None:
                return False
            mine[1], theirs[1] = mine[1].realize(frame), theirs[1].realize(frame)
            if not frame.ops.equals(frame, mine[1], theirs[1]):
                return False
        return not ordered or list(self.entries) == list(other.entries)

    def merge(self, frame, other: Variable) -> None:
        """update() from a mapping or an iterable of pairs."""
        from_other = ordered_pairs_from if issubclass(self.cls, collections.OrderedDict) else pairs_from
        for k, v in from_other(frame, other):
            self.setitem(frame, k, v)

    # ----------------------------------------------------------------------------------------- methods
    def getattr(self, frame, name):
        if name == "default_factory" and self.cls is collections.defaultdict:
            return self.default_factory
        if self.cls is collections.OrderedDict:  # which may have attributes of its own
            return attributes.load_plainly(frame, self, name)
        return super().getattr(frame, name)

    def setattr(self, frame, name, value):
        if self.cls is not collections.OrderedDict:
            return super().setattr(frame, name, value)
        attributes.store_plainly(frame, self, name, value)

    def delattr(self, frame, name):
        if self.cls is not collections.OrderedDict:
            return super().delattr(frame, name)
        attributes.remove_plainly(frame, self, name)

    def make_storage(self):
        return Storage(self, self.real)

    def member(self, frame, descriptor, name):
        if name == "__dict__":
            return attributes.storage_of(frame, self).as_dict(frame)
        return frame.world.known(self.cls) if name == "__class__" else super().member(frame, descriptor, name)

    @method("get")
    def get(self, frame, key, default=NONE):
        value = self.lookup(frame, key)
        return default if value is MISSING else value

    @method("pop")
    def pop(self, frame, key, default=None):
        empty = not self.entries and not issubclass(self.cls, collections.OrderedDict)  # C asks for no hash then
        value = MISSING if empty and self.cls is not types.MappingProxyType else self.taken(frame, key)
        if value is MISSING and default is None:
            raise missing(key)
        return default if value is MISSING else value

    @method("popitem")
    def popitem(self, frame, last=None):
        ordered = issubclass(self.cls, collections.OrderedDict)
        if last is not None and not ordered:
            raise self.unsupported("popitem() with these arguments")
        if not self.entries:
            raise raise_exception(frame, KeyError, f"{'' if ordered else 'popitem(): '}dictionary is empty")
        entries = list(self.entries.items())
        k, entry = entries[-1 if last is None or last.truth(frame) else 0]
        entry[1] = entry[1].realize(frame)
        self.reshaped(frame)
        self.changes.note("del" if ordered else "popitem", k, entry[0])  # (a dict that loses its last item forgets its place)
        del self.entries[k]
        return frame.values.tuple_(entry)

    @method("setdefault")
    def setdefault(self, frame, key, default=NONE):
        found = self.entry(frame, self.key(frame, key), [key, default])
        found[1] = found[1].realize(frame)
        return found[1]

    @method("update")
    def update(self, frame, other=None, /, **kwargs):
        if other is not None:
            self.merge(frame, other)
        for name, value in kwargs.items():
            self.setitem(frame, ConstantVariable(name), value)

    @method("copy", "__copy__")
    def copy(self, frame):
        cls = dict if self.cls is types.MappingProxyType else self.cls
        return self.copied(frame, cls, self.default_factory)

    @method("move_to_end")
    def move_to_end(self, frame, key, last=TRUE):
        k = self.key(frame, key)
        entry = self.entries.pop(k, None)
        if entry is None:
            raise missing(key)
        self.reshaped(frame)
        self.changes.note("move", k, entry[0], last)
        if last.truth(frame):
            self.entries[k] = entry
        else:
            self.entries = {k: entry, **self.entries}

    @method("keys")
    def keys(self, frame):
        return DictView(self, "keys")

    @method("values")
    def values(self, frame):
        return DictView(self, "values")

    @method("items")
    def items(self, frame):
        return DictView(self, "items")

    # ----------------------------------------------------------------------------------------- rebuild
    def items_recipe(self, emit):
        """The recipe of a dict of what is in this one."""
        if any(map(hashed.asks_program, self.entries)):
            if issubclass(self.cls, collections.OrderedDict):
                raise Unsupported(breaks.NOT_REBUILT, "an OrderedDict with keys whose hash is the program's")
            keys, values = zip(*self.entries.values())
            return hashed.as_dict(emit, list(self.entries), keys, values)
        return outcome.Build("dict", tuple(emit.value(x) for entry in self.entries.values() for x in entry))

    def recipe(self, emit):
        if self.source is not None:
            return emit.load(self.source)

        def make():
            items = self.items_recipe(emit)
            if self.cls is dict:
                return items
            if self.cls is collections.defaultdict:
                return outcome.Call(outcome.Const(self.cls), (emit.value(self.default_factory), items))
            return outcome.Call(outcome.Const(self.cls), (items,))

        storage = emit.output.side_effects.storages.get(self)
        return emit.shared(self, make, None if storage is None else lambda temp: storage.fill(emit, temp))

    def replay(self, emit) -> None:
        """Statements that give the dict outside its new contents (dict's own methods: no user code runs)."""
        me = emit.value(self)
        cls = collections.OrderedDict if issubclass(self.cls, collections.OrderedDict) else dict
        if self.changes.can_be_replayed(self.entries):
            self.changes.replay(emit, cls, me, self.entries)
            return
        items = self.items_recipe(emit)
        emit.after(outcome.Do(outcome.Call(outcome.Const(cls.clear), (me,))))
        emit.after(outcome.Do(outcome.Call(outcome.Const(cls.update), (me, items))))


def missing(key: Variable) -> Raised:
    return Raised(ExceptionVariable(KeyError, [key]))


def pair_of(frame, item: Variable, index: int) -> tuple[Variable, Variable]:
    """The key and value that an item of an iterable gives to dict.update()."""
    cls = item.python_type()
    if frame.world.on_class(cls, "__iter__") is None or not frame.world.can_be_iterated(cls):
        text = f"annot convert dictionary update sequence element #{index} to a sequence"
        if VERSION < (3, 14):
            raise raise_exception(frame, TypeError, "c" + text)
        raised = raise_exception(frame, TypeError, "object is not iterable")
        raised.value.method(frame, "add_note", [ConstantVariable("C" + text)], {})
        raise raised
    pair = item.unpack(frame)
    if len(pair) != 2:
        text = f"dictionary update sequence element #{index} has length {len(pair)}; 2 is required"
        raise raise_exception(frame, ValueError, text)
    return pair[0], pair[1]


class DictView(Variable):
    """keys(), values() or items() of a dict."""

    __slots__ = ("mapping", "kind")

    def __init__(self, mapping: DictVariable, kind: str):
        super().__init__()
        self.mapping = mapping
        self.kind = kind

    def python_type(self):
        return type(self.example())

    def example(self):
        return getattr(self.mapping.example(), self.kind)()

    def is_same(self, other):
        return self is other

    def unpack(self, frame):
        if self.kind == "keys":
            return self.mapping.unpack(frame)
        pairs = self.mapping.pairs(frame)
        return [v for _, v in pairs] if self.kind == "values" else [frame.values.tuple_(p) for p in pairs]

    def iterate(self, frame):
        return frame.values.HashedIterator(self.parts(frame), self.mapping, self)

    def backwards(self, frame):
        return frame.values.HashedIterator(self.parts(frame)[::-1], self.mapping, self, reversed)

    def parts(self, frame) -> list[Variable]:
        """What is iterated over: values are read as the iterator comes to them."""
        if self.kind == "keys":
            return self.mapping.unpack(frame)
        return [EntryPart(entry, self.kind) for entry in self.mapping.entries.values()]

    def length(self, frame):
        return self.mapping.length(frame)

    def truth(self, frame):
        return self.mapping.truth(frame)

    def contains(self, frame, item):
        if self.kind == "keys":
            return self.mapping.contains(frame, item)
        if self.kind == "values":
            return boolean(any(frame.ops.equals(frame, v, item) for v in self.unpack(frame)))
        if not isinstance(item, frame.values.TupleVariable) or len(item.items) != 2:
            return boolean(False)
        key, value = item.unpack(frame)
        found = self.mapping.lookup(frame, key)
        return boolean(found is not MISSING and frame.ops.equals(frame, value, found))

    def binary(self, frame, op, other):
        row = ROWS[op]
        if self.kind == "values" or row.function not in SET_OPERATORS or op is not row.function:
            return None
        if row.is_comparison:
            return self.compared(frame, row.function, other) if is_set_like(frame, other) else None
        return view_operator(frame, op, self, other)

    def compared(self, frame, op, other):
        """By sizes and by asking for members, as Python does: values of items need no hash."""
        mine, theirs = self.unpack(frame), other.unpack(frame)
        sizes = operator.eq if op is operator.ne else op
        inner, outer = (theirs, self) if op in (operator.gt, operator.ge) else (mine, other)
        held = sizes(len(mine), len(theirs)) and all(outer.contains(frame, i).truth(frame) for i in inner)
        return boolean(held is (op is not operator.ne))

    def reflected(self, frame, op, other):
        if self.kind == "values" or op not in SET_OPERATORS:
            return None
        return view_operator(frame, op, other, self)

    def made_of(self) -> Variable:
        """What C makes a set of: of the keys of a dict of no subclass, the dict."""
        return self.mapping if self.kind == "keys" and type(self.mapping) is DictVariable and self.mapping.cls is dict else self

    def as_set(self, frame) -> Any:
        return frame.values.set_of(frame, self.unpack(frame))

    @method("isdisjoint")
    def isdisjoint(self, frame, other):
        return self.as_set(frame).method(frame, "isdisjoint", [other], {})

    @attribute("mapping")
    def proxy(self, frame):
        raise self.unsupported("attribute mapping")

    def recipe(self, emit):
        return outcome.Call(outcome.GetAttr(emit.value(self.mapping), self.kind))


class EntryPart(Variable):
    """The value or item of an entry, as it is once an iterator has come to it."""

    __slots__ = ("entry", "kind")

    def __init__(self, entry: list[Variable], kind: str):
        super().__init__()
        self.entry = entry
        self.kind = kind

    def realize(self, frame):
        self.entry[1] = self.entry[1].realize(frame)
        return self.entry[1] if self.kind == "values" else frame.values.tuple_(self.entry)


def is_set_like(frame, value: Variable) -> bool:
    """Whether a view of keys or items compares itself with the value."""
    return issubclass(value.python_type(), (set, frozenset, *VIEWS))


VIEWS = (type({}.keys()), type({}.items()))
SET_OPERATORS = frozenset(
    {operator.and_, operator.or_, operator.sub, operator.xor, operator.eq, operator.ne, operator.le, operator.lt,
     operator.ge, operator.gt}
)  # fmt: skip
