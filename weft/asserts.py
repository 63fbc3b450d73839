"""Checks inside of models, as functions."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from aten import Tensor
from aten.symbolic.checked import holds

__all__ = ["_assert", "_assert_async", "_check", "_check_index", "_check_is_size", "_check_not_implemented", "_check_tensor_all",
           "_check_type", "_check_value", "_check_with"]  # fmt: skip


def _assert(condition: Any, message: str) -> None:
    """Raises AssertionError with `message` unless `condition` holds."""
    assert condition, message


def _assert_async(input: Tensor, assert_msg: str | None = None) -> None:
    """Raises RuntimeError unless the one element of `input` is true."""
    if input.numel() != 1:
        count = "no values" if input.numel() == 0 else "more than one value"
        raise RuntimeError(f"Boolean value of Tensor with {count} is ambiguous")
    if not input.item():
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


def _check_with(error: type[Exception], cond: bool, message: Callable[[], str] | None = None) -> None:
    """Raises `error`, with the text that `message()` gives, unless `cond` holds."""
    if not isinstance(cond, builtins.bool) and not hasattr(cond, "node"):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if holds(cond):
        return
    if message is None:
        raise error("Expected cond to be True, but got False.")
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error(str(message()))


def _check(cond: bool, message: Callable[[], str] | None = None) -> None:
    """Raises RuntimeError unless `cond` holds."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond: bool, message: Callable[[], str] | None = None) -> None:
    """Raises IndexError unless `cond` holds."""
    _check_with(IndexError, cond, message)


def _check_value(cond: bool, message: Callable[[], str] | None = None) -> None:
    """Raises ValueError unless `cond` holds."""
    _check_with(ValueError, cond, message)


def _check_type(cond: bool, message: Callable[[], str] | None = None) -> None:
    """Raises TypeError unless `cond` holds."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: bool, message: Callable[[], str] | None = None) -> None:
    """Raises NotImplementedError unless `cond` holds."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i: Any, message: Callable[[], str] | None = None, *, max: Any = None) -> None:
    """Raises RuntimeError unless `i` may be a size."""
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_tensor_all(cond: Tensor, message: Callable[[], str] | None = None) -> None:
    """Raises RuntimeError unless every element of the bool tensor is true."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype.name != "bool":
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check(bool(cond.all()), message)
