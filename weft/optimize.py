"""`weft._dynamo.optimize` and `run`: compiling under the names that came before weft.compile."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from dynamo import _eval_frame, config, trace_rules
from dynamo._eval_frame import CompiledFunction
from dynamo.backends.registry import lookup_backend
from dynamo.capture_config import Config, intern_config
from dynamo.stance import Stance, take
from weft import compilation


class OptimizeContext:
    """optimize(…)(f) is f compiled. Also `with optimize(…):`, in which every function that starts is compiled."""

    def __init__(self, config: Config):
        self.config = intern_config(config)
        self._before: list[Any] = []

    def __call__(self, fn: Any) -> Any:
        if not callable(fn):
            raise AssertionError(f"A callable function is expected, but {type(fn)} is provided.")
        return compilation.compiled(fn, self.config)

    def __enter__(self) -> None:
        if config.raise_on_ctx_manager_usage:
            raise RuntimeError(
                "optimize(…) is a decorator: weft.compile(f) compiles one function and what it calls. "
                "weft._dynamo.config.raise_on_ctx_manager_usage = False allows `with optimize(…):`"
            )
        self._before.append(_eval_frame.enter(self.config))

    def __exit__(self, *exc: Any) -> None:
        _eval_frame.leave(self._before.pop())


def optimize(
    backend: str | Callable = "inductor", *, nopython: bool = False, disable: bool = False, dynamic: bool | None = None
) -> Any:
    """A decorator that compiles: optimize(backend)(f) is weft.compile(f, backend=backend, fullgraph=nopython).

    Raises InvalidBackend for an unknown backend.
    """
    if disable:
        return lambda fn: fn
    return OptimizeContext(Config(_named(backend), nopython, dynamic))


def optimize_assert(backend: str | Callable, *, dynamic: bool | None = None) -> OptimizeContext:
    """The same with fullgraph: what cannot be captured whole raises Unsupported."""
    return OptimizeContext(Config(_named(backend), True, dynamic))


def _named(backend: str | Callable) -> Callable:
    return lookup_backend(backend)


def run(fn: Any = None) -> Any:
    """`fn` with what is compiled of it already; nothing new is compiled in its calls. Also a decorator."""
    if fn is None:
        return run
    if not callable(fn):
        raise AssertionError(f"run expects a callable, not {type(fn).__name__}")
    compiled, function = (fn.config, fn.__wrapped__) if isinstance(fn, CompiledFunction) else (None, fn)

    @functools.wraps(function, updated=())
    def run_only(*args: Any, **kwargs: Any) -> Any:
        known = compiled
        if known is None and isinstance(function, types.FunctionType):
            known = next((entry.config for entry in _eval_frame.entries(function.__code__)), None)
        if known is None:
            return _under_stance(function, args, kwargs)
        before = _eval_frame.enter(known, True)
        try:
            return function(*args, **kwargs)
        finally:
            _eval_frame.leave(before)

    trace_rules.mark(run_only, lambda frame, args, kwargs: frame.world.known(function).call(frame, args, kwargs))
    return run_only


def _under_stance(fn: Callable, args: tuple, kwargs: dict) -> Any:
    before = take(Stance("eager_on_recompile"))
    try:
        return fn(*args, **kwargs)
    finally:
        take(before)
