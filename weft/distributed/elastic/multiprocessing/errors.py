"""Errors of a process for its launcher."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["record"]


def record(fn: Callable, error_handler: Any = None) -> Callable:
    """`fn`, whose errors a launcher would be told of; here, where none is, they are raised as they are."""

    @functools.wraps(fn)
    def main(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return main
