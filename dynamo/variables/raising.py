"""How rules raise in the traced program, and what exceptions of Python itself become that run while tracing."""

from __future__ import annotations

import types

import numpy as np

from aten.errors import DataDependentError
from dynamo import breaks
from dynamo.breaks import NotConstant, Raised, Unsupported


def raise_exception(frame, cls: type, *args: str) -> Raised:
    """The Raised of cls(*args), to be raised by the caller."""
    return Raised(frame.values.exception(cls, [frame.values.literal(frame, a) for a in args]))


def quiet_numpy() -> np.errstate:
    """NumPy without warnings of overflows and the like: the program gives them, in its line and as often as it computes."""
    return np.errstate(**{name: "ignore" for name, how in np.geterr().items() if how == "warn"})  # type: ignore[arg-type]


def run_python(frame, function, *args, **kwargs):
    """function(*args, **kwargs) now, on real values; what it raises is raised by the traced program."""
    try:
        if any(issubclass(type(a), (np.generic, np.ndarray)) for a in args):  # (isinstance asks an object of the program)
            with quiet_numpy():
                return function(*args, **kwargs)
        return function(*args, **kwargs)
    except (Raised, Unsupported, NotConstant, DataDependentError):
        raise
    except Exception as e:
        raise as_raised(frame, e) from e


def as_raised(frame, e: Exception) -> Raised:
    """The Raised that stands for a real exception; Unsupported for one that is more than its arguments."""
    if isinstance(type(e).__init__, types.FunctionType):
        raise Unsupported(breaks.RUNNING_EXCEPTION, f"a {type(e).__name__}, whose class fills it in Python") from e
    plain = (str, int, float, bool, bytes, complex, type(None), tuple, list)
    args = [frame.values.literal(frame, a) if isinstance(a, plain) else frame.values.const(str(a)) for a in e.args]
    value = frame.values.exception(type(e), args)
    value.take_members(e)
    return Raised(value)


def raises(frame, cls: type, function) -> bool:
    """Whether function() raises `cls` in the traced program."""
    try:
        function()
    except Raised as r:
        if issubclass(r.value.cls, cls):
            return True
        raise
    return False
