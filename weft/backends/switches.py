"""Switches that are attributes of a module, set for a block."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import ModuleType
from typing import Any


class Verbose:
    """A block in which a library would tell of its calls: weft calls none."""

    def __init__(self, level: int) -> None:
        self.level = self.enable = level

    def __enter__(self) -> Verbose:
        return self

    def __exit__(self, *exc: object) -> None:
        """Nothing was set."""


def set_flags(module: ModuleType, values: dict[str, Any]) -> tuple[Any, ...]:
    """Sets attributes of `module`, but for values of None; returns those before, in order."""
    before = tuple(getattr(module, name) for name in values)
    for name, value in values.items():
        if value is not None:
            setattr(module, name, value)
    return before


@contextlib.contextmanager
def flags(module: ModuleType, values: dict[str, Any]) -> Iterator[None]:
    """Within the block, attributes of `module` have these values."""
    before = dict(zip(values, set_flags(module, values)))
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)
