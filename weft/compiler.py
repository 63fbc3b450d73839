"""Control of the compiler, under PyTorch's names."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any

from aten.compiling import is_compiling
from dynamo.backends import names as list_backends
from weft.compilation import compile
from weft.explanation import explain

__all__ = ["compile", "disable", "explain", "is_compiling", "is_dynamo_compiling", "list_backends", "reset"]


is_dynamo_compiling = is_compiling


def reset() -> None:
    """Forget everything compiled in this process (the disk cache stays)."""
    from dynamo import eval_frame

    eval_frame.reset()


def disable(fn: Any = None, recursive: bool = True) -> Any:
    """`fn` left to Python: calls break the graph. With recursive=False, what it calls may still be captured.

    Also a decorator, with and without arguments.
    """
    if fn is None:
        return lambda f: disable(f, recursive)
    from dynamo.trace_rules import DISABLED

    modules = sys.modules.get("weft.nn.module")
    if modules is not None and isinstance(fn, modules.Module):
        fn.forward = disable(fn.forward, recursive)
        return fn
    if isinstance(fn, types.MethodType):
        return types.MethodType(disable(fn.__func__, recursive), fn.__self__)
    made = _left_to_python(fn, recursive)
    made.__dict__[DISABLED] = True
    return made


def _left_to_python(fn: Callable, recursive: bool) -> Callable:
    from dynamo import eval_frame

    if recursive:
        return eval_frame.disable(fn)

    @functools.wraps(fn)
    def left_to_python(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return left_to_python
