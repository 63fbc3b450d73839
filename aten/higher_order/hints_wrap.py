"""hints_wrapper: a call that compiled code keeps in a graph of its own, with hints for the backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def hints_wrapper(
    body_fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], hints: dict[str, Any] | None = None
) -> Any:
    """body_fn(*args, **kwargs). `hints`, numbers or strings by name, are for whoever reads the graph.

    args, kwargs: tensors and numbers. Raises RuntimeError, naming the argument, for others and where `hints` are missing.
    """
    check_hints(hints)
    for name, values in (("args must be a tuple", args), ("kwargs must be a dict", list(kwargs.values()))):
        if not isinstance(values, (tuple, list)) or any(isinstance(v, (tuple, list, dict)) for v in values):
            raise RuntimeError(f"hints_wrapper - {name} of tensors, ints, floats, or bools, got {values}")
    return body_fn(*args, **kwargs)


def check_hints(hints: dict[str, Any] | None) -> None:
    """Raises RuntimeError for hints that hints_wrapper does not take."""
    if hints is None:
        raise RuntimeError("hints_wrapper - key hints not provided")
    if not isinstance(hints, dict):
        raise RuntimeError(f"hints_wrapper - hints must be a dict, got {type(hints).__name__}")
    for name, value in hints.items():
        if not isinstance(value, (int, float, bool, str)):
            raise RuntimeError(f"hints must be a dict containing int, float, bool or str value, got value {value} for key {name}.")
