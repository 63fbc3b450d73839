"""How the world reads a real object: past the hooks of its class, and past what a program has put in the place of a method.

Only `world.py` and what keeps guards alive (`loaded.py`) read through here.
"""

from __future__ import annotations

import threading
import types
from collections.abc import Callable, Iterable
from gc import get_referents
from typing import Any

import aten
from dynamo.operators import BINARY, UNARY

MISSING: Any = object()  # what a look-up gives that finds nothing
IMMUTABLE = 1 << 8  # of tp_flags: attributes of the class cannot be set (classes written in C)
IMPORT = __import__
ABSTRACT = 1 << 20  # of tp_flags: the class has abstract methods
SEQUENCE, MAPPING = 1 << 5, 1 << 6  # of tp_flags: what patterns take objects of the class for
HEAP_TYPE = 1 << 9  # of tp_flags: made while the program runs, as classes written in Python are (and some in C)
DATA = frozenset(map(id, (int, float, str, bytes, complex, tuple, list, dict, set, frozenset)))  # (addresses) no descriptors
C_FUNCTIONS = (types.WrapperDescriptorType, types.MethodDescriptorType, types.ClassMethodDescriptorType)


NOT_ASKED = ("__init__", "__new__", "__init_subclass__", "__set_name__", "__class_getitem__", "__reduce_ex__", "__reduce__")
MADE_BY_NAMEDTUPLE = dict.fromkeys(("__repr__", "_replace", "_asdict"), types.FunctionType) | {"_make": classmethod}
TUPLE_HOOKS = (
    "__getattribute__", "__getattr__", "__setattr__", "__delattr__", "__len__", "__iter__", "__getitem__", "__contains__",
    "__bool__", "__hash__", "__str__", "__format__", "__call__", "__index__", "__reversed__", "count", "index",
    *dict.fromkeys(name for row in BINARY for name in (row.dunder, row.reflected, row.inplace_dunder)),
    *(row.dunder for row in UNARY.values()),
)  # fmt: skip


def is_among(cls: type, classes: Iterable[type]) -> bool:
    """Whether a class is one of these. (`in` would ask the `__eq__` of a metaclass.)"""
    return any(c is cls for c in classes)


def _of_class(name: str) -> Callable[[type], Any]:
    """What reads an attribute that `type` gives to classes, without asking a `__getattribute__` of their metaclass."""
    return vars(type)[name].__get__


flags_of, dictoffset_of, _module, class_name, _mro, _members = map(
    _of_class, ("__flags__", "__dictoffset__", "__module__", "__qualname__", "__mro__", "__dict__")
)


def class_module(cls: type) -> str | None:
    """The name of the module where a class is from; None if it does not say so: a program may delete it, and set anything."""
    try:
        name = _module(cls)
    except AttributeError:
        return None
    return name if type(name) is str else None


def full_name(cls: type) -> str:
    """The name of a class, with its module if that is known and not that of the builtins."""
    module = class_module(cls)
    return class_name(cls) if module in (None, "builtins") else f"{module}.{class_name(cls)}"


def is_plain_key(cls: type) -> bool:
    """Whether a dict finds the class by identity: a metaclass may define `__eq__`, and have no `__hash__` then."""
    meta = type(cls)
    return meta is type or (meta.__eq__ is type.__eq__ and meta.__hash__ is type.__hash__)


def code_file(found: Any) -> str | None:
    """The file of a function written in Python, or of the one in a classmethod."""
    code = getattr(getattr(found, "__func__", found), "__code__", None)
    return None if code is None else code.co_filename


def reads_globals(code: types.CodeType) -> bool:
    """Whether code may name a global (or an attribute: they are listed together)."""
    return bool(code.co_names) or any(isinstance(c, types.CodeType) and reads_globals(c) for c in code.co_consts)


def reads_builtins(function: types.FunctionType) -> bool:
    """Whether a function may name a builtin: a name in its code is no global of its own (that of a named tuple has no builtins)."""

    def names(code: types.CodeType) -> set[str]:
        return set(code.co_names).union(*(names(c) for c in code.co_consts if isinstance(c, types.CodeType)))

    return not names(function.__code__) <= function.__globals__.keys()


def written_in_c(cls: type) -> bool:
    """Whether the class is written in C: it is static, or defines a method there. (Slots and `__dict__` say nothing: those
    of classes written in Python are C's as well.)"""
    if not flags_of(cls) & HEAP_TYPE:
        return True
    return any(
        (isinstance(v, C_FUNCTIONS) and v.__objclass__ is cls) or (isinstance(v, types.BuiltinFunctionType) and v.__self__ is cls)
        for v in members_of(cls).values()
    )


class Registered:
    """Asks an abstract class whether `cls` counts as a subclass of it."""

    __slots__ = ("cls",)

    def __init__(self, cls: type):
        self.cls = cls

    def __call__(self, base: type) -> bool:
        return issubclass(self.cls, base)


class HasFlag:
    """Asks a class whether it has a flag."""

    __slots__ = ("flag",)

    def __init__(self, flag: int):
        self.flag = flag

    def __call__(self, cls: type) -> bool:
        return bool(flags_of(cls) & self.flag)


class LacksOwn:
    """Asks an object whose dictionary is another one in each thread whether it lacks a name."""

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name

    def __call__(self, obj: Any) -> bool:
        return self.name not in (instance_dict(obj) or {})


def behind_proxy(proxy: types.MappingProxyType) -> Any:
    """The mapping that a proxy shows."""
    return get_referents(proxy)[0]


class IsEmpty:
    """Asks a descriptor of C whether an object has nothing behind it."""

    __slots__ = ("descriptor",)

    def __init__(self, descriptor: Any):
        self.descriptor = descriptor

    def __call__(self, obj: Any) -> bool:
        try:
            self.descriptor.__get__(obj)
        except AttributeError:
            return True
        return False


def names_of_class(cls: type) -> tuple[str, ...]:
    return tuple(cls.__dict__)


def mro_of(cls: type) -> tuple[type, ...]:
    return _mro(cls)


def members_of(cls: type) -> types.MappingProxyType:
    """The dictionary of a class, past its metaclass."""
    return _members(cls)


def walk(mro: tuple[type, ...], name: str) -> Any:
    for c in mro:
        members = _members(c)
        if name in members:
            return members[name]
    return MISSING


METHODS_OF_C = {id(types.MethodDescriptorType), id(types.WrapperDescriptorType)}


def method_of_c(bound: Any) -> Any:
    """The descriptor of C that a bound method is of, whatever overrides it in the class of its object, if that is known."""
    owner, name = bound.__self__, bound.__name__
    for cls in mro_of(type(owner)):
        found = members_of(cls).get(name)
        if id(type(found)) in METHODS_OF_C and found.__get__(owner) == bound:
            return found
    return None


OURS = dict(members_of(aten.Tensor))  # before a program can have put something else in the place of a method


def instance_dict(obj: Any) -> dict | None:
    """The real dictionary of an object's attributes, past any `__getattribute__`; None if it has none."""
    try:
        getter = threading.local if issubclass(type(obj), threading.local) else object
        found = getter.__getattribute__(obj, "__dict__")
    except AttributeError:
        return None
    return found if type(found) is dict else None
