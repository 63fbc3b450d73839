"""The CPU by the names that devices have: one of them, never behind."""

from __future__ import annotations

import contextlib
from importlib import import_module
from typing import Any

__all__ = [
    "Event", "Stream", "StreamContext", "current_device", "current_stream", "device_count", "is_available", "is_initialized",
    "set_device", "stream", "synchronize",
]  # fmt: skip


def is_available() -> bool:
    return True


def device_count() -> int:
    return 1


def current_device() -> str:
    return "cpu"


def set_device(device: Any) -> None:
    """There is one."""


def synchronize(device: Any = None) -> None:
    """Nothing is ever pending."""


def is_initialized() -> bool:
    return True


class Stream:
    """The one queue of the CPU: what was queued is done."""

    def __init__(self, priority: int = -1) -> None:
        """The priority is of no use: there is one queue."""

    def wait_stream(self, stream: Any) -> None:
        """Nothing is ever pending."""

    wait_event = wait_stream

    def record_event(self) -> None:
        """There is nothing to wait for."""


class Event:
    """A point in the queue, which has been reached."""

    def query(self) -> bool:
        return True

    def record(self, stream: Any = None) -> None:
        """It is reached at once."""

    def synchronize(self) -> None:
        """It is reached already."""

    wait = record


_stream = Stream()


def current_stream(device: Any = None) -> Stream:
    return _stream


class StreamContext(contextlib.nullcontext):
    """The block in which `stream` is current, as it always is."""

    def __init__(self, stream: Any) -> None:
        super().__init__()
        self.stream = stream


def stream(stream: Any) -> StreamContext:
    """A block in which `stream` is current."""
    return StreamContext(stream)


def __getattr__(name: str) -> Any:
    if name == "amp":
        return import_module("weft.cpu.amp")
    raise AttributeError(f"module 'weft.cpu' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), "amp"})
