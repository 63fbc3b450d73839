"""How guards hold the objects that they compare with: without keeping alive what is guarded.

A code object, on which entries hang, is not seen by the garbage collector: what an entry holds strongly, and what that
holds in turn, would live as long as the code. So classes, functions, modules and objects are referred to weakly; an entry
dies with the first of them that does. What lives as long as the interpreter, and constants, are held.
"""

from __future__ import annotations

import types
import weakref
from typing import Any

from dynamo.real_objects import HEAP_TYPE, flags_of

STRONG, WEAK, ABSENT_HERE, PARTS = range(4)  # Held of eval_frame/guard_program.h

_CONSTANTS = (str, int, bool, float, complex, bytes, tuple, frozenset, type(None), type(Ellipsis), type(NotImplemented))
_CONSTANT_IDS = frozenset(map(id, _CONSTANTS))  # (a metaclass may define `__eq__`)
# Things of a class that cannot be referred to weakly, by what they are made of. (By addresses: a metaclass may define `__eq__`.)
_PARTS: dict[int, tuple[str, ...]] = {
    id(property): ("fget", "fset", "fdel"),
    id(classmethod): ("__func__",),
    id(staticmethod): ("__func__",),
    id(types.MemberDescriptorType): ("__objclass__", "__name__"),
    id(types.GetSetDescriptorType): ("__objclass__", "__name__"),
}


class _Absent:
    """What a look-up that found nothing gives: nothing that a program holds is this."""

    def __repr__(self):
        return "ABSENT"


ABSENT = _Absent()


def lives_on(obj: Any) -> bool:
    """Whether `obj` is a constant, or lives as long as the interpreter."""
    t = type(obj)
    if t is type or issubclass(t, type):
        return not flags_of(obj) & HEAP_TYPE
    if t is types.BuiltinFunctionType:
        return obj.__self__ is None or isinstance(obj.__self__, types.ModuleType)
    return id(t) in _CONSTANT_IDS


def hold(obj: Any) -> tuple[Any, int]:
    """What the native side is given of an object that is compared by identity, and how it is to hold it."""
    if obj is ABSENT:
        return None, ABSENT_HERE
    if lives_on(obj):
        return obj, STRONG
    parts = _PARTS.get(id(type(obj)))
    if parts is not None:
        return (type(obj), *((name, getattr(obj, name)) for name in parts)), PARTS
    return obj, WEAK


class Loose:
    """An object held weakly where that can be: what the record of an entry keeps of it, for explanations."""

    __slots__ = ("reference",)

    def __init__(self, obj: Any):
        try:
            self.reference = weakref.ref(obj, id)  # one of our own, for the program's keeps a hash; `id` does nothing
        except TypeError:
            self.reference = lambda: obj

    @property
    def is_weak(self) -> bool:
        return isinstance(self.reference, weakref.ref)

    def __call__(self) -> Any:
        return self.reference()

    @staticmethod
    def of(obj: Any) -> Any:
        """`obj` if it lives on, else a Loose."""
        return obj if obj is ABSENT or type(obj) is Loose or lives_on(obj) else Loose(obj)
