"""Marks for NVIDIA's profilers. Raises RuntimeError, as there are none without a GPU; `range` lets code run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

__all__ = ["mark", "range", "range_pop", "range_push"]


def _missing(*args: Any) -> int:
    """Raises RuntimeError."""
    raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")


range_push = range_pop = mark = _missing


@contextlib.contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A block with a name."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
