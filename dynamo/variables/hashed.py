"""Keys whose class says in Python what is their hash and what is equal: both are run as often as Python runs them.

A container from outside keeps the hashes that its keys had when they came; they are read from it, and guarded. One that
compiled code makes gets the hashes that the traced program was told, so that no `__hash__` runs a second time, and none
of an object that has not been filled yet.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable
from typing import Any

from dynamo import _eval_frame, breaks, outcome
from dynamo.breaks import Unsupported
from dynamo.source import Converted, Item, Source, values_of
from dynamo.variables.base import IdentityKey, Variable


class Hashed:
    """An object of this hash."""

    __slots__ = ("hash",)

    def __init__(self, hash: int):
        self.hash = hash

    def __hash__(self) -> int:
        return self.hash


class HashedKey(Hashed):
    """The key of a value whose class says in Python what is equal: it is compared in the traced program."""

    __slots__ = ("variable", "output")

    def __init__(self, output: Any, variable: Variable, hash: int):
        super().__init__(hash)
        self.variable = variable
        self.output = output

    __hash__ = Hashed.__hash__

    def __eq__(self, other: object) -> bool:
        frame = self.output.current
        theirs = other.variable if hasattr(other, "variable") else frame.values.literal(frame, other)
        return frame.ops.equals(frame, self.variable, theirs)


class WeakHashedKey(HashedKey):
    """The same for a weak reference to such a value, or for one that keeps a hash of before."""

    __slots__ = ()
    __hash__ = Hashed.__hash__

    def __eq__(self, other: object) -> bool:
        return type(other) is WeakHashedKey and super().__eq__(other)


class StoredHashes:
    """The hashes that a dict or set keeps of some of its keys, by their places in the order of iteration."""

    __slots__ = ("places",)

    def __init__(self, places: tuple[int, ...]):
        self.places = places

    def __call__(self, container: Any) -> tuple[int, ...]:
        hashes = _eval_frame.stored_hashes(container)
        return tuple([hashes[i] for i in self.places])


def parts(key: Any) -> Iterable[Any]:
    """The keys of the items of a tuple, or the key itself."""
    return (p for k in key for p in parts(k)) if isinstance(key, tuple) else (key,)


def asks_program(key: Any) -> bool:
    """Whether the hash of a key is asked of the program."""
    return any(isinstance(p, HashedKey) for p in parts(key))


def value_at(mapping: dict, base: Source, place: int, key: Any, by_key: Source) -> Source:
    """Where the value of a dict is read that is found under `key`: by its key, or by its place where that would ask the program."""
    if asks_program(key) and not isinstance(mapping, collections.OrderedDict):  # (which looks each value up by its key)
        return Item(Converted(base, values_of), place)
    return by_key


def as_dict(emit: Any, keys: list[Any], items: list[Variable], values: list[Variable] | None = None) -> Any:
    """The recipe of a dict of these items, found under these keys; of a dict without values where there are none."""
    hashes = []
    for key in keys:
        if asks_program(key) and any(isinstance(p, IdentityKey) for p in parts(key)):
            raise Unsupported(breaks.NOT_REBUILT, "a key that is hashed partly by where it lies")
        hashes.append(hash(key) if asks_program(key) else None)
    known = [hash(key) for key in keys if not isinstance(key, IdentityKey)]
    if len(set(known)) < len(known):
        raise Unsupported(breaks.NOT_REBUILT, "keys of one hash, which would be compared once more")
    of = lambda variables: outcome.Build("tuple", tuple(emit.value(v) for v in variables))
    made_of = of(items), of(items if values is None else values), outcome.Const(tuple(hashes))
    return outcome.Call(outcome.Const(_eval_frame.dict_of), made_of)
