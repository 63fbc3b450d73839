"""Builtin functions that this package's own code calls, and that a program has replaced: nothing can be traced meanwhile."""

from __future__ import annotations

import builtins
from operator import is_

_USED = (
    "all any callable dict enumerate filter float frozenset getattr hasattr hash id int isinstance issubclass iter len list map "
    "max min next object range repr reversed set setattr slice sorted str sum super tuple type vars zip bool bytes delattr "
    "__import__"
)
_ORIGINAL = {name: vars(builtins)[name] for name in _USED.split()}
_all, _map, _vars = all, map, vars


def replaced_builtin() -> str | None:
    """The name of one that is not what it was when weft was imported."""
    now = _vars(builtins)
    if _all(_map(is_, _map(now.get, _ORIGINAL), _ORIGINAL.values())):
        return None
    for name, original in _ORIGINAL.items():
        if now.get(name) is not original:
            return name
    return None


__all__ = ["replaced_builtin"]
