"""Sizes and numbers that data decides, inside of shape rules: symbols where whoever asks the rule takes them, else an error."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from aten.errors import DataDependentError


class _State(threading.local):
    """Who makes the symbols: fn(kind, greatest value or None)."""

    maker: Callable[[str, int | None], Any] | None = None


_state = _State()


class allowed:
    """Within it, the sizes that data decides are what `maker(kind, most)` gives; kind is "int" (a size) or "float"."""

    def __init__(self, maker: Callable[[str, int | None], Any] | None):
        self.maker = maker

    def __enter__(self) -> None:
        self.before, _state.maker = _state.maker, self.maker

    def __exit__(self, *exc: object) -> None:
        _state.maker = self.before


def are_allowed() -> bool:
    """Whether somebody takes sizes that data decides."""
    return _state.maker is not None


def decided(condition: Any, special: bool = False) -> bool | None:
    """A condition on sizes; None where data decides it. `special`: as if no size that data decides were 0, 1 or negative."""
    return bool(condition) if isinstance(condition, bool) else condition.shape_env.decided(condition.expr, special)


def unknown_size(what: str, most: Any = None) -> Any:
    """A size between 0 and `most` that depends on data. Raises DataDependentError, saying `what`, where nobody takes those."""
    if _state.maker is None:
        raise DataDependentError(what)
    return _state.maker("int", most if type(most) is int else None)


def unknown_number(what: str, kind: str) -> Any:
    """A number that a tensor holds, of kind "int" or "float". Raises DataDependentError, as `unknown_size`."""
    if _state.maker is None:
        raise DataDependentError(what)
    return _state.maker("number" if kind == "int" else kind, None)
