"""Questions about modes and types."""

from __future__ import annotations

from typing import Any, TypeVar

T = TypeVar("T")


def all_same_mode(modes: Any) -> bool:
    """Whether the modes are one."""
    modes = tuple(modes)
    return all(mode == modes[0] for mode in modes)
