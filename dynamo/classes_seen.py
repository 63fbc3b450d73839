"""What a capture sees of classes: what they hold along their MRO, found *or absent*, and the facts that follow from it.

The part of the world (`world.py`) that answers for classes; every answer is guarded, unless the class cannot change.
"""

from __future__ import annotations

import collections
import enum
import re
import threading
import types
import typing
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import aten
from aten import overrides, return_types
from dynamo import guards, trace_rules
from dynamo.real_objects import (
    ABSTRACT,
    DATA,
    HEAP_TYPE,
    IMMUTABLE,
    MADE_BY_NAMEDTUPLE,
    MISSING,
    NOT_ASKED,
    OURS,
    TUPLE_HOOKS,
    HasFlag,
    Registered,
    code_file,
    dictoffset_of,
    flags_of,
    is_among,
    members_of,
    mro_of,
    names_of_class,
    walk,
    written_in_c,
)
from dynamo.source import Attr, ClassAttr, Converted, Object, Source
from dynamo.variables.base import Variable

if TYPE_CHECKING:
    from dynamo.output_graph import OutputGraph

NO_SEQUENCES = (np.number, np.bool_, re.Match)  # of C, whose `__getitem__` is that of a mapping
TENSOR = Object(aten.Tensor)  # one source, for all captures


class ClassesSeen:
    """What one capture sees of classes. `output` collects the guards."""

    __slots__ = ("output", "class_lookups", "classes", "bases_in_c", "kept")

    def __init__(self, output: OutputGraph):
        self.output = output
        self.class_lookups: dict[tuple[int, int, Any], Any] = {}  # (by ids: a metaclass may define `__eq__`)
        self.classes: dict[int, Object] = {id(aten.Tensor): TENSOR}
        self.bases_in_c: dict[int, tuple[type, ...]] = {}
        self.kept: list[type] = []  # keeps these ids from being reused

    if TYPE_CHECKING:  # what the rest of the world gives (world.py)

        def _saw(self, kind: str, source: Source, name: Any, value: Any) -> None: ...
        def known(self, value: Any) -> Variable: ...
        def lazy(self, value: Any, source: Source) -> Variable: ...
        def own_attribute(self, obj: Any, source: Source, name: str) -> Variable | None: ...

    # ------------------------------------------------------------------------------------------ look-ups
    def on_class(self, cls: type, name: str) -> Any:
        """What `cls` holds under `name` along its MRO, not bound, or MISSING; guarded either way."""
        return self._look_up(cls, None, name)

    def takes_calls(self, cls: type) -> bool:
        """Whether a class takes calls of ops itself, by a `__torch_function__`; guarded."""
        if cls in (aten.Tensor, aten.Parameter):
            return False
        self.on_class(cls, "__torch_function__")
        return bool(overrides.kind_of(cls) & overrides.FUNCTION)

    def after_class(self, cls: type, start: type, name: str) -> Any:
        """What super(start, …) finds: the walk along the MRO of `cls` behind `start`."""
        return self._look_up(cls, start, name)

    def _look_up(self, cls: type, start: type | None, name: str) -> Any:
        key = (id(cls), id(start), name)
        if key in self.class_lookups:
            return self.class_lookups[key]
        self.kept.append(cls)
        found = self.class_lookups[key] = self._walk(cls, start, name)
        return found

    def _walk(self, cls: type, start: type | None, name: str) -> Any:
        mro = mro_of(cls)
        if start is None:
            found = walk(mro, name)
            self._guard_class(cls, name, found)
            return found
        if not flags_of(cls) & IMMUTABLE:
            self.output.guard(guards.MroIs(Object(cls), tuple(map(id, mro))))
        for c in mro[next(i for i, c in enumerate(mro) if c is start) + 1 :]:
            # What each class on the way has by itself or from its bases: none can come to hide what lies behind it.
            self._guard_class(c, name, walk(mro_of(c), name))
            if name in members_of(c):
                return members_of(c)[name]
        return MISSING

    def _guard_class(self, cls: type, name: str, found: Any) -> None:
        if flags_of(cls) & IMMUTABLE:
            return
        source = self._class_at(cls)
        self._saw("class", source, name, found)
        if id(type(found)) in DATA:  # its value is looked at apart
            self.output.guard_type(ClassAttr(source, name), type(found))
        else:
            lookup = guards.lasting_lookup if source is TENSOR else guards.ClassLookupIs
            self.output.guard(lookup(source, name, guards.ABSENT if found is MISSING else found))

    def _class_at(self, cls: type) -> Object:
        """The source of a class: one object, which sources and guards that have it in common compare fast."""
        known = self.classes.get(id(cls))
        if known is None:
            known = self.classes[id(cls)] = Object(cls)
        return known

    def is_ours(self, cls: type, name: str) -> bool:
        """Whether tensors have under this name what Tensor came with, or only what a program has added; guarded."""
        return name not in OURS or self.on_class(cls, name) is OURS[name]

    def lacks(self, cls: type, name: str) -> bool:
        """Whether objects of `cls` have no such special method (None in its place says so as well); guarded."""
        found = self._look_up(cls, None, name)
        return found is MISSING or found is None

    def can_be_iterated(self, cls: type) -> bool:
        """Whether iter() asks objects of `cls` at all: C has words of its own for those that it need not ask; guarded."""
        if self._look_up(cls, None, "__iter__") is not MISSING:
            return True
        return self._look_up(cls, None, "__getitem__") is not MISSING and not issubclass(cls, NO_SEQUENCES)

    def keeps(self, cls: type, base: type, names: tuple[str, ...]) -> bool:
        """Whether `cls` has under all these names what its base has; guarded as far as was looked."""
        key = (id(cls), id(base), names)
        if key in self.class_lookups:
            return self.class_lookups[key]
        self.kept.append(cls)
        kept = self.class_lookups[key] = self._keeps(cls, base, names)
        return kept

    def _keeps(self, cls: type, base: type, names: tuple[str, ...]) -> bool:
        bases, mro = mro_of(base), mro_of(cls)
        found = [walk(bases, name) for name in names]
        if not flags_of(base) & IMMUTABLE or flags_of(cls) & IMMUTABLE or [*map(id, found)] != [id(walk(mro, n)) for n in names]:
            return all(self.on_class(cls, name) is f for name, f in zip(names, found))
        for name, f in zip(names, found):
            self._saw("class", self._class_at(cls), name, f)
        known = tuple([guards.ABSENT if f is MISSING else f for f in found])
        self.output.guard(guards.ClassLookupsAre(self._class_at(cls), names, known))
        return True

    def is_named_tuple(self, cls: type) -> bool:
        """Whether objects of the class are tuples that do what the class made by `namedtuple` does, and no more; guarded."""
        if cls.__dictoffset__ or not hasattr(cls, "_fields"):
            return False
        made = ((self.on_class(cls, name), kind) for name, kind in MADE_BY_NAMEDTUPLE.items())
        if flags_of(cls) & HEAP_TYPE and not all(
            type(found) is kind and code_file(found) in (collections.__file__, return_types.__file__) for found, kind in made
        ):
            return hasattr(cls, "n_sequence_fields")  # (the class of a struct sequence)
        if flags_of(cls) & HEAP_TYPE:
            self.output.guard(guards.Equals(ClassAttr(self._class_at(cls), "_fields"), cls._fields))  # type: ignore[attr-defined]
        return self.keeps(cls, tuple, TUPLE_HOOKS)

    def class_source(self, cls: type, name: str, start: type | None = None) -> Source:
        """Where what `on_class` (or `after_class`) found can be read again."""
        if start is not None:
            cls = next(c for c in self.mro(cls, start) if name in members_of(c))
        return ClassAttr(self._class_at(cls), name)

    def mro(self, cls: type, start: type | None = None) -> tuple[type, ...]:
        """The classes that a look-up asks, in order; those behind `start` if given."""
        found = mro_of(cls)
        return found if start is None else found[found.index(start) + 1 :]

    def class_has_own(self, cls: type, name: str) -> bool:
        """Whether the class itself, and no base, holds `name`; guarded by what the look-up gives."""
        self._look_up(cls, None, name)
        return name in members_of(cls)

    def class_names(self, cls: type) -> tuple[str, ...]:
        names = tuple(members_of(cls))
        self.output.guard(guards.Equals(Converted(self._class_at(cls), names_of_class), names))
        return names

    def class_dict(self, cls: type) -> Variable:
        """`cls.__dict__`, as the traced program has changed it: its names are guarded, each value once it is looked at."""
        frame, changed, here = self.output.current, self.output.side_effects.classes.get(cls), self._class_at(cls)
        stored = changed.read if changed is not None else lambda frame, name: None
        held = lambda n: [self.known(n), stored(frame, n) or self.lazy(members_of(cls)[n], ClassAttr(here, n))]
        entries: dict = {n: held(n) for n in self.names_of_one_class(cls)}
        return frame.values.DictVariable(entries, types.MappingProxyType, source=Attr(here, "__dict__"))

    def names_of_one_class(self, cls: type) -> Sequence[str]:
        """The names in the class itself, as the traced program has changed it."""
        if cls in self.output.side_effects.classes:
            return self.output.side_effects.classes[cls].names(self.output.current)
        return tuple(members_of(cls)) if self.is_immutable(cls) else self.class_names(cls)

    def names_on_class(self, cls: type) -> list[str]:
        """The names in the class and its bases, as dir() collects them."""
        return [name for c in self.mro(cls) for name in self.names_of_one_class(c)]

    def is_immutable(self, cls: type) -> bool:
        """Whether the attributes of the class cannot be set."""
        return bool(flags_of(cls) & IMMUTABLE)

    def has_dict(self, cls: type) -> bool:
        """Whether objects of the class have a `__dict__`: a fact of its layout."""
        return dictoffset_of(cls) != 0 or issubclass(cls, threading.local)

    def c_bases(self, cls: type) -> tuple[type, ...]:
        """The classes written in C that `cls` is or comes from, but for `object`: a fact of its layout."""
        found = self.bases_in_c.get(id(cls))
        if found is None:
            self.kept.append(cls)
            found = tuple(c for c in self.mro(cls)[:-1] if c is not typing.Generic and written_in_c(c))
            self.bases_in_c[id(cls)] = found
        return found

    def abstract_methods(self, cls: type) -> frozenset[str]:
        """The abstract methods that forbid to make objects of the class; guarded."""
        if type(cls) is type:
            return frozenset()
        if not flags_of(cls) & ABSTRACT:  # (asking for the names would ask a `__getattr__` of the metaclass)
            return frozenset()
        names = cls.__abstractmethods__  # type: ignore[attr-defined]
        self.output.guard(guards.Equals(Attr(self._class_at(cls), "__abstractmethods__"), names))
        return names

    def inherits(self, cls: type, base: type) -> bool:
        """issubclass(cls, base) by the MRO alone; guarded, for `__bases__` may be set."""
        answer = is_among(base, self.mro(cls))
        if base is not object and not self.is_immutable(cls):
            self.output.guard(guards.Inherits(self._class_at(cls), base, answer))
        return answer

    def matches_as(self, cls: type, flag: int) -> bool:
        """Whether patterns take objects of the class for sequences, or mappings: C has a flag for that, which `register` sets."""
        answer = bool(flags_of(cls) & flag)
        if not answer and not self.is_immutable(cls):
            self.output.guard(guards.Equals(Converted(self._class_at(cls), HasFlag(flag)), answer))
        return answer

    def is_subclass(self, cls: type, base: type) -> bool:
        """issubclass(cls, base). What an abstract class has registered may change, and is asked again."""
        answer = issubclass(cls, base)
        self.inherits(cls, base)
        if base not in self.mro(cls) and type(base) is not type and not self.is_immutable(cls):
            self.output.guard(guards.Equals(Converted(Object(base), Registered(cls)), answer))
        return answer

    def is_enum(self, cls: type) -> bool:
        """Whether the class is an enumeration that counts, lists and finds its members as enumerations do."""
        return type(cls) is enum.EnumMeta

    def enum_is_object(self, cls: type) -> bool:
        """Whether members of an enumeration have special methods of the program's own, and are traced as objects are."""
        for c in self.mro(cls):
            for name, found in members_of(c).items():
                if name.startswith("__") and name not in NOT_ASKED and type(found) is types.FunctionType:
                    if self.on_class(cls, name) is found and found.__module__ not in ("enum", "builtins"):
                        return True
        return False

    def enum_looks_for(self, cls: type) -> bool:
        """Whether an enumeration has a `_missing_` of the program's own."""
        found = self.on_class(cls, "_missing_")
        return getattr(found, "__func__", None) is not enum.Enum.__dict__["_missing_"].__func__ and not trace_rules.is_library(cls)

    def enum_member(self, cls: type, name: str) -> Variable | None:
        """A member of an enumeration by its name, or None. The members of a class never change."""
        if not issubclass(type(cls), enum.EnumMeta) or name not in (members := members_of(cls)["_member_map_"]):
            return None
        return self.known(members[name])

    def enum_field(self, member: enum.Enum, name: str) -> Variable:
        """What a member of an enumeration has as its value or name: its own, unless its class computes it."""
        public = name.strip("_")
        plain = self.on_class(type(member), public) is enum.Enum.__dict__[public]
        own = self.own_attribute(member, Object(member), name) if plain else None
        return self.known(getattr(member, public)) if own is None else own

    def setter_below_hooks(self, cls: type, name: str) -> Any:
        """The `__setattr__` (or `__delattr__`) of C below those written in Python; None if there is none of those."""
        first = self.on_class(cls, name)
        if not hasattr(first, "__code__"):
            return None
        below = (members_of(c).get(name) for c in self.mro(cls))
        return next(found for found in below if found is not None and not hasattr(found, "__code__"))
