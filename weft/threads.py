"""Threads, and denormal numbers."""

from __future__ import annotations

from aten import _native
from aten.library_threads import set_library_threads

__all__ = ["get_num_interop_threads", "get_num_threads", "set_flush_denormal", "set_num_interop_threads", "set_num_threads"]

_interop = {"threads": 1}
get_num_threads = _native.get_num_threads


def _count(value: int, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise RuntimeError(f"{what} expects an int, but got {type(value).__name__}")
    if value < 1:
        raise RuntimeError(f"{what} expects a positive integer")
    return value


def set_num_threads(int: int, /) -> None:
    """How many threads an op may use."""
    n = _count(int, "set_num_threads")
    _native.set_num_threads(n)
    set_library_threads(n)


def get_num_interop_threads() -> int:
    """How many ops run at a time: what was set, 1 at first; weft runs one."""
    return _interop["threads"]


def set_num_interop_threads(int: int, /) -> None:
    """Kept and answered; ops run one after the other."""
    _interop["threads"] = _count(int, "set_num_interop_threads")


def set_flush_denormal(mode: bool, /) -> bool:
    """Whether denormal numbers are taken as zero: False is what weft always does; True is not supported and answers False."""
    if not isinstance(mode, bool):
        raise RuntimeError(f"flush_denormal expects a bool, but got {type(mode).__name__}")
    return not mode
