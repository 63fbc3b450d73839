"""Functions of files that are loaded when one of them is called."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def later(file: str, name: str) -> Callable[..., Any]:
    """The function of that name of a module, which its first call imports."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(import_module(file), name)(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    return call


__all__ = ["later"]
