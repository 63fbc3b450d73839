"""The named tuples that ops of several results return, a class an op: `max.dim` gives a `return_types.max`.

`weft.return_types` is this module's face, where the class of an op can be asked for before the op was called.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from aten import _native


def _shown(self: Any) -> str:
    """As PyTorch shows them: a field a line."""
    fields = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self))
    return f"{_native.shown_as()}.return_types.{type(self).__name__}(\n{fields})"


def _new(by_field: Any) -> Any:
    """As PyTorch makes them, of one sequence, besides field by field."""

    def __new__(cls: type, *values: Any, **named: Any) -> Any:
        if len(values) == 1 and not named and isinstance(values[0], (tuple, list)):
            values = tuple(values[0])
        return by_field(cls, *values, **named)

    return __new__


def declare(name: str, fields: str | tuple[str, ...]) -> Any:
    """The class of this name and fields, made when it is first asked for."""
    found = globals().get(name)
    if found is None or found._fields != (tuple(fields.split()) if isinstance(fields, str) else tuple(fields)):
        made: Any = namedtuple(name, fields, module="weft.return_types")
        made.__repr__ = _shown
        made.__new__ = _new(made.__new__)
        globals().setdefault(name, made)
        return made
    return found
