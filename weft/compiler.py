"""Control of the compiler, under PyTorch's names."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from importlib import import_module
from typing import Any

from aten.compiling import is_compiling
from dynamo import trace_rules
from dynamo.backends.registry import list_backends
from weft.compilation import compile
from weft.explanation import explain

_HOME = {
    "allow_in_graph": "dynamo.decorators",
    "assume_constant_result": "dynamo.decorators",
    "substitute_in_graph": "dynamo.decorators",
    "set_stance": "dynamo.stance",
    "wrap_numpy": "weft.wrap_numpy",
    "nested_compile_region": "weft.regions",
    "save_cache_artifacts": "inductor.cache.artifacts",
    "load_cache_artifacts": "inductor.cache.artifacts",
    "get_default_backend": "weft.compilation",
    "set_default_backend": "weft.compilation",
    "keep_tensor_guards_unsafe": "weft.guard_filters",
    "skip_all_guards_unsafe": "weft.guard_filters",
    "skip_guard_on_all_nn_modules_unsafe": "weft.guard_filters",
    "skip_guard_on_globals_unsafe": "weft.guard_filters",
    "skip_guard_on_inbuilt_nn_modules_unsafe": "weft.guard_filters",
}
__all__ = [
    "compile", "cudagraph_mark_step_begin", "disable", "explain", "is_compiling", "is_dynamo_compiling", "is_exporting",
    "list_backends", "reset",
]  # fmt: skip
__all__ += _HOME


def __getattr__(name: str) -> Any:
    if name == "config":
        return import_module("dynamo.config")
    if name not in _HOME:
        raise AttributeError(f"module 'weft.compiler' has no attribute '{name}'")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, "config"})


is_dynamo_compiling = is_compiling


def cudagraph_mark_step_begin() -> None:
    """Nothing: results of recorded graphs are new tensors, which stay as they are whatever step begins."""


def is_exporting() -> bool:
    """False. While it is captured for export, a function sees True."""
    return False


def reset() -> None:
    """Forget everything compiled in this process (the disk cache stays)."""
    from dynamo import eval_frame

    eval_frame.reset()


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """`fn` left to Python: calls break the graph. With recursive=False, what it calls may still be captured.

    Also a decorator, with and without arguments. Of a Module, another one that calls it, hooks included. reason: told where
    the break is explained.
    """
    if fn is None:
        return lambda f: disable(f, recursive, reason=reason)
    if not callable(fn):
        raise AssertionError(f"disable: a function, method or Module is expected, not {type(fn).__name__}")
    from dynamo.trace_rules import DISABLED

    modules = sys.modules.get("weft.nn.module")
    if modules is not None and isinstance(fn, modules.Module):
        if recursive:
            return import_module("weft.compiled_module").DisabledModule(fn, reason)
        fn.forward = disable(fn.forward, recursive, reason=reason)
        return fn
    if isinstance(fn, types.MethodType):
        return types.MethodType(disable(fn.__func__, recursive, reason=reason), fn.__self__)
    made = _left_to_python(fn, recursive)
    made.__dict__[DISABLED] = reason or True
    return made


def _left_to_python(fn: Callable, recursive: bool) -> Callable:
    from dynamo import eval_frame

    if recursive:
        return eval_frame.disable(fn)

    @functools.wraps(fn)
    def left_to_python(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return left_to_python


@trace_rules.handle(is_exporting)
def _is_exporting(frame: Any, args: Any, kwargs: Any) -> Any:
    from dynamo.variables.constant import boolean

    return boolean(frame.output.options.export)
