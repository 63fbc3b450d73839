"""The accelerator of this machine, whatever its kind: what `weft.cuda` has, if anything."""

from __future__ import annotations

from typing import Any

import aten
from weft import cuda

__all__ = ["current_accelerator", "current_device_index", "device_count", "is_available", "set_device_index", "synchronize"]

device_count = cuda.device_count
is_available = cuda.is_available


def current_accelerator(check_available: bool = False) -> Any:
    """Its device without a number, or None."""
    return aten.device("cuda") if is_available() else None


def _required() -> None:
    if not is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")


def current_device_index() -> int:
    _required()
    return cuda.current_device()


def set_device_index(device: Any, /) -> None:
    _required()
    cuda.set_device(device)


def synchronize(device: Any = None, /) -> None:
    _required()
    cuda.synchronize(device)
