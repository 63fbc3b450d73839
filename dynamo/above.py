"""Names that the package above gives to modules here: `weft._dynamo.optimize` needs what dynamo does not know."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_homes: dict[tuple[str, str], str] = {}  # (module, name) → the module above that has it


def give(module: str, home: str, *names: str) -> None:
    """`module` (of dynamo) also has these names of the module `home`, loaded on first use."""
    _homes.update({(module, name): home for name in names})


def find(module: str, name: str) -> Any:
    """The value of a name given to a module. Raises AttributeError for others."""
    home = _homes.get((module, name))
    if home is None:
        raise AttributeError(f"module '{module}' has no attribute '{name}'")
    return getattr(import_module(home), name)


def names_of(module: str) -> list[str]:
    """The names that a module was given."""
    return [name for where, name in _homes if where == module]
