"""A value from outside that was not looked at yet, so nothing is guarded about it."""

from __future__ import annotations

from typing import Any

from dynamo.source import Source
from dynamo.variables.base import Variable


class Lazy(Variable):
    """A value from outside that was not looked at yet, so nothing is guarded about it."""

    __slots__ = ("value", "output")

    def __init__(self, value: Any, source: Source, output):
        super().__init__(source)
        self.value = value
        self.output = output

    def realize(self, frame):
        return frame.world.wrap(self.value, self.source)

    @property
    def real(self) -> Variable:
        return self.realize(self.output.current)

    def python_type(self):
        return self.real.python_type()

    def as_python(self):
        return self.real.as_python()

    def as_arg(self):
        return self.real.as_arg()

    def as_meta(self):
        return self.real.as_meta()

    def hash_key(self):
        return self.real.hash_key()

    def is_same(self, other):
        return self.real.is_same(other)

    def recipe(self, emit):
        return emit.load(self.source)
