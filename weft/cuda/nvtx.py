"""Marks for NVIDIA's profilers, whose library is not loaded: with a GPU the functions only count, without one they raise
RuntimeError."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from weft.cuda.devices import is_available

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


class _Open(threading.local):
    """How many ranges this thread has pushed, and started."""

    pushed = started = 0


_open = _Open()


def _needs_a_device() -> None:
    if not is_available():
        raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")


def range_push(msg: str) -> int:
    """Opens a range; how many are open around it."""
    _needs_a_device()
    _open.pushed += 1
    return _open.pushed - 1


def range_pop() -> int:
    """Closes the range that was opened last; how many are open still, -1 where none was."""
    _needs_a_device()
    _open.pushed = max(_open.pushed - 1, -1)
    found = _open.pushed
    _open.pushed = max(_open.pushed, 0)
    return found


def range_start(msg: str) -> int:
    """Opens a range that may end in another thread; its number."""
    _needs_a_device()
    _open.started += 1
    return _open.started


def range_end(range_id: int) -> None:
    """Closes the range of that number."""
    _needs_a_device()


def mark(msg: str) -> None:
    """An instant."""
    _needs_a_device()


@contextlib.contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A block with a name."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
