"""contextvars.ContextVar: reading one. What it holds is guarded; setting one is left to Python."""

from __future__ import annotations

import contextvars
from typing import Any

from dynamo.breaks import Raised
from dynamo.source import Converted
from dynamo.variables.base import TrueVariable, attribute, method
from dynamo.variables.track import kind

UNSET: Any = NotImplemented  # (a constant by identity, which nobody keeps in a variable)


class ContextVariable(TrueVariable):
    __slots__ = ("value",)

    def __init__(self, value: contextvars.ContextVar, source=None):
        super().__init__(source)
        self.value = value

    def python_type(self):
        return contextvars.ContextVar

    def as_python(self):
        return self.value

    @attribute("name")
    def name(self, frame):
        return frame.values.const(self.value.name)

    @method("get")
    def get(self, frame, default=None):
        found = frame.world.wrap(current(self.value), Converted(self.source, current))
        if not (isinstance(found, frame.values.ConstantVariable) and found.value is UNSET):
            return found
        if default is None:
            raise Raised(frame.values.exception(LookupError, [self]))
        return default

    def recipe(self, emit):
        return emit.load(self.source)


def current(variable: contextvars.ContextVar) -> Any:
    """What the variable holds in the context of the thread (its default included); UNSET for nothing."""
    try:
        return variable.get()
    except LookupError:
        return UNSET


@kind(contextvars.ContextVar)
def _context_variable(frame, value, source):
    frame.world.same(source, value)
    return ContextVariable(value, source)
