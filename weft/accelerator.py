"""The accelerator of this machine, whatever its kind: what `weft.cuda` has, if anything."""

from __future__ import annotations

from typing import Any

import aten
from weft import cuda

__all__ = [
    "current_accelerator", "current_device_idx", "current_device_index", "current_stream", "device_count", "device_index",
    "empty_cache", "get_memory_info", "is_available", "max_memory_allocated", "max_memory_reserved", "memory_allocated",
    "memory_reserved", "memory_stats", "reset_accumulated_memory_stats", "reset_peak_memory_stats", "set_device_idx",
    "set_device_index", "set_stream", "synchronize",
]  # fmt: skip

device_count = cuda.device_count
is_available = cuda.is_available


empty_cache = cuda.empty_cache
memory_allocated, max_memory_allocated = cuda.memory_allocated, cuda.max_memory_allocated
memory_reserved, max_memory_reserved = cuda.memory_reserved, cuda.max_memory_reserved
memory_stats, get_memory_info = cuda.memory_stats, cuda.mem_get_info
reset_peak_memory_stats, reset_accumulated_memory_stats = cuda.reset_peak_memory_stats, cuda.reset_accumulated_memory_stats
device_index = cuda.device  # a block in which that one is in use


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


current_device_idx, set_device_idx = current_device_index, set_device_index


def current_stream(device: Any = None, /) -> Any:
    _required()
    return cuda.current_stream(device)


def set_stream(stream: Any, /) -> None:
    _required()
    cuda.set_stream(stream)


def synchronize(device: Any = None, /) -> None:
    _required()
    cuda.synchronize(device)
