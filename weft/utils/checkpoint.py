"""Activation checkpointing, under PyTorch's names."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from aten.compiling import is_compiling
from aten.transforms.checkpoint import checkpoint as _checkpoint

__all__ = ["checkpoint", "checkpoint_sequential", "noop_context_fn"]


def checkpoint(
    function: Callable,
    *args: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    context_fn: Callable | None = None,
    determinism_check: str = "default",
    debug: bool = False,
    **kwargs: Any,
) -> Any:
    """function(*args, **kwargs), whose intermediate values are computed again in backward instead of being kept.

    context_fn: gives two context managers, for the call now and for the one in backward. Compiled code decides by itself what to
    keep. `use_reentrant` and the rest are accepted for PyTorch's sake. Raises ValueError for a context_fn with use_reentrant=True.
    """
    if context_fn is not None and context_fn is not noop_context_fn:
        if use_reentrant:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        function = _within(function, *context_fn())
    if is_compiling():
        return function(*args, **kwargs)
    return _checkpoint(function, *args, preserve_rng_state=preserve_rng_state, **kwargs)


def noop_context_fn() -> tuple[Any, Any]:
    """Two contexts that do nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def _within(function: Callable, first: Any, again: Any) -> Callable:
    """`function`, its first call in one context and those after it in the other."""
    contexts = [first]

    def run(*args: Any, **kwargs: Any) -> Any:
        with contexts.pop() if contexts else again:
            return function(*args, **kwargs)

    return run


def checkpoint_sequential(functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any) -> Any:
    """Run modules in a row in `segments` checkpointed parts; the last one keeps its values."""
    modules: Sequence[Any] = list(functions.children()) if hasattr(functions, "children") else list(functions)

    def run(start: int, end: int) -> Callable:
        def part(x: Any) -> Any:
            for module in modules[start:end]:
                x = module(x)
            return x

        return part

    size = len(modules) // segments
    start = 0
    for _ in range(segments - 1):
        input = checkpoint(run(start, start + size), input, use_reentrant=use_reentrant, **kwargs)
        start += size
    return run(start, len(modules))(input)
