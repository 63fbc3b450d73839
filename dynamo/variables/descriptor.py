"""Descriptors of C that hold data, as values: `Tensor.shape`, `Class.slot`."""

from __future__ import annotations

import types
from typing import Any

from dynamo.variables import attributes
from dynamo.variables.base import TrueVariable, method
from dynamo.variables.track import kind


class DescriptorVariable(TrueVariable):
    """A descriptor found on a class, known by identity."""

    __slots__ = ("value",)

    def __init__(self, value: Any, source=None):
        super().__init__(source)
        self.value = value

    def python_type(self):
        return type(self.value)

    def as_python(self):
        return self.value

    def getattr(self, frame, name):
        if name in ("__name__", "__qualname__", "__objclass__", "__doc__"):
            return frame.world.known(getattr(self.value, name))
        if name == "__get__" and self.value in attributes.readers:
            return frame.world.known(self.value.__get__)
        return super().getattr(frame, name)

    @method("__get__")
    def get(self, frame, obj, owner=None):
        if attributes.unbound(frame, obj, owner):
            return self
        name = self.value.__name__
        if frame.world.on_class(obj.python_type(), name) is not self.value:
            if not frame.world.inherits(obj.python_type(), self.value.__objclass__):
                raise frame.ops.refused(frame, lambda value: self.value.__get__(value), obj)
            raise self.unsupported("__get__() of what its class overrides")
        found = attributes.find(frame, obj.python_type(), name)
        if isinstance(obj, frame.values.TensorVariable):
            return obj.getattr(frame, name)
        return attributes.bind(frame, found, obj, frame.world.known(obj.python_type()))

    def recipe(self, emit):
        return emit.load(self.source)


@kind(types.GetSetDescriptorType, types.MemberDescriptorType)
def _descriptor(frame, value, source):
    frame.world.same(source, value)
    return DescriptorVariable(value, source)
