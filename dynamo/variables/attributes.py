"""Attribute look-up as Python does it: the class along its MRO, descriptors, the object's own storage, the hooks.

What is found on a class is a `Found`: an object outside, or a Variable that the traced program has put on the class.
`bind` is `raw.__get__(obj, owner)`. Kinds of objects with attributes of their own call `load`, `store` and `remove`.
"""

from __future__ import annotations

import collections
import functools
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

from aten.records import record, replaced
from dynamo import breaks
from dynamo.breaks import Raised, Unsupported
from dynamo.real_objects import is_plain_key
from dynamo.source import Source
from dynamo.variables.base import NULL, Variable
from dynamo.variables.raising import run_python
from dynamo.variables.storage import Storage

C_METHODS = (types.WrapperDescriptorType, types.MethodDescriptorType)
MEMBERS = (types.MemberDescriptorType, types.GetSetDescriptorType)
FULL_TEXT = "'{0}' object has no attribute '{1}'"
FULL_NAMES = sys.version_info >= (3, 13)
NOWHERE_TEXT = FULL_TEXT + " and no __dict__ for setting new attributes" * FULL_NAMES

STAND_IN = object()  # of which a property is asked what it says of an object

readers: dict[Any, Callable] = {}  # a descriptor whose `__get__` is looked at as a value: the rule for calls of it


@record(frozen=True)
class Found:
    """What the walk along the MRO of `cls`, behind `start` if given, meets first under `name`."""

    raw: Any
    cls: type
    start: type | None
    name: str

    def source(self, frame) -> Source:
        return frame.world.class_source(self.cls, self.name, self.start)

    def value(self, frame) -> Variable:
        """The attribute itself, not bound."""
        if isinstance(self.raw, Variable):
            return self.raw.realize(frame)
        return frame.world.wrap(self.raw, self.source(frame))


def storage_of(frame, obj: Variable) -> Storage:
    """The attributes of an object."""
    storages = frame.output.side_effects.storages
    found = storages.get(obj)
    if found is None:
        found = storages[obj] = obj.make_storage()
    return found


# ------------------------------------------------------------------------------------------------ on the class
def find(frame, cls: type, name: str, start: type | None = None) -> Found | None:
    """What `cls` holds under `name` along its MRO, as the traced program has changed it; None for nothing."""
    changed = frame.output.side_effects.classes
    if changed:
        walk = frame.world.mro(cls, start)
        if any(c in changed and name in changed[c].changes for c in walk):
            return _find_changed(frame, walk, name)
    raw = frame.world.on_class(cls, name) if start is None else frame.world.after_class(cls, start, name)
    return None if raw is frame.world.MISSING else Found(raw, cls, start, name)


def _find_changed(frame, walk: tuple[type, ...], name: str) -> Found | None:
    for c in walk:
        storage = frame.output.side_effects.classes.get(c)
        stored = None if storage is None else storage.changes.get(name)
        if stored is NULL:
            continue
        if stored is not None:
            return Found(stored, c, None, name)
        if frame.world.class_has_own(c, name):
            return Found(frame.world.on_class(c, name), c, None, name)
    return None


def find_function(frame, cls: type, name: str) -> Found | None:
    """A hook written in Python: what `find` finds, unless it is C's."""
    found = find(frame, cls, name)
    return None if found is None or isinstance(found.raw, (*C_METHODS, types.BuiltinFunctionType)) else found


def claimed_class(frame, obj: Variable) -> type | None:
    """Another class that `obj.__class__` names, where the program says what that is: isinstance and super believe it."""
    cls = obj.python_type()
    if issubclass(cls, (weakref.ProxyType, weakref.CallableProxyType)):
        raise Unsupported(breaks.UNKNOWN_OPERATION, "the class of what a weak proxy refers to")
    found = find(frame, cls, "__class__")
    if find_function(frame, cls, "__getattribute__") is None and (found is None or isinstance(found.raw, MEMBERS)):
        return None
    try:
        claimed = obj.getattr(frame, "__class__").realize(frame)
    except Raised as raised:
        if issubclass(raised.value.python_type(), AttributeError):
            return None
        raise
    known = issubclass(claimed.python_type(), type)
    return claimed.as_python() if known and claimed.as_python() is not cls else None


def is_data_descriptor(frame, found: Found) -> bool:
    """Whether it is told what is set and deleted, instead of the object's own attributes."""
    return is_told(frame, kind_of(found))


def is_told(frame, cls: type) -> bool:
    """Whether objects of this class, held by another, are told what is set and deleted."""
    if cls is types.FunctionType:
        return False
    return not (frame.world.lacks(cls, "__set__") and frame.world.lacks(cls, "__delete__"))


def is_read_first(frame, found: Found) -> bool:
    """Whether it is asked before the object's own attributes: one without `__get__` stands behind them, whatever it is told."""
    return is_data_descriptor(frame, found) and not frame.world.lacks(kind_of(found), "__get__")


def kind_of(found: Found) -> type:
    return found.raw.python_type() if isinstance(found.raw, Variable) else type(found.raw)


# -------------------------------------------------------------------------------------------------------- bind
def bind(frame, found: Found, obj: Variable | None, owner: Variable) -> Variable:
    """found.raw.__get__(obj, owner); obj is None where the class itself is asked."""
    raw = found.raw
    if isinstance(raw, Variable):
        return _bind_stored(frame, found, obj, owner)
    rule = RULES.get(type(raw)) if is_plain_key(type(raw)) else None
    if rule is not None:
        return rule(frame, found, obj, owner)
    if frame.world.lacks(type(raw), "__get__"):
        return found.value(frame)
    return _bind_by_class(frame, found, found.value(frame), type(raw), obj, owner)


def unbound(frame, obj: Variable, owner: Variable | None) -> bool:
    """Whether `__get__(obj, owner)` asks for the descriptor itself. Without an owner that is an error."""
    if not obj.is_same(frame.values.NONE):
        return False
    if owner is None or owner.is_same(frame.values.NONE):
        raise Raised(frame.values.exception(TypeError, [frame.values.const("__get__(None, None) is invalid")]))
    return True


def _bind_stored(frame, found: Found, obj: Variable | None, owner: Variable) -> Variable:
    value = found.value(frame)
    cls = value.python_type()
    if cls is types.FunctionType:
        return value if obj is None else frame.values.method(value, obj)
    if frame.world.lacks(cls, "__get__"):
        return value
    return _bind_by_class(frame, found, value, cls, obj, owner)


def _bind_by_class(frame, found: Found, descriptor: Variable, cls: type, obj: Variable | None, owner: Variable):
    """A descriptor whose `__get__` is written in Python, or comes from a kind that has a rule (a class made from property)."""
    getter = find_function(frame, cls, "__get__")
    if getter is None:
        kind = next((kind for kind in frame.world.mro(cls) if is_plain_key(kind) and kind in RULES), None)
        if kind is not None and not isinstance(found.raw, Variable) and frame.world.keeps(cls, kind, ("__get__",)):
            return RULES[kind](frame, found, obj, owner)
        raise Unsupported(breaks.UNKNOWN_VALUE, f"the descriptor {found.name} of {found.cls.__name__}")
    getter_of = bind(frame, getter, descriptor, frame.world.known(cls))
    return getter_of.call(frame, [frame.values.NONE if obj is None else obj, owner], {})


RULES: dict[type, Callable] = {}  # type of a descriptor → rule(frame, found, obj, owner)


def descriptor(*kinds: type):
    def declare(rule):
        for kind in kinds:
            RULES[kind] = rule
        return rule

    return declare


@descriptor(types.FunctionType)
def _function(frame, found, obj, owner):
    function = frame.world.function(found.raw)
    return function if obj is None else frame.values.method(function, obj)


def binds_like_function(*kinds: type) -> None:
    """Callables of C that become methods as functions do."""
    for kind in kinds:
        RULES[kind] = _callable


def _callable(frame, found, obj, owner):
    value = found.value(frame)
    return value if obj is None else frame.values.method(value, obj)


binds_like_function(type(functools.lru_cache(len)))


@descriptor(property)
def _property(frame, found, obj, owner):
    if obj is None:
        return found.value(frame)
    if found.raw.fget is None:
        raise frame.values.error(frame, AttributeError, refusal(obj, lambda: found.raw.__get__(STAND_IN)))
    return frame.world.function(found.raw.fget).call(frame, [obj], {})


def refusal(obj: Variable, asked: Callable[[], Any]) -> str:
    """What a property says that lacks a function, of `obj`: only the property itself knows by which name, if any."""
    try:
        asked()
    except AttributeError as e:
        return str(e).replace(f"'{type(STAND_IN).__qualname__}' object", f"'{obj.python_type().__qualname__}' object")
    raise AssertionError("the property has the function")


@descriptor(staticmethod)
def _static(frame, found, obj, owner):
    return frame.world.function(found.raw.__func__)


@descriptor(classmethod)
def _class(frame, found, obj, owner):
    inner = found.raw.__func__
    rule = RULES.get(type(inner)) if is_plain_key(type(inner)) else None
    if rule is not None:  # (before Python 3.13 the descriptor inside is asked, with the class as its object)
        return rule(frame, replaced(found, raw=inner), owner, frame.world.known(owner.python_type()))
    return frame.values.method(frame.world.function(inner), owner)


@descriptor(functools.cached_property)
def _cached_property(frame, found, obj, owner):
    if obj is None:
        return found.value(frame)
    descriptor = found.value(frame)
    name = descriptor.getattr(frame, "attrname")
    if name.is_same(frame.values.NONE):
        raise frame.values.error(frame, TypeError, "Cannot use cached_property instance without calling __set_name__ on it.")
    storage = storage_of(frame, obj)
    value = storage.read(frame, name.as_python())  # (it may be cached under another name than the one asked for)
    if value is None:
        value = descriptor.getattr(frame, "func").call(frame, [obj], {})
        storage.write(frame, name.as_python(), value)
    return value


@descriptor(functools.partialmethod)
def _partial_method(frame, found, obj, owner):
    if obj is None:
        raise Unsupported(breaks.UNKNOWN_VALUE, f"the partialmethod {found.name} of a class")
    descriptor = found.value(frame)
    function, args, keywords = [descriptor.getattr(frame, n) for n in ("func", "args", "keywords")]
    named = {k.as_python(): keywords.getitem(frame, k) for k in keywords.unpack(frame)}
    return frame.values.PartialVariable(function, [obj, *args.unpack(frame)], named)


@descriptor(*C_METHODS)
def _c_method(frame, found, obj, owner):
    if obj is None:
        return frame.world.known(found.raw)
    return obj.c_method(frame, found.raw, found.name)


@descriptor(types.ClassMethodDescriptorType)
def _c_class_method(frame, found, obj, owner):
    return frame.world.known(found.raw.__get__(None, owner.as_python()))


@descriptor(*MEMBERS)
def _member(frame, found, obj, owner):
    return frame.world.known(found.raw) if obj is None else obj.member(frame, found.raw, found.name)


@descriptor(type(collections.namedtuple("_", "field").field))  # type: ignore[attr-defined]
def _field_of_named_tuple(frame, found, obj, owner):
    if obj is None:
        return found.value(frame)
    _, (index, _) = found.raw.__reduce__()
    return getattr(obj, "native", obj).item(frame, index)


@descriptor(types.MethodType)
def _method(frame, found, obj, owner):
    return found.value(frame)


# ------------------------------------------------------------------------------------------- load, store, remove
def no_attribute(frame, obj: Variable, name: str, template: str = FULL_TEXT) -> Raised:
    """The AttributeError of obj.name."""
    error = unchangeable(frame, obj, name, template)
    error.value.about(frame, name=frame.values.const(name), obj=obj)
    return error


def unchangeable(frame, obj: Variable, name: str, template: str = FULL_TEXT) -> Raised:
    """The AttributeError of setting or deleting obj.name, which does not tell its parts."""
    return frame.values.error(frame, AttributeError, template.format(obj.type_name(), name))


def nowhere(frame, obj: Variable, name: str) -> Raised:
    """The AttributeError of setting what neither the class of an object has nor the object can have."""
    cls = obj.python_type()
    hooked = any(find_function(frame, cls, hook) is not None for hook in ("__setattr__", "__delattr__"))
    return (no_attribute if FULL_NAMES else unchangeable)(frame, obj, name, FULL_TEXT if hooked else NOWHERE_TEXT)


def unset(frame, obj: Variable, name: str) -> Raised:
    """The AttributeError of a slot with nothing in it, which calls the class by its full name since Python 3.13."""
    return no_attribute(frame, obj, name, f"'{obj.full_type_name()}' object has no attribute '{{1}}'" if FULL_NAMES else FULL_TEXT)


def load(frame, obj: Variable, name: str) -> Variable:
    """obj.name, with the hooks `__getattribute__` and `__getattr__`."""
    cls = obj.python_type()
    hook = find_function(frame, cls, "__getattribute__")
    try:
        if hook is None:
            return load_plainly(frame, obj, name)
        return bind(frame, hook, obj, frame.world.known(cls)).call(frame, [frame.values.const(name)], {})
    except Raised as raised:
        if not issubclass(raised.value.python_type(), AttributeError):
            raise
        fallback = find(frame, cls, "__getattr__")
        if fallback is None:
            raised.value.about(frame, name=frame.values.const(name), obj=obj)
            raise
    return bind(frame, fallback, obj, frame.world.known(cls)).call(frame, [frame.values.const(name)], {})


def load_plainly(frame, obj: Variable, name: str) -> Variable:
    """object.__getattribute__(obj, name)"""
    cls = obj.python_type()
    found = find(frame, cls, name)
    if found is None or not is_read_first(frame, found):
        own = storage_of(frame, obj).read(frame, name) if frame.world.has_dict(cls) else None
        if own is not None:
            return own
        if found is None and name == "__dict__" and frame.world.has_dict(cls):  # (thread-locals)
            return storage_of(frame, obj).as_dict(frame)
        if found is None:
            raise no_attribute(frame, obj, name)
    return bind(frame, found, obj, frame.world.known(cls))


def name_given(frame, name: Variable, function: Callable = getattr) -> str:
    """The name of an attribute that `function`, getattr() or the like, is given as a value: Python refuses what is no text."""
    if not issubclass(name.python_type(), str):
        run_python(frame, function, STAND_IN, name.example(), *([None] if function in SETTERS else []))
    return name.as_python()


SETTERS = (setattr, object.__setattr__)


def store(frame, obj: Variable, name: str, value: Variable) -> None:
    """obj.name = value, with the hook `__setattr__`."""
    cls = obj.python_type()
    hook = find_function(frame, cls, "__setattr__")
    if hook is None:
        store_plainly(frame, obj, name, value)
    else:
        bind(frame, hook, obj, frame.world.known(cls)).call(frame, [frame.values.const(name), value], {})


def store_plainly(frame, obj: Variable, name: str, value: Variable) -> None:
    """object.__setattr__(obj, name, value)"""
    cls = obj.python_type()
    found = find(frame, cls, name)
    if found is not None and is_data_descriptor(frame, found):
        _store_by_descriptor(frame, found, obj, value)
    elif frame.world.has_dict(cls):
        storage_of(frame, obj).write(frame, name, value)
    elif found is None:
        raise nowhere(frame, obj, name)
    else:
        raise unchangeable(frame, obj, name, "'{0}' object attribute '{1}' is read-only")


def _store_by_descriptor(frame, found: Found, obj: Variable, value: Variable) -> None:
    raw, name = found.raw, found.name
    if isinstance(raw, property):
        if raw.fset is None:
            raise unchangeable(frame, obj, name, refusal(obj, lambda: raw.__set__(STAND_IN, None)))
        frame.world.function(raw.fset).call(frame, [obj, value], {})
    elif isinstance(raw, MEMBERS):
        obj.set_member(frame, raw, name, value)
    else:
        _call_on_descriptor(frame, found, "__set__", [obj, value])


def remove(frame, obj: Variable, name: str) -> None:
    """del obj.name, with the hook `__delattr__`."""
    cls = obj.python_type()
    hook = find_function(frame, cls, "__delattr__")
    if hook is None:
        remove_plainly(frame, obj, name)
    else:
        bind(frame, hook, obj, frame.world.known(cls)).call(frame, [frame.values.const(name)], {})


def remove_plainly(frame, obj: Variable, name: str) -> None:
    """object.__delattr__(obj, name)"""
    cls = obj.python_type()
    found = find(frame, cls, name)
    if found is not None and is_data_descriptor(frame, found):
        _remove_by_descriptor(frame, found, obj)
    elif not frame.world.has_dict(cls) and found is not None:
        raise unchangeable(frame, obj, name, "'{0}' object attribute '{1}' is read-only")
    elif not frame.world.has_dict(cls):
        raise nowhere(frame, obj, name)
    elif not storage_of(frame, obj).delete(frame, name):
        raise unchangeable(frame, obj, name)


def _remove_by_descriptor(frame, found: Found, obj: Variable) -> None:
    raw, name = found.raw, found.name
    if isinstance(raw, property):
        if raw.fdel is None:
            raise unchangeable(frame, obj, name, refusal(obj, lambda: raw.__delete__(STAND_IN)))
        frame.world.function(raw.fdel).call(frame, [obj], {})
    elif isinstance(raw, MEMBERS):
        obj.del_member(frame, raw, name)
    else:
        _call_on_descriptor(frame, found, "__delete__", [obj])


def _call_on_descriptor(frame, found: Found, special: str, args: list[Variable]) -> None:
    descriptor = found.value(frame)
    cls = descriptor.python_type()
    setter = find(frame, cls, special)
    if setter is None:
        raise frame.values.error(frame, AttributeError, special)
    if find_function(frame, cls, special) is None:
        raise Unsupported(breaks.UNKNOWN_VALUE, f"the descriptor {found.name} of {found.cls.__name__}")
    bind(frame, setter, descriptor, frame.world.known(cls)).call(frame, args, {})


__all__ = [
    "C_METHODS", "MEMBERS", "NULL", "Found", "bind", "find", "find_function", "load", "load_plainly", "no_attribute", "unset",
    "remove", "remove_plainly", "storage_of", "store", "store_plainly",
]  # fmt: skip
