"""Switches of NNPACK, which weft does not use: set, read, and without effect."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

from weft.backends import switches

__all__ = ["flags", "is_available", "set_flags"]

enabled = True


def is_available() -> bool:
    """False."""
    return False


def set_flags(_enabled: bool) -> tuple[Any, ...]:
    """Sets it; returns what was before."""
    return switches.set_flags(sys.modules[__name__], {"enabled": _enabled})


def flags(enabled: bool = False) -> contextlib.AbstractContextManager[None]:
    """Within the block it has this value."""
    return switches.flags(sys.modules[__name__], {"enabled": enabled})
