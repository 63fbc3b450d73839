"""Switches of cuDNN, which weft does not use: set, read, and without effect."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

from weft.backends import switches

__all__ = ["flags", "is_acceptable", "is_available", "set_flags", "version"]

enabled = True
benchmark = False
benchmark_limit: int | None = None
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """False."""
    return False


def version() -> int | None:
    """None."""
    return None


def is_acceptable(tensor: Any) -> bool:
    """Whether cuDNN would be used on `tensor`: never."""
    return False


def _values(*given: Any) -> dict[str, Any]:
    return dict(zip(("enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32"), given))


def set_flags(
    _enabled: bool | None = None,
    _benchmark: bool | None = None,
    _benchmark_limit: int | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
) -> tuple[Any, ...]:
    """Sets those that are not None; returns all before."""
    values = _values(_enabled, _benchmark, _benchmark_limit, _deterministic, _allow_tf32)
    return switches.set_flags(sys.modules[__name__], values)


def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
) -> contextlib.AbstractContextManager[None]:
    """Within the block the switches have these values."""
    return switches.flags(sys.modules[__name__], _values(enabled, benchmark, benchmark_limit, deterministic, allow_tf32))
