"""What code written for scripts takes from `torch._jit_internal`. What marks code for scripts leaves it as it is."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Dict, Final, List, Optional, Tuple, Union  # noqa: F401, UP035  (programs take these from here)

from weft.jit import export, fork, ignore, interface, is_scripting, unused, wait  # noqa: F401
from weft.jit.annotations import (  # noqa: F401
    BroadcastingList1,
    BroadcastingList2,
    BroadcastingList3,
    BroadcastingList4,
    BroadcastingList5,
    BroadcastingList6,
)
from weft.jit.containers import isinstance as _isinstance  # noqa: F401
from weft.jit.future import Future  # noqa: F401


def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Callable,
    if_false: Callable,
    module_name: str | None,
    func_name: str | None,
) -> Callable:
    """A function that is `if_true` or `if_false`, as its argument `arg_name` (or number `arg_index`) says."""

    def chosen(*args: Any, **kwargs: Any) -> Any:
        flag = kwargs[arg_name] if arg_name in kwargs else args[arg_index] if arg_index < len(args) else default
        return (if_true if flag else if_false)(*args, **kwargs)

    if if_true.__doc__ is not None and if_false.__doc__ is not None:
        raise RuntimeError("only one function can have a docstring")
    chosen.__doc__ = if_true.__doc__ or if_false.__doc__
    chosen.__module__ = module_name or chosen.__module__
    chosen.__name__ = func_name or chosen.__name__
    return chosen


def _unchanged(fn: Callable) -> Callable:
    """The function as it is."""
    return fn


_overload = _overload_method = _copy_to_script_wrapper = _unchanged


def is_static_fn(cls: type, fn: str) -> bool:
    """Whether the attribute of that name is a static method."""
    return isinstance(inspect.getattr_static(cls, fn, None), staticmethod)


def get_static_fn(cls: type, fn: str) -> Callable:
    """The function of a static method."""
    return inspect.getattr_static(cls, fn).__func__
