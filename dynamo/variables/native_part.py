"""What a builtin base class gives to objects of its subclasses: the dict in a dict subclass, the number in an int subclass.

An `ObjectVariable` has one of these parts as `native`, beside its attributes. A part is the Variable of the builtin class
itself, so its rules are those of that class; what it adds is how it is made in the object (`making`, `fill_part`), how it
is read past all that the subclass overrides (`NativeItem`), and what C asks the subclass for (`__missing__`).
"""

from __future__ import annotations

import _operator as operator
import collections
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dynamo import breaks, guards, outcome
from dynamo.breaks import Unsupported
from dynamo.bytecode.instruction import VERSION
from dynamo.operators import BY_DUNDER, UNARY
from dynamo.source import Attr, Converted, DictKey, NativeItem, Source, keys_of, values_of
from dynamo.variables.attributes import bind, find_function, storage_of
from dynamo.variables.base import Variable, accepts, unanswered
from dynamo.variables.constant import NONE, ConstantVariable, are_plain
from dynamo.variables.hashed import value_at
from dynamo.variables.mapping import MISSING, DictVariable, check_factory, ordered_pairs_from
from dynamo.variables.raising import run_python
from dynamo.variables.sequence import ListVariable, TupleVariable
from dynamo.variables.sets import SetVariable, replayed

BY_REFLECTED = {row.reflected: row for row in BY_DUNDER.values() if row.inplace is not None}
BY_INPLACE = {row.inplace_dunder: row for row in BY_DUNDER.values() if row.inplace is not None}
EMPTIED = (list, set, dict)  # by their `__init__`, which counts its arguments first
OF_ITEMS = frozenset("__setitem__ setdefault append appendleft insert add discard remove index count get pop __contains__".split())
OF_ONE = BY_DUNDER.keys() | BY_REFLECTED.keys() | BY_INPLACE.keys()
UNARY_BY_DUNDER = {row.dunder: op for op, row in UNARY.items()}


class Part:
    """What the parts share. `owner` is the object; `base` the builtin class."""

    __slots__ = ()
    owner: Any
    base: type
    words_of_slots = False  # whether `part[key]` refuses with other words than the methods of C that have its name

    def part_call(self, frame, name: str, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
        """A method of the builtin class, written in C."""
        if name == "__init__":
            if len(args) > 1 and self.base in EMPTIED:
                run_python(frame, self.base.__init__, self.base(), *[None] * len(args))  # (before anything is changed)
            self.initialize(frame, args, kwargs)
            return NONE
        if name in ("__getattribute__", "__setattr__", "__delattr__"):
            raise self.owner.unsupported(f"{self.base.__name__}.{name}")
        if name == "__format__" and args and args[0].is_constant() and args[0].as_python() == "":
            return frame.ops.text(frame, self.owner, str)
        if name == "__format__" and isinstance(self, ConstantVariable):  # C names the class in what it refuses
            named: Any = type(self.owner.type_name(), (self.base,), {})
            return ConstantVariable(run_python(frame, self.base.__format__, named(self.value), args[0].as_python()))
        if name not in OF_ITEMS or isinstance(self, ConstantVariable):  # (an item is kept as it is)
            args = [self.operand(a) for a in args]
        if name in OF_ONE and (len(args) != 1 or kwargs):  # a modulus, or what C refuses
            return self.method(frame, name, args, kwargs)
        if name in BY_DUNDER:
            return self.answered(frame, name, self.binary(frame, BY_DUNDER[name].function, *args), *args)
        if name in BY_REFLECTED:
            return self.answered(frame, name, self.reflected(frame, BY_REFLECTED[name].function, *args), *args)
        if name in BY_INPLACE:
            return self.answered(frame, name, self.binary(frame, BY_INPLACE[name].inplace, *args), *args)
        if name in UNARY_BY_DUNDER:
            return self.unary(frame, UNARY_BY_DUNDER[name])
        rule = SLOTS.get(name)
        if rule is not None and accepts(rule, len(args) + 2, kwargs):
            return rule(self, frame, *args)
        return self.method(frame, name, args, kwargs)

    def answered(self, frame, name: str, result: Variable | None, other: Variable) -> Variable:
        return unanswered(self, frame, name, other) if result is None else result

    def operand(self, value: Variable) -> Variable:
        """Another operand as C sees it: of an object that is a number or string besides, that."""
        native = getattr(value, "native", None)
        return native if isinstance(native, type(self)) else value

    def initialize(self, frame, args: list[Variable], kwargs: dict[str, Variable]) -> None:
        """The `__init__` of the builtin class."""

    def type_name(self) -> str:
        """C names the class of the object in what it refuses."""
        return self.owner.type_name() if hasattr(self, "owner") else super().type_name()

    def example(self) -> Any:
        base: Any = self.base
        named = type(self.type_name(), (base,), {})
        return named(self.value) if isinstance(self, ConstantVariable) else base.__new__(named)

    def takes_no(self, kwargs: dict[str, Variable]) -> None:
        if kwargs:
            raise self.owner.unsupported(f"{self.base.__name__}.__init__ with keywords")

    def recipe(self, emit):
        return emit.value(self.owner)

    def making(self, emit, cls: type) -> Any:
        """The recipe of an empty object of the subclass."""
        return outcome.Call(outcome.Const(self.base.__new__), (outcome.Const(cls),))

    def fill_part(self, emit, temp: Any) -> None:
        """Statements that fill a new object."""

    if TYPE_CHECKING:  # what the other base of each part has

        def __getattr__(self, name: str) -> Any: ...


SLOTS: dict[str, Callable] = {
    "__len__": lambda self, frame: self.length(frame),
    "__getitem__": lambda self, frame, key: self.getitem(frame, key),
    "__setitem__": lambda self, frame, key, value: self.setitem(frame, key, value) or NONE,
    "__delitem__": lambda self, frame, key: self.delitem(frame, key) or NONE,
    "__contains__": lambda self, frame, item: frame.values.boolean(frame.ops.contains(frame, self, item)),
    "__iter__": lambda self, frame: self.iterate(frame),
    "__bool__": lambda self, frame: frame.values.boolean(self.truth(frame)),
    "__str__": lambda self, frame: frame.ops.text(frame, self, str),
    "__repr__": lambda self, frame: frame.ops.text(frame, self, repr),
}


# ------------------------------------------------------------------------------------------------------- mappings
class DictPart(Part, DictVariable):
    """The dict in an object of a subclass of dict, OrderedDict or defaultdict."""

    __slots__ = ("owner", "base")

    def getitem(self, frame, key):
        value = self.lookup(frame, key)
        if value is not MISSING:
            return value
        cls = self.owner.python_type()
        missing = find_function(frame, cls, "__missing__")
        if missing is not None:
            return bind(frame, missing, self.owner, frame.world.known(cls)).call(frame, [key], {})
        return self.filled(frame, key)

    def filled(self, frame, key) -> Variable:
        """defaultdict.__missing__: what the factory makes is stored as the object stores."""
        if self.default_factory.is_same(NONE):
            raise frame.values.raised(KeyError, [key])
        value = self.default_factory.call(frame, [], {})
        self.owner.setitem(frame, key, value)
        return value

    def initialize(self, frame, args, kwargs):
        if self.base is collections.defaultdict and args:
            self.default_factory, *args = args
            check_factory(frame, self.default_factory)
        self.part_call(frame, "update", args, kwargs)

    def part_call(self, frame, name, args, kwargs):
        if name == "__missing__":
            return self.filled(frame, *args)
        if name in BY_ITEMS and issubclass(self.base, collections.OrderedDict):
            return BY_ITEMS[name](self, frame, *args, **kwargs)
        if name in ("__or__", "__ror__") and self.base is collections.defaultdict:
            return self.united_by_class(frame, *((self.owner, *args) if name == "__or__" else (*args, self.owner)))
        if name in ("copy", "__copy__") and self.base is not dict:
            return self.copy_by_class(frame)
        return super().part_call(frame, name, args, kwargs)

    def update_by_items(self, frame, *args, **kwargs) -> Variable:
        if len(args) > 1:
            raise frame.values.error(frame, TypeError, f"update() takes at most 1 positional argument ({len(args)} given)")
        return stored(frame, self.owner, *args, **kwargs) and NONE

    def setdefault_by_items(self, frame, key, default=NONE) -> Variable:
        if frame.ops.contains(frame, self.owner, key):
            return self.owner.getitem(frame, key)
        self.owner.setitem(frame, key, default)
        return default

    def united_in_place(self, frame, other) -> Variable:
        return stored(frame, self.owner, other)

    def united(self, frame, other) -> Variable:
        return self.union_of(frame, self.owner, other)

    def united_behind(self, frame, other) -> Variable:
        return self.union_of(frame, other, self.owner)

    def union_of(self, frame, left, right) -> Variable:
        """An object of the subclass, made of `left`, with the items of `right`."""
        if not all(isinstance(getattr(v, "native", v), DictVariable) for v in (left, right)):
            return ConstantVariable(NotImplemented)
        return stored(frame, frame.world.known(self.owner.python_type()).call(frame, [left], {}), right)

    def united_by_class(self, frame, left, right) -> Variable:
        """An object of the subclass, made of `left`, in which C stores the items of `right` past its methods."""
        parts = [getattr(v, "native", v) for v in (left, right)]
        if not all(isinstance(part, DictVariable) for part in parts):
            return ConstantVariable(NotImplemented)
        new = frame.world.known(self.owner.python_type()).call(frame, [self.default_factory, left], {})
        new.native.merge(frame, right)
        return new

    def whole(self) -> Variable:
        return self.owner

    def copied(self, frame, cls, default_factory):
        if not self.entries or frame.world.on_class(self.owner.python_type(), "__iter__") is self.base.__iter__:
            return super().copied(frame, cls, default_factory)
        new = DictVariable(cls=cls, default_factory=default_factory)  # C asks for `keys` and items where `__iter__` is another
        new.merge(frame, self)
        return new

    def copy_by_class(self, frame) -> Variable:
        """What OrderedDict and defaultdict copy is an object of the subclass, which is called; dict's is a dict."""
        cls = frame.world.known(self.owner.python_type())
        if self.base is collections.defaultdict:
            return cls.call(frame, [self.default_factory, self.owner], {})
        new = cls.call(frame, [], {})
        keys, at = list(self.entries), 0
        while at < len(keys):
            key, steps = self.entries[keys[at]][0], len(self.changes.steps)
            new.setitem(frame, key, self.owner.getitem(frame, key))
            if len(self.changes.steps) > steps:  # C goes on behind the key, wherever that is now
                if keys[at] not in self.entries:
                    raise self.owner.unsupported("copy() of what loses the key that is copied: copy()")
                found, keys = keys[at], list(self.entries)
                at = keys.index(found)
            at += 1
        return new

    def fill_part(self, emit, temp):
        if self.base is collections.defaultdict:
            value = emit.value(self.default_factory)
            emit.after(outcome.Do(outcome.Call(outcome.Const(self.base.__init__), (temp, value))))
        if self.entries:
            args = (outcome.Const(self.base), temp, self.items_recipe(emit))
            emit.after(outcome.Do(outcome.Call(outcome.Const(fill_dict), args)))

    def replay(self, emit):
        me = emit.value(self.owner)
        if self.changes.can_be_replayed(self.entries):
            self.changes.replay(emit, self.base, me, self.entries)
            return
        emit.after(outcome.Do(outcome.Call(outcome.Const(self.base.clear), (me,))))
        args = (outcome.Const(self.base), me, self.items_recipe(emit))
        emit.after(outcome.Do(outcome.Call(outcome.Const(fill_dict), args)))


def stored(frame, target: Variable, *others: Variable, **named: Variable) -> Variable:
    """`target`, in which the items were stored as its class stores them."""
    for other in others:
        for key, value in ordered_pairs_from(frame, other):
            target.setitem(frame, key, value)
    for name, value in named.items():
        target.setitem(frame, ConstantVariable(name), value)
    return target


BY_ITEMS: dict[str, Callable[..., Variable]] = {  # what OrderedDict does through the methods of a subclass
    "update": DictPart.update_by_items,
    "setdefault": DictPart.setdefault_by_items,
    "__ior__": DictPart.united_in_place,
    "__or__": DictPart.united,
    "__ror__": DictPart.united_behind,
}


def fill_dict(base: type[dict], target: dict, items: dict) -> None:
    """Store items past whatever the class of `target` overrides."""
    if not issubclass(base, collections.OrderedDict):
        dict.update(target, items)  # (with the hashes that the keys have in `items`)
        return
    for key, value in items.items():
        base.__setitem__(target, key, value)


def factory_of(value: Any) -> Any:
    """The `default_factory` of a defaultdict, past whatever a subclass overrides."""
    return collections.defaultdict.default_factory.__get__(value)  # type: ignore[attr-defined]


def outside_dict(frame, base: type, value: dict, source: Source) -> DictPart:
    if issubclass(base, collections.OrderedDict):
        frame.world.check_order_is_known(value)
    keys = keys_of(value)
    entries: dict = {}
    if are_plain(keys):
        frame.output.guard(guards.DictKeysAre(source, tuple(keys)))
        for k in keys:
            item = NativeItem(source, k, dict)
            entries[k] = [ConstantVariable(k), frame.world.lazy(dict.__getitem__(value, k), item)]
    else:
        frame.output.guard(guards.LengthIs(source, len(keys)))
        stored = frame.world.stored_keys(value, source, [frame.world.wrap(k, DictKey(source, i)) for i, k in enumerate(keys)])
        held = [dict.__getitem__(value, k) for k in keys] if issubclass(base, collections.OrderedDict) else values_of(value)
        for i, (k, v, (found, key)) in enumerate(zip(keys, held, stored)):
            entries[found] = [key, frame.world.lazy(v, value_at(value, source, i, found, NativeItem(source, k, dict)))]
    part = DictPart(entries, base, source=source)
    if base is collections.defaultdict:
        factory, found = factory_of(value), frame.world.on_class(type(value), "__getattribute__")
        here = Converted(source, factory_of) if found is not frame.world.on_class(base, "__getattribute__") else None
        part.default_factory = frame.world.wrap(factory, here or Attr(source, "default_factory"))
    return part


# ------------------------------------------------------------------------------------------------------- sequences
class ListPart(Part, ListVariable):
    """The list in an object of a subclass of list."""

    __slots__ = ("owner", "base")

    def initialize(self, frame, args, kwargs):
        self.takes_no(kwargs)
        if self.items:
            self.changed(frame)
            self.items = []
        for values in args:
            self.extend(frame, values)

    def length_before(self):
        return 0  # (made without items, or known by what it has now)

    def items_recipe(self, emit):
        return outcome.Build("tuple", tuple(emit.value(v) for v in self.items))

    def fill_part(self, emit, temp):
        if self.items:
            emit.after(outcome.Do(outcome.Call(outcome.Const(list.extend), (temp, self.items_recipe(emit)))))

    def replay(self, emit):
        args = (emit.value(self.owner), outcome.Const(slice(None)), self.items_recipe(emit))
        emit.after(outcome.Do(outcome.Call(outcome.Const(list.__setitem__), args)))


class TuplePart(Part, TupleVariable):
    """The tuple in an object of a subclass of tuple."""

    __slots__ = ("owner", "base")

    def making(self, emit, cls):
        items = outcome.Build("tuple", tuple(emit.value(v) for v in self.items))
        return outcome.Call(outcome.Const(tuple.__new__), (outcome.Const(cls), items))


def outside_items(frame, base: Any, value: Any, source: Source) -> list[Variable]:
    frame.output.guard(guards.LengthIs(source, base.__len__(value)))
    items = list(base.__iter__(value))
    return [frame.world.lazy(v, NativeItem(source, i, base)) for i, v in enumerate(items)]


# ------------------------------------------------------------------------------------------------------------ sets
class SetPart(Part, SetVariable):
    """The set in an object of a subclass of set or frozenset."""

    __slots__ = ("owner", "base")

    def initialize(self, frame, args, kwargs):
        if not self.frozen:
            self.takes_no(kwargs)
        for values in args if not self.frozen else ():
            self.method(frame, "update", [values], {})

    def making(self, emit, cls):
        if not self.frozen:
            return super().making(emit, cls)
        return outcome.Call(outcome.Const(frozenset.__new__), (outcome.Const(cls), self.items_recipe(emit)))

    def is_outside(self):
        return self.owner.source is not None

    def is_part(self):
        return True

    def fill_part(self, emit, temp):
        if self.entries and not self.frozen and not replayed(emit, self, temp):
            emit.after(outcome.Do(outcome.Call(outcome.Const(set.update), (temp, self.items_recipe(emit)))))

    def replay(self, emit):
        me = emit.value(self.owner)
        if replayed(emit, self, me):
            return
        emit.after(outcome.Do(outcome.Call(outcome.Const(set.clear), (me,))))
        emit.after(outcome.Do(outcome.Call(outcome.Const(set.update), (me, self.items_recipe(emit)))))


def outside_set(frame, base: type, value: Any, source: Source) -> SetPart:
    items = list(base.__iter__(value))  # type: ignore[attr-defined]
    if not are_plain(items):
        raise Unsupported(breaks.UNKNOWN_VALUE, f"{source}, a set of objects")
    frame.output.guard(guards.Equals(Converted(source, tuple_of_set), tuple(items)))
    return SetPart([ConstantVariable(v) for v in items], frozen=base is frozenset, source=source, order=items)


def tuple_of_set(value: Any) -> tuple:
    """The items in the set's own order, past whatever its class overrides."""
    return tuple((set if isinstance(value, set) else frozenset).__iter__(value))


# ------------------------------------------------------------------------------------------------ numbers, strings
class ConstantPart(Part, ConstantVariable):
    """The number or string in an object of a subclass of int, float, str, bytes or complex."""

    __slots__ = ("owner", "base")

    def operand(self, value):
        native = getattr(value, "native", None)
        return native if isinstance(native, ConstantPart) else value

    def part_call(self, frame, name, args, kwargs):
        if name == "format" and "{" not in self.value and "}" not in self.value:
            return self.owner
        if name == "__mod__" and isinstance(self.value, (str, bytes)):
            formatted = ConstantVariable(self.value).binary(frame, operator.mod, *args)
            one_piece = isinstance(self.value, str) and self.value and "%" not in self.value  # which C gives as it is
            return self.owner if one_piece else formatted
        if name == "__add__" and isinstance(self.value, bytes):  # the one whose error names the subclass
            other = self.operand(args[0])
            if other.is_constant() and not isinstance(other.as_python(), (bytes, bytearray, memoryview)):
                raise frame.values.error(frame, TypeError, f"can't concat {args[0].type_name()} to {self.owner.type_name()}")
        return super().part_call(frame, name, args, kwargs)

    def iterate(self, frame):
        found = super().iterate(frame)
        if self.base is str:
            found.make = over_text
        return found

    def making(self, emit, cls):
        return outcome.Call(outcome.Const(self.base.__new__), (outcome.Const(cls), outcome.Const(self.value)))

    def recipe(self, emit):
        return outcome.Const(self.value)


class Text(str):
    """Stands for any subclass of str."""


def over_text(value: str) -> Any:
    """An iterator over what a subclass of str holds: it is of another type than that over ASCII in a str."""
    return iter(Text(value))


PLAIN_VALUE: dict[type, Callable] = {
    int: int.__int__,
    float: float.__float__,
    str: str.__str__,
    bytes: bytes.__bytes__ if hasattr(bytes, "__bytes__") else lambda value: bytes.__getitem__(value, slice(None)),
    complex: complex.__pos__,  # (`real` and `imag` would be asked of the class)
}


def outside_constant(frame, base: type, value: Any, source: Source) -> ConstantPart:
    plain = PLAIN_VALUE[base](value)
    frame.output.guard(guards.Equals(Converted(source, PLAIN_VALUE[base]), plain))
    return ConstantPart(plain, source)


# ------------------------------------------------------------------------------------------------ SimpleNamespace
class NamespacePart(Part, Variable):
    """What SimpleNamespace adds to an object: its `__init__`, equality and text."""

    __slots__ = ("owner", "base")

    def part_call(self, frame, name, args, kwargs):
        if name == "__init__":
            return self.initialize(frame, args, kwargs) or NONE
        if name in BY_DUNDER and BY_DUNDER[name].is_comparison:
            return self.compared(frame, BY_DUNDER[name].function, args[0])
        if name == "__repr__":
            return self.text(frame)
        raise self.owner.unsupported(f"method {name}")

    def initialize(self, frame, args, kwargs):
        if args and VERSION < (3, 13):
            raise frame.values.error(frame, TypeError, "no positional arguments expected")
        pairs = [(k.as_python(), a.getitem(frame, k)) for a in args for k in a.unpack(frame)]
        for name, value in [*pairs, *kwargs.items()]:
            storage_of(frame, self.owner).write(frame, name, value)

    def compared(self, frame, op: Callable, other: Variable) -> Variable:
        if not issubclass(other.python_type(), types.SimpleNamespace):
            return ConstantVariable(NotImplemented)
        mine, theirs = [storage_of(frame, o).as_dict(frame) for o in (self.owner, other)]
        return frame.ops.binary(frame, op, mine, theirs)

    def text(self, frame) -> Variable:
        storage = storage_of(frame, self.owner)
        shown = [f"{n}={frame.ops.text(frame, storage.read(frame, n), repr).value}" for n in storage.names(frame)]
        cls = self.owner.python_type()
        return ConstantVariable(f"{'namespace' if cls is self.base else cls.__name__}({', '.join(shown)})")

    def hash_key(self):
        raise self.owner.unsupported("hashing")


# ------------------------------------------------------------------------------------------------------- the table
NEW: dict[type, Callable] = {  # builtin class → rule(frame, args, kwargs) for the part of a new object
    dict: lambda frame, args, kwargs: DictPart(cls=dict),
    collections.OrderedDict: lambda frame, args, kwargs: DictPart(cls=collections.OrderedDict),
    collections.defaultdict: lambda frame, args, kwargs: DictPart(cls=collections.defaultdict),
    list: lambda frame, args, kwargs: ListPart([]),
    tuple: lambda frame, args, kwargs: TuplePart([v for a in args for v in a.unpack(frame)]),
    set: lambda frame, args, kwargs: SetPart(),
    frozenset: lambda frame, args, kwargs: SetPart([v for a in args for v in a.unpack(frame)], frozen=True),
    types.SimpleNamespace: lambda frame, args, kwargs: NamespacePart(),
}
OUTSIDE: dict[type, Callable] = {  # builtin class → rule(frame, base, value, source) for one from outside
    dict: outside_dict,
    collections.OrderedDict: outside_dict,
    collections.defaultdict: outside_dict,
    list: lambda frame, base, value, source: ListPart(outside_items(frame, base, value, source), source),
    tuple: lambda frame, base, value, source: TuplePart(outside_items(frame, base, value, source), source),
    set: outside_set,
    frozenset: outside_set,
    types.SimpleNamespace: lambda frame, base, value, source: NamespacePart(source),
    **dict.fromkeys(PLAIN_VALUE, outside_constant),
}


def native_base(frame, cls: type) -> type | None:
    """The builtin class that objects of `cls` have a part of; None for none. Unsupported if C gives them anything else."""
    bases = frame.world.c_bases(cls)
    if not bases:
        return None
    if bases[0] not in OUTSIDE or not all(issubclass(bases[0], b) for b in bases):
        raise Unsupported(breaks.UNKNOWN_VALUE, f"an object of {cls.__qualname__}, whose base is written in C")
    return bases[0]


def new_part(frame, cls: type, args: list[Variable], kwargs: dict[str, Variable]) -> Any:
    """The part of a new object of `cls`, as the `__new__` of its builtin base makes it."""
    base = native_base(frame, cls)
    assert base is not None
    if base in PLAIN_VALUE:
        values = [frame.values.plain(a) for a in args]
        named = {k: frame.values.plain(v) for k, v in kwargs.items()}
        part: Any = ConstantPart(run_python(frame, base, *values, **named))
    else:
        part = NEW[base](frame, args, kwargs)
    part.base = base
    return part


def outside_part(frame, base: type, value: Any, source: Source) -> Any:
    """The part of an object from outside, guarded."""
    part = OUTSIDE[base](frame, base, value, source)
    part.base = base
    return part
