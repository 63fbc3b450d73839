"""Switches of oneDNN, which weft does not use: set, read, and without effect."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

from weft.backends import switches

__all__ = ["flags", "is_available", "set_flags", "verbose"]
verbose = switches.Verbose

VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = 0, 1, 2
enabled = True
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """False."""
    return False


def set_flags(_enabled: bool | None = None, _deterministic: bool | None = None, _allow_tf32: bool | None = None) -> tuple[Any, ...]:
    """Sets those that are not None; returns all before."""
    values = {"enabled": _enabled, "deterministic": _deterministic, "allow_tf32": _allow_tf32}
    return switches.set_flags(sys.modules[__name__], values)


def flags(enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the block the switches have these values."""
    values = {"enabled": enabled, "deterministic": deterministic, "allow_tf32": allow_tf32}
    return switches.flags(sys.modules[__name__], values)
