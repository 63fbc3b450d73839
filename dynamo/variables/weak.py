"""Weak references."""

from __future__ import annotations

import _operator as operator
import weakref
from typing import Any

from dynamo import breaks, outcome
from dynamo.breaks import Unsupported
from dynamo.source import Converted
from dynamo.variables.base import TrueVariable, Variable
from dynamo.variables.constant import boolean
from dynamo.variables.track import kind


class WeakReference(TrueVariable):
    """A weak reference, and what it refers to while the function runs (None: it is dead)."""

    __slots__ = ("cls", "referent", "value", "given")

    def __init__(self, cls: type, referent: Variable, value: Any = None, source=None, given: tuple[Variable, ...] = ()):
        super().__init__(source)
        self.cls = cls
        self.referent = referent
        self.value = value
        self.given = given  # what else it is made with: a function for the end of its referent, a key

    def python_type(self):
        return self.cls

    def call(self, frame, args, kwargs):
        if args or kwargs:
            raise self.unsupported("a call with arguments")
        referent, root = self.referent.realize(frame), frame.output.root
        real = getattr(referent, "value", None)
        if id(real) in root.handed and not root.holds(real):
            raise Unsupported(breaks.LIFETIME, "a weak reference to a local that was dropped")
        return referent

    def keep_hash(self) -> None:
        """Python hashes the reference here, which keeps that hash whatever becomes of the class of what it refers to."""
        real = self.value
        if real is None and self.cls is weakref.ref and not self.given:
            referent = getattr(self.referent, "value", None)
            real = None if referent is None or self.referent.source is None else weakref.ref(referent)  # (there is but one)
        if real is not None:
            hash(real)

    def getattr(self, frame, name):
        if name == "key" and self.cls is weakref.KeyedRef:
            return self.given[1] if self.source is None else frame.world.attribute(self.value, self.source, "key")
        return super().getattr(frame, name)

    def is_same(self, other):
        return self is other

    def is_same_in(self, frame, other):
        """An object has one weak reference without a function for its end, which weakref.ref() gives again."""
        if not isinstance(other, WeakReference) or (self.value is not None and other.value is not None):
            return self is other
        if self is other or not (self.is_plain(frame) and other.is_plain(frame)):
            return self is other
        return self.referent.realize(frame) is other.referent.realize(frame)

    def is_plain(self, frame) -> bool:
        if self.cls is not weakref.ref or self.given:
            return False
        return self.value is None or frame.world.attribute(self.value, self.source, "__callback__").is_same(frame.values.NONE)

    def binary(self, frame, op, other):
        if isinstance(other, WeakReference) and op in (operator.eq, operator.ne):
            a, b = self.referent.realize(frame), other.referent.realize(frame)
            dead = a.is_same(frame.values.NONE) or b.is_same(frame.values.NONE)  # (they are compared by identity then)
            return boolean((frame.ops.same(frame, self, other) if dead else frame.ops.equals(frame, a, b)) == (op is operator.eq))
        return None

    def recipe(self, emit):
        if self.source is not None:
            return emit.load(self.source)

        def make():
            return outcome.Call(outcome.Const(self.cls), (emit.value(self.referent), *map(emit.value, self.given)))

        return emit.shared(self, make)


@kind(weakref.ref, weakref.KeyedRef)
def _reference(frame, value, source):
    frame.output.guard_type(source, type(value))
    return WeakReference(type(value), frame.world.lazy(value(), Converted(source, operator.call)), value, source)
