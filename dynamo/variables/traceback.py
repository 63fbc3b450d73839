"""Tracebacks of exceptions that tracing raised: there is one, and what it holds only a running exception knows."""

from __future__ import annotations

import types

from dynamo import breaks
from dynamo.breaks import Unsupported
from dynamo.variables.base import TrueVariable, Variable


class TracebackVariable(TrueVariable):
    """The `__traceback__` of an exception made while tracing. It may be passed on and compared; reading it breaks."""

    __slots__ = ("exception",)

    def __init__(self, exception: Variable):
        super().__init__()
        self.exception = exception

    def python_type(self):
        return types.TracebackType

    def describe(self):
        return f"the traceback of {self.exception.describe()}"

    def is_same(self, other):
        return isinstance(other, TracebackVariable) and other.exception is self.exception

    def getattr(self, frame, name):
        raise Unsupported(breaks.RUNNING_EXCEPTION, name)

    def recipe(self, emit):
        raise Unsupported(breaks.RUNNING_EXCEPTION, "__traceback__")
