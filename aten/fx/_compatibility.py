"""The mark that libraries put on functions whose meaning stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def compatibility(is_backward_compatible: bool) -> Callable[[Any], Any]:
    """A decorator that leaves functions and classes as they are, and notes in their doc what is promised of them."""
    note = "stays as it is from version to version" if is_backward_compatible else "may change between versions"

    def mark(fn: Any) -> Any:
        fn.__doc__ = f"{(fn.__doc__ or '').rstrip()}\n\n    This {note}.\n"
        return fn

    return mark
