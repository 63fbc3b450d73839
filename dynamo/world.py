"""The one door to what lies outside of a traced program: looking at something through it guards what was seen.

Reading and guarding are one act here, and *found* and *absent* are both answers that hold only as long as they hold.
Every other file of dynamo asks the World: no other touches a real object (a test reads the sources). What may be known
without asking cannot change: constants, and the layout of classes written in C.

Each read may be listened to (`listen`): the mutation fuzzer changes everything that was read, one thing at a time.
"""

from __future__ import annotations

import sys
import threading
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dynamo import _eval_frame, breaks, guards, trace_rules
from dynamo.breaks import Raised, Unsupported
from dynamo.classes_seen import ClassesSeen
from dynamo.dict_paths import DictPaths, dict_of_instance
from dynamo.held import lives_on
from dynamo.real_objects import (
    IMPORT,
    MISSING,
    IsEmpty,
    LacksOwn,
    instance_dict,
    reads_builtins,
    reads_globals,
)
from dynamo.source import Attr, Builtin, ClassAttr, Converted, Global, InstanceDict, Item, Object, Source
from dynamo.variables import track
from dynamo.variables.base import Variable
from dynamo.variables.hashed import HashedKey, StoredHashes, asks_program
from dynamo.variables.lazy import Lazy
from dynamo.variables.raising import run_python

if TYPE_CHECKING:
    from dynamo.output_graph import OutputGraph


def is_loaded(name: str, fromlist: Any, level: int) -> bool:
    """Whether an import finds all in modules that are there."""
    module = None if level else sys.modules.get(name)
    return type(module) is types.ModuleType and all(part in module.__dict__ for part in fromlist or ())


BOUND_BY_C = (types.BuiltinMethodType, types.MethodWrapperType)

listen: Callable[[str, Source, Any, Any], None] | None = None  # told (kind of read, source, name or key, value)


class World(ClassesSeen):
    """What one capture sees of the world. `output` collects the guards."""

    QUOTED = sys.version_info >= (3, 12)  # whether abstract methods stand in quotes where objects cannot be made

    __slots__ = ("names", "members", "paths")
    MISSING = MISSING

    def __init__(self, output: OutputGraph):
        super().__init__(output)
        # What was read of globals, and of modules, by the ids of their dictionaries: (dictionary, real value, Variable).
        self.names: dict[tuple[int, str], tuple[dict, Any, Variable]] = {}
        self.members = dict(self.names)
        self.paths = DictPaths(output)

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

    # ------------------------------------------------------------------------------------------ identity
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

    # ----------------------------------------------------------------------------------------- instances
    def own_attribute(self, obj: Any, source: Source, name: str) -> Variable | None:
        """What the instance's own dictionary holds under `name`, or None; guarded either way."""
        values = instance_dict(obj)
        if values is None:
            return None
        if id(values) in self.output.by_id:  # as the traced program has changed it
            known: Any = self.own_dict(obj, source)
            return known.entries[name][1].realize(self.output.current) if name in known.entries else None
        if self.paths.look(values, source, obj, name):
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

    def looks_into(self, obj: Any, source: Source, where: str, values: dict, name: str) -> bool:
        """Whether the dict that an instance has under `where` has a name; not guarded."""
        self.paths.look(instance_dict(obj) or {}, source, obj, where)
        return self.paths.look(values, Item(InstanceDict(source), where), None, name)

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
        if len(set(hashes)) < len(hashes) and any(map(asks_program, found)):  # (they may be equal by now: Python does not ask)
            raise Unsupported(breaks.UNKNOWN_VALUE, "a container with keys of one hash, which the program compares")
        if places:
            self.output.guard(guards.Equals(Converted(source, StoredHashes(places)), tuple([hashes[i] for i in places])))
        return list(zip(found, keys))

    def makes_as_object(self, cls: type) -> bool:
        """Whether C makes instances of a class as of object; guarded. (One whose `__new__` was taken away is not made so again.)"""
        answer = _eval_frame.makes_as_object(cls)
        self.output.guard(guards.MakesAsObject(Object(cls), answer))
        return answer

    def check_order_is_known(self, ordered: Any) -> None:
        """An OrderedDict asks its keys for their hashes where it is iterated over."""
        for cls in {id(type(k)): type(k) for k in dict.keys(ordered)}.values():
            found = self.on_class(cls, "__hash__")
            if isinstance(found, types.FunctionType) and not trace_rules.is_library(found):
                raise Unsupported(breaks.UNKNOWN_VALUE, "an OrderedDict whose keys have a __hash__ of their own")

    def has_own(self, obj: Any, source: Source, name: str) -> bool:
        """Whether the instance's own dictionary holds something under `name`; guarded, whatever it holds."""
        values = instance_dict(obj)
        if values is None:
            return False
        if not self.paths.look(values, source, obj, name):
            self.output.guard(guards.LacksInstanceAttr(source, name))
            return False
        self.output.guard_type(Item(InstanceDict(source), name), type(values[name]))
        return True

    def own_dict(self, obj: Any, source: Source) -> Variable:
        """The instance's `__dict__` itself."""
        return self.wrap(instance_dict(obj), dict_of_instance(source, obj))

    def changes(self, obj: Any, source: Source) -> None:
        """An attribute of an object is about to be changed."""
        values = instance_dict(obj)
        if values is not None:
            self.paths.met(values, source, obj)

    def known_dict(self, obj: Any, source: Source) -> Variable | None:
        """The Variable of the instance's `__dict__`, if the program came by it already in another way."""
        values = instance_dict(obj)
        return self.own_dict(obj, source) if values is not None and self.paths.is_shared(values, source) else None

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
        if isinstance(source, Object) and isinstance(obj, BOUND_BY_C) and not lives_on(obj):  # made by this very read: it is gone
            return self.known(getattr(obj, name)) if hasattr(obj, name) else None
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
        if id(values) in self.output.by_id:  # as the traced program has changed it
            return {k.as_python(): v for k, v in self.wrap(values, here).pairs(self.output.current)}  # type: ignore[attr-defined]
        for name in values:
            self.paths.look(values, here, None, name)
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
        self.paths.check_names(namespace)
        known = self.names.get((id(namespace), name))
        if known is not None and namespace.get(name, MISSING) is known[1]:
            return known[2]
        root = namespace is self.output.root.globals
        here = Object(namespace, f"{namespace.get('__name__', '?')}.__dict__")
        self.paths.look(namespace, here, None, name)
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
        self.paths.check_names(builtins)
        stored = self.output.side_effects.global_value(builtins, name)  # by `builtins.name = …`
        if stored is not None or name not in builtins:
            return stored
        source = Builtin(name) if root else Item(Object(builtins, "builtins"), name)
        self._saw("global", source, name, builtins[name])
        return self.wrap(builtins[name], source)

    def member(self, module: types.ModuleType, name: str) -> Variable | None:
        """What a module holds under `name`, or None; guarded either way. Only a library's `__getattr__` is asked."""
        namespace = module.__dict__
        self.paths.check_names(namespace)
        known = self.members.get((id(namespace), name))
        if known is not None and namespace.get(name, MISSING) is known[1]:
            return known[2]
        here = Object(namespace, f"{namespace.get('__name__', '?')}.__dict__")
        self.paths.look(namespace, here, None, name)
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
        if namespace.get("__import__") is not IMPORT or self.output.side_effects.global_value(namespace, "__import__") is not None:
            raise Unsupported(breaks.OUTSIDE_WORLD, "an import by a function of the program's own")
        self.output.guard(guards.IdIs(Item(Object(namespace, "builtins"), "__import__"), IMPORT))
        self.paths.check_names(sys.modules)
        if self.output.side_effects.dirty and not is_loaded(name, fromlist, level):
            raise Unsupported(breaks.OUTSIDE_WORLD, "an import that runs a module, behind changes that it could see,")
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
        self.paths.look(namespace, here, None, name)
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
