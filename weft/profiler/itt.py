"""Marks for Intel's VTune, to which weft has no library."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

__all__ = ["is_available", "mark", "range", "range_pop", "range_push"]


def is_available() -> bool:
    """False."""
    return False


def mark(msg: str) -> None:
    """Raises RuntimeError: there is nobody to tell."""
    raise RuntimeError("ITT functions not installed. Are you sure you have a ITT build?")


range_push = mark


def range_pop() -> None:
    """Raises RuntimeError: there is nobody to tell."""
    mark("")


@contextlib.contextmanager
def range(msg: str, *args: object, **kwargs: object) -> Iterator[None]:
    """A range around the block. Raises RuntimeError, as `mark`."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
