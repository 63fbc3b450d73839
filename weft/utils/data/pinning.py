"""Batches in pinned memory: what is in them, container by container."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aten import Tensor


def pin(data: Any) -> Any:
    """The same with its tensors in pinned memory. An object that has `pin_memory()` says itself what it is then; others stay."""
    if isinstance(data, Tensor):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(pin, data))
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, Mapping):
        pinned = {k: pin(v) for k, v in data.items()}
        return pinned if type(data) is dict else type(data)(pinned)  # type: ignore[call-arg]
    if isinstance(data, Sequence):
        return type(data)(list(map(pin, data)))  # type: ignore[call-arg]
    return data
