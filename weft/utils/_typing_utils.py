"""Values whose types are known better than they are written."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def not_none(obj: T | None) -> T:
    """`obj`, which is there. TypeError for None."""
    if obj is None:
        raise TypeError("Invariant encountered: value was None when it should not be")
    return obj
