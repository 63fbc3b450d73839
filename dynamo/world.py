"""The one door to what lies outside of a traced program: looking at something through it guards what was seen.

Reading and guarding are one act here, and *found* and *absent* are both answers that hold only as long as they hold.
Every other file of dynamo asks the World: no other touches a real object (a test reads the sources). What may be known
without asking cannot change: constants, and the layout of classes written in C.

Each read may be listened to (`listen`): the mutation fuzzer changes everything that was read, one thing at a time.
"""

from __future__ import annotations

import collections
import enum
import sys
import threading
import types
import typing
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import aten
from aten import overrides, return_types
from dynamo import _eval_frame, breaks, guards, trace_rules
from dynamo.breaks import Raised, Unsupported
from dynamo.real_objects import (
    ABSTRACT,
    DATA,
    HEAP_TYPE,
    IMMUTABLE,
    IMPORT,
    MADE_BY_NAMEDTUPLE,
    MISSING,
    NOT_ASKED,
    OURS,
    TUPLE_HOOKS,
    IsEmpty,
    LacksOwn,
    Registered,
    code_file,
    instance_dict,
    is_among,
    members_of,
    mro_of,
    names_of_class,
    reads_builtins,
    reads_globals,
    walk,
    written_in_c,
)
from dynamo.source import Attr, Builtin, ClassAttr, Converted, Global, InstanceDict, Item, Object, Source
from dynamo.variables import track
from dynamo.variables.base import Variable
from dynamo.variables.hashed import HashedKey, StoredHashes
from dynamo.variables.lazy import Lazy
from dynamo.variables.raising import run_python

if TYPE_CHECKING:
    from dynamo.output_graph import OutputGraph

listen: Callable[[str, Source, Any, Any], None] | None = None  # told (kind of read, source, name or key, value)
TENSOR = Object(aten.Tensor)  # one source, for all captures


class World:
    """What one capture sees of the world. `output` collects the guards."""

    QUOTED = sys.version_info >= (3, 12)  # whether abstract methods stand in quotes where objects cannot be made

    __slots__ = ("output", "class_lookups", "classes", "bases_in_c", "kept", "names", "members")
    MISSING = MISSING

    def __init__(self, output: OutputGraph):
        self.output = output
        self.class_lookups: dict[tuple[int, int, Any], Any] = {}  # (by ids: a metaclass may define `__eq__`)
        self.classes: dict[int, Object] = {id(aten.Tensor): TENSOR}
        self.bases_in_c: dict[int, tuple[type, ...]] = {}
        self.kept: list[type] = []  # keeps these ids from being reused
        # What was read of globals, and of modules, by the ids of their dictionaries: (dictionary, real value, Variable).
        self.names: dict[tuple[int, str], tuple[dict, Any, Variable]] = {}
        self.members = dict(self.names)

    def _saw(self, kind: str, source: Source, name: Any, value: Any) -> None:
        if listen is not None:
            listen(kind, source, name, value)

    # -------------------------------------------------------------------------------------------- values
    def wrap(self, value: Any, source: Source) -> Variable:
        """The Variable of a value that stands at `source`, with the guards of its kind."""
        self._saw("value", source, None, value)
        return track.wrap(self.output.current, value, source)

    def lazy(self, value: Any, source: Source) -> Variable:
        """The same, guarded only once something is asked of it."""
        return Lazy(value, source, self.output)

    def known(self, value: Any) -> Variable:
        """The Variable of an object known by identity: a builtin, what an import gives, a constant of the code."""
        return track.wrap_untracked(self.output.current, value)

    # ------------------------------------------------------------------------------------------- classes
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
        if not cls.__flags__ & IMMUTABLE:
            self.output.guard(guards.MroIs(Object(cls), tuple(map(id, mro))))
        for c in mro[next(i for i, c in enumerate(mro) if c is start) + 1 :]:
            # What each class on the way has by itself or from its bases: none can come to hide what lies behind it.
            self._guard_class(c, name, walk(mro_of(c), name))
            if name in members_of(c):
                return members_of(c)[name]
        return MISSING

    def _guard_class(self, cls: type, name: str, found: Any) -> None:
        if cls.__flags__ & IMMUTABLE:
            return
        source = self._class_at(cls)
        self._saw("class", source, name, found)
        if type(found) in DATA:  # its value is looked at apart
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
        if not base.__flags__ & IMMUTABLE or cls.__flags__ & IMMUTABLE or [*map(id, found)] != [id(walk(mro, n)) for n in names]:
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
        if cls.__flags__ & HEAP_TYPE and not all(
            type(found) is kind and code_file(found) in (collections.__file__, return_types.__file__) for found, kind in made
        ):
            return hasattr(cls, "n_sequence_fields")  # (the class of a struct sequence)
        if cls.__flags__ & HEAP_TYPE:
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
        return bool(cls.__flags__ & IMMUTABLE)

    def has_dict(self, cls: type) -> bool:
        """Whether objects of the class have a `__dict__`: a fact of its layout."""
        return cls.__dictoffset__ != 0 or issubclass(cls, threading.local)

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
        if not cls.__flags__ & ABSTRACT:  # (asking for the names would ask a `__getattr__` of the metaclass)
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
        return getattr(found, "__func__", None) is not enum.Enum.__dict__["_missing_"].__func__ and not self.is_library(cls)

    def enum_member(self, cls: type, name: str) -> Variable | None:
        """A member of an enumeration by its name, or None. The members of a class never change."""
        if not isinstance(cls, enum.EnumMeta) or name not in cls._member_map_:
            return None
        return self.known(cls._member_map_[name])

    def enum_field(self, member: enum.Enum, name: str) -> Variable:
        """What a member of an enumeration has as its value or name: its own, unless its class computes it."""
        public = name.strip("_")
        plain = self.on_class(type(member), public) is enum.Enum.__dict__[public]
        own = self.own_attribute(member, Object(member), name) if plain else None
        return self.known(getattr(member, public)) if own is None else own

    def is_library(self, obj: Any) -> bool:
        return trace_rules.is_library(obj)

    def class_of_module(self, module: types.ModuleType) -> None:
        """The class of a module of the program was looked at: `__class__` may be set."""
        name = module.__dict__.get("__name__")
        if not (type(name) is str and trace_rules.is_library_name(name)):
            self.output.guards.add(guards.TypeIs(Object(module), type(module)))

    def identity(self, obj: Any) -> Source:
        """The source of an object known by identity."""
        return Object(obj)

    def setter_below_hooks(self, cls: type, name: str) -> Any:
        """The `__setattr__` (or `__delattr__`) of C below those written in Python; None if there is none of those."""
        for n, c in enumerate(self.mro(cls)):
            found = c.__dict__.get(name)
            if found is not None and not hasattr(found, "__code__"):
                hooked = any(name in d.__dict__ for d in self.mro(cls)[:n])
                return found if hooked else None
        return None

    # ----------------------------------------------------------------------------------------- instances
    def own_attribute(self, obj: Any, source: Source, name: str) -> Variable | None:
        """What the instance's own dictionary holds under `name`, or None; guarded either way."""
        values = instance_dict(obj)
        if values is None:
            return None
        if name in values:
            self._saw("attribute", source, name, values[name])
            return self.wrap(values[name], self.own_source(obj, source, name))
        self._saw("attribute", source, name, MISSING)
        if issubclass(type(obj), threading.local):
            self.output.guard(guards.Equals(Converted(source, LacksOwn(name)), True))
        else:
            self.output.guard(guards.LacksInstanceAttr(source, name))
        return None

    def peek(self, obj: Any, name: str) -> Any:
        """What the instance's own dictionary holds, not guarded: whoever asks guards what it makes of it."""
        return (instance_dict(obj) or {}).get(name)

    def own_source(self, obj: Any, source: Source, name: str) -> Source:
        """Where an instance's own attribute is read again: plainly, where that runs no hook and asks no class."""
        if self.reads_plainly(type(obj)) and self.on_class(type(obj), name) is MISSING:
            return Attr(source, name)
        return Item(InstanceDict(source), name)

    def reads_plainly(self, cls: type) -> bool:
        """Whether reading an attribute of an object runs nothing of the program's; guarded."""
        owners = (object, type, types.FunctionType, BaseException, threading.local)
        getters = [owner.__getattribute__ for owner in owners]
        return self.on_class(cls, "__getattribute__") in getters and self.on_class(cls, "__getattr__") is MISSING

    def stored_keys(self, container: Any, source: Source, keys: list[Variable]) -> list[tuple[Any, Variable]]:
        """What each of the keys of a dict or set is found under, and the key; the hashes that it keeps of keys whose class
        has a `__hash__` of the program's are guarded."""
        hashes = _eval_frame.stored_hashes(container)
        found = [self.output.current.ops.key(self.output.current, key, hashes[i]) for i, key in enumerate(keys)]
        places = tuple(i for i, key in enumerate(found) if isinstance(key, HashedKey))
        if places:
            self.output.guard(guards.Equals(Converted(source, StoredHashes(places)), tuple([hashes[i] for i in places])))
        return list(zip(found, keys))

    def has_own(self, obj: Any, source: Source, name: str) -> bool:
        """Whether the instance's own dictionary holds something under `name`; guarded, whatever it holds."""
        values = instance_dict(obj)
        if values is None:
            return False
        if name not in values:
            self.output.guard(guards.LacksInstanceAttr(source, name))
            return False
        self.output.guard_type(Item(InstanceDict(source), name), type(values[name]))
        return True

    def own_dict(self, obj: Any, source: Source) -> Variable:
        """The instance's `__dict__` itself."""
        return self.wrap(instance_dict(obj), InstanceDict(source))

    def known_dict(self, obj: Any) -> Variable | None:
        """The Variable of the instance's `__dict__`, if the program came by it already."""
        values = instance_dict(obj)
        return None if values is None else self.output.by_id.get(id(values))

    def own_names(self, obj: Any, source: Source) -> tuple[str, ...]:
        """The names in the instance's own dictionary, in order; guarded."""
        values = instance_dict(obj)
        if values is None:
            return ()
        names = tuple(values)
        self._saw("names", source, None, names)
        self.output.guard(guards.DictKeysAre(InstanceDict(source), names))
        return names

    def slot(self, obj: Any, source: Source, descriptor: Any, name: str) -> Variable | None:
        """What a `__slots__` member or another C descriptor of data holds, or None while it is empty; guarded."""
        plain = source is not None and self.reads_plainly(type(obj)) and self.on_class(type(obj), name) is descriptor
        try:
            value = descriptor.__get__(obj, type(obj))
        except AttributeError:
            self._saw("attribute", source, name, MISSING)
            empty = guards.LacksAttr(source, name) if plain else guards.Equals(Converted(source, IsEmpty(descriptor)), True)
            self.output.guard(empty)
            return None
        self._saw("attribute", source, name, value)
        if value is None and source is None:
            return self.known(value)
        return self.wrap(value, Attr(source, name) if plain else Converted(source, descriptor.__get__))

    def attribute(self, obj: Any, source: Source, name: str) -> Variable | None:
        """An attribute of an object written in C, or None; guarded either way."""
        try:
            value = getattr(obj, name)
        except AttributeError:
            self._saw("attribute", source, name, MISSING)
            self.output.guard(guards.LacksAttr(source, name))
            return None
        self._saw("attribute", source, name, value)
        return self.wrap(value, Attr(source, name))

    def fact(self, obj: Any, source: Source, name: str) -> Any:
        """What an attribute of an object written in C says now: a constant, compared at each call."""
        value = getattr(obj, name)
        self._saw("attribute", source, name, value)
        if not isinstance(source, Object):
            self.output.guard(guards.Equals(Attr(source, name), value))
        return value

    # ----------------------------------------------------------------------------------------- functions
    def function(self, function: Any) -> Variable:
        """A function that was found on a class, whose identity is guarded by having found it there; or what else of
        Python or C stands in a property, staticmethod … in its place."""
        known = self.output.by_id.get(id(function))
        if known is not None and known.source is not None:
            self.same(known.source, function)
        return self.known(function)

    def code(self, function: types.FunctionType, source: Source) -> types.CodeType:
        """The code that a call runs; guarded."""
        self._saw("code", source, None, function.__code__)
        code = function.__code__
        self.output.guard(guards.FunctionCodeIs(source, code))
        if not isinstance(source, (ClassAttr, Object)) and reads_globals(code):  # (which function a class has is guarded)
            own = function.__builtins__ is not self.output.builtins  # type: ignore[attr-defined]
            if own and reads_builtins(function):
                raise Unsupported(breaks.OUTSIDE_WORLD, f"{code.co_qualname}, which has builtins of its own,")
            self.output.guard(guards.GlobalsAre(source, id(function.__globals__)))
        return code

    def defaults(self, function: types.FunctionType, source: Source) -> list[Variable]:
        """The values of `__defaults__`; how many there are is guarded, each only when it is looked at."""
        values = function.__defaults__
        here = Attr(source, "__defaults__")
        self._saw("defaults", source, None, values)
        if values is None:
            self.output.guard(guards.LacksDefaults(source) if function.__kwdefaults__ is None else guards.IdIs(here, None))
            return []
        self.output.guard(guards.LengthIs(here, len(values)))
        return [self.lazy(v, Item(here, i)) for i, v in enumerate(values)]

    def kwdefaults(self, function: types.FunctionType, source: Source) -> dict[str, Variable]:
        """The values of `__kwdefaults__`, by name."""
        values = function.__kwdefaults__
        here = Attr(source, "__kwdefaults__")
        if values is None:
            self.output.guard(guards.LacksDefaults(source) if function.__defaults__ is None else guards.IdIs(here, None))
            return {}
        return dict(zip(values, self.items(values, here)))

    def items(self, values: dict, source: Source) -> list[Lazy]:
        """The values of a dictionary; its keys are guarded, each value only when it is looked at."""
        self._saw("items", source, None, values)
        self.output.guard(guards.DictKeysAre(source, tuple(values)))
        return [Lazy(v, Item(source, k), self.output) for k, v in values.items()]

    # --------------------------------------------------------------------------------- globals, modules
    def global_name(self, frame: Any, name: str) -> Variable | None:
        """A name in the globals of a frame, then in the builtins; None if it is in neither. Guarded either way."""
        namespace = frame.globals
        known = self.names.get((id(namespace), name))
        if known is not None and namespace.get(name, MISSING) is known[1]:
            return known[2]
        root = namespace is self.output.root.globals
        here = Object(namespace, f"{namespace.get('__name__', '?')}.__dict__")
        if name in namespace:
            source, value = Global(name) if root else Item(here, name), namespace[name]
            self._saw("global", source, name, value)
            found = self.wrap(value, source)
            self.names[id(namespace), name] = namespace, value, found
            return found
        builtins = self.output.builtins
        if root:
            self.output.guard(guards.LacksGlobal(None, name))
        else:
            self.output.guard(guards.LacksKey(here, name))
        if name not in builtins:
            return None
        source = Builtin(name) if root else Item(Object(builtins, "builtins"), name)
        self._saw("global", source, name, builtins[name])
        return self.wrap(builtins[name], source)

    def member(self, module: types.ModuleType, name: str) -> Variable | None:
        """What a module holds under `name`, or None; guarded either way. Only a library's `__getattr__` is asked."""
        namespace = module.__dict__
        known = self.members.get((id(namespace), name))
        if known is not None and namespace.get(name, MISSING) is known[1]:
            return known[2]
        here = Object(namespace, f"{namespace.get('__name__', '?')}.__dict__")
        if name not in namespace and "__getattr__" in namespace and trace_rules.is_library(module):
            value = getattr(module, name, MISSING)  # packages load their parts on first use, and mostly keep them
            if value is not MISSING and name not in namespace:
                self._saw("attribute", Object(module, module.__name__), name, value)
                return self.wrap(value, Attr(Object(module, module.__name__), name))
        if name in namespace:
            source, value = Item(here, name), namespace[name]
            self._saw("global", source, name, value)
            found = self.wrap(value, source)
            self.members[id(namespace), name] = namespace, value, found
            return found
        self._saw("global", here, name, MISSING)
        self.output.guard(guards.LacksKey(here, name))
        return None

    def computed_member(self, frame: Any, module: types.ModuleType, name: str) -> Variable | None:
        """What the `__getattr__` of a module's class gives for a name that the module lacks; None if there is no such hook.

        Packages load their parts on first use by it, so it runs now; where it keeps nothing in the module, each call asks again.
        """
        if name in module.__dict__ or self.on_class(type(module), "__getattr__") is MISSING:
            return None
        here = Object(module, module.__name__)
        try:
            value = run_python(frame, getattr, module, name)
        except Raised:
            self.output.guard(guards.LacksAttr(here, name))
            raise
        if name in module.__dict__:
            return self.member(module, name)
        self._saw("attribute", here, name, value)
        return self.wrap(value, Attr(here, name))

    def imported(self, frame: Any, name: str, fromlist: Any, level: int) -> Variable:
        """What an import statement gives. The import itself happens now, as it would in the first call."""
        namespace = self.output.builtins
        if namespace.get("__import__") is not IMPORT:
            raise Unsupported(breaks.OUTSIDE_WORLD, "an import by a function of the program's own")
        self.output.guard(guards.IdIs(Item(Object(namespace, "builtins"), "__import__"), IMPORT))
        module = run_python(frame, __import__, name, frame.globals, None, fromlist, level)
        return self.loaded(getattr(module, "__name__", "")) or self.known(module)

    def loaded(self, name: str) -> Variable | None:
        """The module that `sys.modules` holds under `name`, or None; another one in its place is seen."""
        module = sys.modules.get(name)
        if module is None:
            return None
        source = Item(Object(sys.modules, "sys.modules"), name)
        self._saw("global", source, name, module)
        return self.wrap(module, source)

    def globals_of(self, module: types.ModuleType) -> dict:
        return module.__dict__

    def namespace_has(self, namespace: dict, name: str) -> bool:
        """Whether globals hold a name; guarded, whatever it is."""
        root = namespace is self.output.root.globals
        here = Object(namespace, f"{namespace.get('__name__', '?')}.__dict__")
        if name in namespace:
            self.output.guard_type(Global(name) if root else Item(here, name), type(namespace[name]))
            return True
        self.output.guard(guards.LacksGlobal(None, name) if root else guards.LacksKey(here, name))
        return False

    # ------------------------------------------------------------------------------------- ambient state
    def flag(self, name: str) -> int:
        """A flag of the ambient state as the frame was entered (guards.AMBIENT_FLAGS, "num_threads")."""
        changed = name == "default_dtype"  # (which the traced program may set, for its shape rules)
        state = self.output.entry_ambient & guards.AMBIENT_FLAGS[name] if changed else guards.flag(name)
        self.output.guard(guards.FlagIs(None, name, state))
        return state

    def ambient(self, mask: int = 2**64 - 1) -> int:
        """The bits of the ambient word under a mask, as the frame was entered."""
        self.output.guard(guards.AmbientIs(None, self.output.entry_ambient, mask))
        return self.output.entry_ambient & mask

    # ------------------------------------------------------------------------------------------ identity
    def same(self, source: Source, value: Any) -> None:
        """The identity of what stands at `source` was looked at."""
        self._saw("identity", source, None, value)
        if not isinstance(source, Object):
            self.output.guard(guards.IdIs(source, value))

    def equals(self, source: Source, value: Any) -> None:
        """What stands at `source` was read as a constant."""
        self._saw("value", source, None, value)
        if not isinstance(source, Object):
            self.output.guard(guards.Equals(source, value))
