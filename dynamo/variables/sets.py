"""Sets and frozensets.

Python iterates over a set in the order of its hash table, which depends on the hashes of the items and on the history
of the set. Where all items are constants whose hashes are known, `twin` is a real set to which the same was done, so
that it has the order that the set has at run time; `history` is for making it again. Sets of objects, which memory orders, have the
order in which these came; else nothing may depend on it.
"""

from __future__ import annotations

import _operator as operator
import enum
from collections.abc import Callable, Iterable
from typing import Any

from aten.later import later
from dynamo import breaks, outcome
from dynamo.breaks import NotConstant, Unsupported
from dynamo.operators import ROWS
from dynamo.variables import hashed
from dynamo.variables.base import Exhausted, IdentityKey, Variable, method
from dynamo.variables.constant import PLAIN, ConstantVariable, boolean
from dynamo.variables.exception import raise_exception
from dynamo.variables.mapping import SET_OPERATORS, DictVariable, HashedVariable, missing

again = later("dynamo.variables.set_again", "anew")
replayed = later("dynamo.variables.set_again", "replay")

METHODS = {
    operator.or_: "union",
    operator.and_: "intersection",
    operator.sub: "difference",
    operator.xor: "symmetric_difference",
}
SMALL = 4  # up to so many, a set made of a dict has the table that it has when they come one by one
OPERATORS = {name: op for op, name in METHODS.items()}


def has_known_hash(value: Any) -> bool:
    """Whether the hash of a constant is the same in each call of the compiled code."""
    if isinstance(value, (tuple, frozenset)):
        return all(map(has_known_hash, value))
    return isinstance(value, (*PLAIN, type, enum.Enum))


class Given:
    """An operand: a set as it was then (kind "set"), or the items of a "dict" or of another iterable ("list")."""

    __slots__ = ("set", "shape", "kind", "items")

    def __init__(self, theirs: SetVariable, kind: str):
        self.set, self.shape, self.kind = theirs, theirs.shape, kind
        self.items = () if kind == "set" else tuple(theirs.entries.values())


class SetHistory:
    """What was done to a set. `first`: the items that it was made of, unless `made`: the name of a method and its operands.
    `steps`: the names and operands since. `known`: whether each hash is."""

    __slots__ = ("first", "made", "steps", "known")

    def __init__(self, first: Iterable[Variable] = (), made: tuple | None = None):
        self.first, self.made = tuple(first), made
        self.steps: list[tuple[str, Variable | Given | None]] = []
        self.known = True

    def note(self, name: str, operand: Variable | Given | None = None, known: bool = True) -> None:
        self.steps.append((name, operand))
        self.known = self.known and known


class SetVariable(HashedVariable):
    """A set or frozenset. `entries`: hash key → item, in the order in which they came."""

    __slots__ = ("frozen", "twin", "order", "history")
    role = "set element"

    def __init__(self, items: Iterable[Variable] = (), frozen: bool = False, source=None, order: Any = None):
        super().__init__(source)
        self.entries = {v.hash_key(): v for v in items}
        self.frozen = frozen
        self.shape = 0
        self.order = None if order is None else tuple(order)  # of a set from outside, guarded, until it changes
        self.twin: Any = twin_of(self.entries, frozen) if order is None else None
        self.history = SetHistory(self.entries.values())

    def python_type(self):
        return frozenset if self.frozen else set

    def example(self):
        return self.python_type()()

    def real_of(self, items: list) -> Any:
        """A real set that is shown as this one."""
        if self.twin is None and self.order is not None and len(items) > 1:
            raise self.unsupported("the text of a set from outside")  # (a copy may have another order)
        return self.python_type()(items) if self.twin is None else self.twin.copy()

    def as_python(self):
        if not self.frozen:
            raise NotConstant(self)
        return frozenset(v.as_python() for v in self.entries.values())

    def hash_key(self):
        return frozenset(self.entries)

    def is_outside(self) -> bool:
        return self.source is not None

    def is_part(self) -> bool:
        """Whether it is the set in an object of a subclass."""
        return False

    def has_known_hashes(self) -> bool:
        return all(map(has_known_hash, self.entries))

    def reshaped(self, frame):
        super().reshaped(frame)
        self.order = None

    def unpack(self, frame):
        """The items in the order of iteration."""
        items = self.entries
        if self.order is not None:
            return [items[v] for v in self.order]
        if len(items) > 1 and self.twin is None and not self.any_order():
            raise self.unsupported("the order of the items, which depends on hashes,")
        return list(items.values()) if len(items) <= 1 or self.twin is None else [items[v] for v in self.twin]

    def unpack_unordered(self, frame):
        items = list(self.entries.values())
        kinds = {type(v.value) if isinstance(v, ConstantVariable) else None for v in items}
        return items if len(kinds) == 1 and kinds <= {int, str, bytes} else self.unpack(frame)

    def any_order(self) -> bool:
        """Whether the language leaves the order open: objects are found by where they lie in memory. It is that of their coming."""
        return any(type(key) is IdentityKey for key in self.entries) and all(
            type(key) is IdentityKey or has_known_hash(key) for key in self.entries
        )

    def iterate(self, frame):
        return frame.values.HashedIterator(self.unpack(frame), self, self)

    # --------------------------------------------------------------------------------------- operators
    def binary(self, frame, op, other):
        row = ROWS[op]
        if row.function not in SET_OPERATORS or not issubclass(other.python_type(), (set, frozenset)):
            return None
        other = as_set(frame, other)
        if row.is_comparison:
            return boolean(op(self.entries.keys(), other.entries.keys()))
        return self.combine(frame, METHODS[row.function], other, op is row.inplace and not self.frozen)

    def combine(self, frame, name: str, other: Variable, in_place: bool = False) -> SetVariable:
        """self.name(other), where `name` is "union", "intersection" …"""
        as_it_is = issubclass(other.python_type(), (set, frozenset))
        theirs = as_set(frame, other) if as_it_is or name != "intersection" else set_of(frame, self.found_in(frame, other))
        first, second = self.entries, theirs.entries
        if name == "intersection" and not (as_it_is and len(second) > len(first)):  # of equal elements those that Python walks over
            first, second = second, first
        both = {**first, **{k: v for k, v in second.items() if k not in first}}
        result = OPERATORS[name](self.entries.keys(), theirs.entries.keys())
        entries = {k: v for k, v in both.items() if k in result}
        target = self if in_place else SetVariable((), self.frozen)
        twin = self.twin
        of_dict = not as_it_is and other.python_type() is dict and isinstance(other.realize(frame), DictVariable)
        kind = "set" if as_it_is else "dict" if of_dict else "list"
        hashed = theirs.twin if as_it_is or theirs.twin is None else list(theirs.entries)
        hashed = dict.fromkeys(hashed) if kind == "dict" and hashed is not None else hashed  # (C makes room for a dict at once)
        given = Given(theirs, kind)
        if in_place:
            self.reshaped(frame)
            name = "update" if name == "union" else f"{name}_update"
            self.history.note(name, given, theirs.has_known_hashes())
        else:
            target.history = SetHistory(made=(name, Given(self, "set"), given))
        if twin is None or hashed is None:
            target.twin = None
        else:
            made = getattr(twin, name)(hashed)
            target.twin = twin if in_place else made
        target.entries = entries
        return target

    def found_in(self, frame, other: Variable, most: int | None = None) -> list[Variable]:
        """The items of the set that an iterable gives, which C asks no further once it has all of them, or `most`."""
        items, keys, iterator = [], set(), other.iterate(frame)
        while True:
            try:
                item = iterator.next(frame)
            except Exhausted:
                return items
            key = self.key(frame, item)
            if key in self.entries:
                items.append(item)
                keys.add(key)
                if len(keys) >= (len(self.entries) if most is None else most):
                    return items

    # ----------------------------------------------------------------------------------------- methods
    @method("add")
    def add(self, frame, item):
        key, before = self.key(frame, item), len(self.entries)
        self.entries.setdefault(key, item)
        if len(self.entries) == before:
            return
        self.reshaped(frame)
        self.keep_twin("add", key, item, lambda twin: twin.add(key))

    def keep_twin(self, name: str, key: Any, item: Variable, change: Callable) -> None:
        """Do to the twin what was done to the set, if it still can be known."""
        self.history.note(name, item, has_known_hash(key))
        if self.twin is not None and has_known_hash(key):
            change(self.twin)
        else:
            self.twin = None

    @method("discard")
    def discard(self, frame, item):
        self.drop(frame, item)

    def drop(self, frame, item) -> bool:
        """Take the item out; whether it was there. (It is looked for once: `__hash__` and `__eq__` may be the program's.)"""
        key = self.wanted(frame, item)
        there = self.entries.pop(key, None)
        if there is None:
            return False
        self.reshaped(frame)
        self.keep_twin("discard", key, there, lambda twin: twin.discard(key))
        return True

    def wanted(self, frame, item) -> Any:
        """What a set looks for: a set is found as the frozenset of its items."""
        item = item.realize(frame)
        return item.hash_key() if type(item) is SetVariable else self.key(frame, item)

    def contains(self, frame, item):
        return boolean(self.wanted(frame, item) in self.entries)

    @method("remove")
    def remove(self, frame, item):
        if not self.drop(frame, item):
            raise missing(item)

    @method("pop")
    def pop(self, frame):
        if not self.entries:
            raise raise_exception(frame, KeyError, "pop from an empty set")
        if len(self.entries) == 1:
            key = next(iter(self.entries))
            if self.twin is not None:
                self.twin.pop()
        elif self.twin is not None:
            key = self.twin.pop()
        elif self.any_order():
            key = next(iter(self.entries))
        else:
            raise self.unsupported("pop(): which item comes depends on hashes: pop()")
        self.reshaped(frame)
        self.history.note("pop", None, has_known_hash(key))
        return self.entries.pop(key)

    @method("clear")
    def clear(self, frame):
        super().clear(frame)
        self.history.note("clear")
        self.twin = set()

    @method("copy", "__copy__")
    def copy(self, frame):
        new = SetVariable((), self.frozen)
        new.entries = dict(self.entries)
        new.twin = None if self.twin is None else self.twin.copy()
        new.history = SetHistory(made=("copy", Given(self, "set")))
        return new

    def fold(self, frame, name: str, others: tuple, in_place: bool = False) -> SetVariable:
        result = self if in_place or others else self.copy(frame)
        for i, other in enumerate(others):
            result = result.combine(frame, name, other, in_place or (i > 0 and name != "intersection"))
        return result

    @method("union")
    def union(self, frame, *others):
        return self.fold(frame, "union", others)

    @method("intersection")
    def intersection(self, frame, *others):
        return self.fold(frame, "intersection", others)

    @method("difference")
    def difference(self, frame, *others):
        return self.fold(frame, "difference", others)

    @method("symmetric_difference")
    def symmetric_difference(self, frame, other):
        return self.combine(frame, "symmetric_difference", other)

    @method("update")
    def update(self, frame, *others):
        self.fold(frame, "union", others, True)

    @method("intersection_update")
    def intersection_update(self, frame, *others):
        self.fold(frame, "intersection", others, True)

    @method("difference_update")
    def difference_update(self, frame, *others):
        self.fold(frame, "difference", others, True)

    @method("symmetric_difference_update")
    def symmetric_difference_update(self, frame, other):
        self.combine(frame, "symmetric_difference", other, True)

    @method("issubset")
    def issubset(self, frame, other):
        return self.binary(frame, operator.le, as_set(frame, other))

    @method("issuperset")
    def issuperset(self, frame, other):
        return self.binary(frame, operator.ge, as_set(frame, other))

    @method("isdisjoint")
    def isdisjoint(self, frame, other):
        if issubclass(other.python_type(), (set, frozenset)):
            return not (self.entries.keys() & as_set(frame, other).entries.keys())
        return not self.found_in(frame, other, most=1)

    @method("__hash__")
    def hashed(self, frame):
        return ConstantVariable(hash(self.as_python()))

    # ----------------------------------------------------------------------------------------- rebuild
    def items_recipe(self, emit):
        """The recipe of a set of what is in this one."""
        if any(map(hashed.asks_program, self.entries)):
            if len(self.entries) > SMALL:
                raise Unsupported(breaks.NOT_REBUILT, "a set of objects whose hash is the program's")
            items = hashed.as_dict(emit, list(self.entries), list(self.entries.values()))
            return outcome.Call(outcome.Const(set), (items,))
        if len(self.entries) > 1 and (made := again(emit, self)) is not None:
            return made
        return outcome.Build("set", tuple(emit.value(v) for v in self.entries.values()))

    def recipe(self, emit):
        if self.source is not None:
            return emit.load(self.source)

        def make():
            items = self.items_recipe(emit)
            return outcome.Call(outcome.Const(frozenset), (items,)) if self.frozen else items

        return emit.shared(self, make)

    def replay(self, emit) -> None:
        me = emit.value(self)
        if replayed(emit, self, me):
            return
        items = self.items_recipe(emit)
        emit.after(outcome.Do(outcome.Call(outcome.Const(set.intersection_update), (me, items))))
        emit.after(outcome.Do(outcome.Call(outcome.Const(set.update), (me, items))))


def twin_of(keys: Iterable[Any], frozen: bool) -> Any:
    """The real set of these keys, added in this order; None if a hash is not known."""
    keys = list(keys)
    return (frozenset if frozen else set)(keys) if all(map(has_known_hash, keys)) else None


def set_of(frame, items: Iterable[Variable], frozen: bool = False) -> SetVariable:
    """A new set of these items, in this order."""
    new = SetVariable((), frozen)
    for item in items:
        new.entries.setdefault(new.key(frame, item), item)
    new.twin = twin_of(new.entries, frozen)
    new.history = SetHistory(new.entries.values())
    return new


def as_set(frame, value: Variable) -> SetVariable:
    """The value itself if it is a set, else a set of what it iterates over."""
    if isinstance(value, SetVariable):
        return value
    native = getattr(value, "native", None)  # (C reads the set in an object past what its class overrides)
    if isinstance(native, SetVariable):
        return native
    if value.is_constant() and isinstance(value.as_python(), frozenset):
        new = set_of(frame, value.unpack(frame), frozen=True)
        new.twin = value.as_python() if new.twin is not None else None
        new.history = SetHistory(made=(frozenset, outcome.Const(value.as_python())))
        return new
    return set_of(frame, value.unpack(frame))
