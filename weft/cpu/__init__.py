"""The CPU by the names that devices have: one of them, never behind."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib import import_module
from typing import Any

__all__ = ["current_device", "current_stream", "device_count", "is_available", "set_device", "stream", "synchronize"]


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


class Stream:
    """The one queue of the CPU."""


_stream = Stream()


def current_stream(device: Any = None) -> Stream:
    return _stream


@contextlib.contextmanager
def stream(stream: Stream) -> Iterator[None]:
    yield


def __getattr__(name: str) -> Any:
    if name == "amp":
        return import_module("weft.cpu.amp")
    raise AttributeError(f"module 'weft.cpu' has no attribute {name!r}")
