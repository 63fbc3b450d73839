"""fx.wrap: functions that symbolic_trace does not look into; a call with Proxies is one node."""

from __future__ import annotations

import builtins
import contextlib
import functools
import inspect
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

_wrapped: dict[tuple[int, str], dict[str, Any]] = {}  # (globals, name) → globals


def wrap(fn_or_name: str | Callable) -> Any:
    """Marks a function of this module, given by itself or its name, as one that traces keep as a call. Also a decorator.

    Raises RuntimeError for anything else, NotImplementedError where it is not called at the top level of a module.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    name = fn_or_name if isinstance(fn_or_name, str) else getattr(fn_or_name, "__name__", None)
    if name is None or name == "<lambda>":
        raise RuntimeError("wrap takes a function that has a name in its module")
    caller = inspect.currentframe().f_back
    if caller.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped[id(caller.f_globals), name] = caller.f_globals
    return fn_or_name


def _has_proxy(value: Any, proxy: type) -> bool:
    if isinstance(value, (tuple, list)):
        return any(_has_proxy(v, proxy) for v in value)
    if isinstance(value, dict):
        return any(_has_proxy(v, proxy) for v in value.values())
    return isinstance(value, proxy)


def _recorder(original: Callable, proxy: type, record: Callable) -> Callable:
    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if _has_proxy((args, kwargs), proxy):
            return record("call_function", original, args, kwargs)
        return original(*args, **kwargs)

    return call


def _functional() -> Iterator[tuple[str, dict[str, Any]]]:
    """The functions of nn.functional that are written in Python, and where they stand: calls of them are nodes as well."""
    module = sys.modules.get("weft.nn.functional")
    for name, value in [] if module is None else list(vars(module).items()):
        if isinstance(value, types.FunctionType) and not name.startswith("_"):
            yield name, vars(module)


@contextlib.contextmanager
def kept(proxy: type, record: Callable) -> Iterator[None]:
    """Within the block calls of wrapped functions, and of those of nn.functional, with a `proxy` among their arguments are given
    to `record`."""
    replaced = []
    for name, names in [*((name, names) for (_, name), names in _wrapped.items()), *_functional()]:
        original = names.get(name, getattr(builtins, name, None))
        if callable(original):
            replaced.append((names, name, names.get(name)))
            names[name] = _recorder(original, proxy, record)
    try:
        yield
    finally:
        for names, name, before in reversed(replaced):
            if before is None:
                del names[name]
            else:
                names[name] = before
