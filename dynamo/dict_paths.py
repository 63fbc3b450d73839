"""One dict by two paths: a program may hold as a value the dict in which attributes or globals lie (`vars(o)`, `globals()`).

Names are looked up there without making a value of the dict: by `Storage`, by `Namespace`, by the defaults of a function. What is
changed by one path is to be found by the other. In this call: an instance's attributes become the items of the dict as soon as
both are known, and for globals the graph breaks. In later calls: guards say that two dicts are still two, where a name that one
path changed is one that the other may have looked up.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from dynamo import breaks, guards
from dynamo.breaks import Unsupported
from dynamo.real_objects import instance_dict
from dynamo.source import Converted, InstanceDict, Object, Source
from dynamo.variables.mapping import DictVariable
from dynamo.variables.storage import ClassStorage, Namespace, Storage


def dict_of_instance(place: Source, owner: Any) -> Source:
    """The source of the `__dict__` of an object."""
    return Converted(place, instance_dict) if issubclass(type(owner), threading.local) else InstanceDict(place)


class LookedInto:
    """A dict in which names were looked up, and whether each was there. It is at `place`, or that of the `owner` there."""

    __slots__ = ("real", "place", "owner", "names")

    def __init__(self, real: dict, place: Source, owner: Any):
        self.real = real
        self.place = place
        self.owner = owner
        self.names: dict[str, bool] = {}

    @property
    def source(self) -> Source:
        return self.place if self.owner is None else dict_of_instance(self.place, self.owner)

    def may_have(self, keys: Any) -> bool:
        """Whether its keys may be these."""
        return all((name in keys) == found for name, found in self.names.items())


class DictPaths:
    """What one capture looked up by name: `looked_into`, by the ids of the dicts; and the mapping proxies that it met."""

    __slots__ = ("output", "looked_into", "proxies")

    def __init__(self, output: Any):
        self.output = output
        self.looked_into: dict[int, LookedInto] = {}
        self.proxies = False

    def met(self, real: dict, place: Source, owner: Any = None) -> LookedInto:
        """A dict is looked into, or changed: at a place, or that of an object there."""
        seen = self.looked_into.get(id(real))
        if seen is None:
            seen = self.looked_into[id(real)] = LookedInto(real, place, owner)
        return seen

    def look(self, real: dict, place: Source, owner: Any, name: str) -> bool:
        """Whether a dict has a name."""
        found = self.met(real, place, owner).names[name] = name in real
        return found

    def is_shared(self, real: dict, place: Source) -> bool:
        """Whether the `__dict__` of what is at a place is a value besides, or that of something else, too."""
        seen = self.looked_into.get(id(real))
        return id(real) in self.output.by_id or (seen is not None and seen.place != place)

    # ----------------------------------------------------------------------------------------- in this call
    def check_names(self, namespace: dict, stores: bool = False) -> None:
        """Globals are read, or stored: the program may hold their dict as a value as well, and have changed it."""
        known, seen = self.output.by_id.get(id(namespace)), self.looked_into.get(id(namespace))
        changed = known is not None and (stores or known in self.output.side_effects.dirty)
        if changed or (seen is not None and seen.owner is not None):
            raise Unsupported(breaks.TWO_PATHS, "globals whose dict is used as a value, too")

    def check_class(self) -> None:
        """A class is changed: a proxy may show its dict."""
        if self.proxies:
            raise Unsupported(breaks.TWO_PATHS, "a class that is changed, where its __dict__ may be used as a value, too")

    def met_proxy(self) -> None:
        self.proxies = True
        if self.output.side_effects.classes:
            self.check_class()

    def join(self, frame: Any, real: dict, variable: DictVariable) -> None:
        """A dict becomes a value behind changes of what lies in it."""
        for storage in list(self.output.side_effects.dirty):
            if isinstance(storage, Namespace):
                if storage.real is real:
                    raise Unsupported(breaks.TWO_PATHS, "globals whose dict is used as a value, too")
            elif isinstance(storage, Storage) and storage.mapping is None and instance_dict(storage.real) is real:
                self.output.by_id[id(real)] = variable
                storage.adopt(frame)

    # -------------------------------------------------------------------------------------- in later calls
    def distinct(self) -> Iterator[guards.Guard]:
        """That dicts which may not be one are still two."""
        dirty = self.output.side_effects.dirty
        for changed in dirty:
            if type(changed) is DictVariable and changed.source is not None:
                yield from self._apart_from_names(changed)
            elif isinstance(changed, Storage) and not isinstance(changed, ClassStorage) and changed.mapping is None:
                yield from self._apart_from_values(changed)

    def _apart_from_names(self, changed: DictVariable) -> Iterator[guards.Guard]:
        names = changed.changes.names()
        for seen in self.looked_into.values():
            looked = names is None or any(name in names for name in seen.names)
            if looked and self.output.by_id.get(id(seen.real)) is not changed:
                yield from _distinct(changed.source, seen.source)

    def _apart_from_values(self, changed: Storage) -> Iterator[guards.Guard]:
        own = isinstance(changed, Namespace)
        real = changed.real if own else instance_dict(changed.real)
        if real is None or (changed.members and not changed.changes):  # (slots lie in no dict)
            return
        seen = self.looked_into.get(id(real))
        here: Any = Object(real) if own else None
        for value in list(self.output.by_id.values()):
            if type(value) is DictVariable and value.cls is dict and value.source is not None:
                if value not in self.output.side_effects.dirty and seen is not None and not seen.may_have(value.entries):
                    continue  # its keys are guarded
                here = here or dict_of_instance(changed.source, changed.real)  # type: ignore[arg-type]
                yield from _distinct(value.source, here)


def _distinct(one: Any, other: Source) -> Iterator[guards.Guard]:
    if one != other and not (isinstance(one, Object) and isinstance(other, Object)):
        yield guards.Distinct((one, other))
