"""A frame for what has none: ops and functions of C that are compiled by themselves."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from aten.scalar.unpatched import functools


def calling(fn: Callable) -> types.FunctionType:
    """A function that calls `fn`, with a code object of its own, which what is compiled belongs to."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    call.__code__ = call.__code__.replace(co_name=getattr(fn, "__name__", "call"))
    return functools.update_wrapper(call, fn, updated=())
