"""How compiled functions behave from now on: compiled as usual, left to Python, only where compiled already …"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from dynamo import _eval_frame, trace_rules
from dynamo.backends.registry import lookup_backend
from dynamo.capture_config import Config, intern_config
from dynamo.forbidden import forbidden

# what the native side does → see compiled_function.cpp
NATIVE = {"default": "compile", "force_eager": "eager", "eager_on_recompile": "run_only", "fail_on_recompile": "compile"}


class Stance:
    """One stance: its name, the backend that it forces (None: none), and whether what is not compiled yet is an error."""

    __slots__ = ("name", "backend", "skip_guard_eval_unsafe")

    def __init__(self, name: str = "default", backend: Callable | None = None, skip_guard_eval_unsafe: bool = False):
        self.name = name
        self.backend = backend
        self.skip_guard_eval_unsafe = skip_guard_eval_unsafe

    def __repr__(self) -> str:
        return f"Stance({self.name!r})" if self.backend is None else f"Stance({self.name!r}, backend={self.backend!r})"


current = Stance()


def take(stance: Stance) -> Stance:
    """Take a stance; returns the one before."""
    global current
    if _eval_frame.active_config() is not None:
        raise RuntimeError("attempting to use set_stance in a torch.compile region")
    before, current = current, stance
    _eval_frame.set_stance("forced" if stance.backend is not None else NATIVE[stance.name])
    return before


def forced_config(config: Config) -> Config:
    """What a function is compiled for while the stance forces a backend."""
    if current.backend is None or config.backend is current.backend:
        return config
    return intern_config(Config(current.backend, config.fullgraph, config.dynamic, config.options, config.limit))


class set_stance:
    """How calls of compiled functions behave from now on; within a `with` block; or in the calls of what it decorates.

    stance: "default"; "force_eager" (compiled functions run as Python); "eager_on_recompile" (what is compiled already is
    used, other calls run eager); "fail_on_recompile" (they raise RuntimeError). force_backend: the backend, by name or
    callable, that everything is compiled with, whatever it asked for; with the default stance only. skip_guard_eval_unsafe:
    the program promises that every kind of call was compiled: another one raises RuntimeError (all guards are checked as
    ever: they cost less than telling them apart).
    Raises RuntimeError for other names, and in compiled code.
    """

    def __init__(
        self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: str | Callable | None = None
    ):
        if stance not in NATIVE:
            raise RuntimeError(f"invalid torch.compile stance '{stance}'; known: {', '.join(NATIVE)}")
        if force_backend is not None and stance != "default":
            raise RuntimeError("non-default stance cannot have force_backend set")
        backend = None if force_backend is None else lookup_backend(force_backend)
        self.stance = Stance(stance, backend, skip_guard_eval_unsafe)
        self.before = take(self.stance)

    def __call__(self, fn: Callable) -> Callable:
        take(self.before)  # a decorator changes nothing until the function is called

        @functools.wraps(fn)
        def under_stance(*args: Any, **kwargs: Any) -> Any:
            before = take(self.stance)
            try:
                return fn(*args, **kwargs)
            finally:
                take(before)

        trace_rules.mark(under_stance, forbidden)
        return under_stance

    def __enter__(self) -> None:
        take(self.stance)

    def __exit__(self, *exc: Any) -> None:
        take(self.before)


trace_rules.handle(set_stance, take)(forbidden)
