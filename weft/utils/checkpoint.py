"""Activation checkpointing, under PyTorch's names."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import weft
from aten import Tensor, _native, dispatch, pytree
from aten.compiling import is_compiling
from aten.transforms.checkpoint import checkpoint as _reentrant
from aten.transforms.recompute import CheckpointError, recompute
from aten.transforms.recompute import early_stop as set_checkpoint_early_stop
from weft.utils.checkpoint_function import (  # noqa: F401
    CheckpointFunction,
    DefaultDeviceType,
    _get_autocast_kwargs,
    _get_device_module,
    _infer_device_type,
    check_backward_validity,
    detach_variable,
    get_device_states,
    set_device_states,
)
from weft.utils.selective_checkpoint import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    _CachedTorchDispatchMode,
    _CachingTorchDispatchMode,
    create_selective_checkpoint_contexts,
)

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "DefaultDeviceType",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]


def noop_context_fn() -> tuple[Any, Any]:
    """Two contexts that do nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


# Contexts that at most choose what is kept for backward.
_CHOOSING = (contextlib.nullcontext, _CachingTorchDispatchMode, _CachedTorchDispatchMode)
_debug_enabled: bool | None = None


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Within the block this is the `debug` of every checkpoint, whatever is passed; None leaves it to them."""
    global _debug_enabled
    before, _debug_enabled = _debug_enabled, enabled
    try:
        yield
    finally:
        _debug_enabled = before


class _Log:
    """A context, and mode, that notes which ops are called within it."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def handle(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Notes the call and leaves it to the others."""
        shown = [f"{a.dtype}{list(a.shape)}" if isinstance(a, Tensor) else repr(a) for a in args]
        self.lines.append(f"{op.name}({', '.join([*shown, *(f'{k}={v!r}' for k, v in kwargs.items())])})")
        return NotImplemented

    def __enter__(self) -> None:
        self.lines.clear()
        dispatch.push_mode(self)

    def __exit__(self, *exc: object) -> None:
        dispatch.pop_mode()


def _compared(first: _Log, again: _Log) -> str:
    sides = [f"Ops of {name}:\n" + "\n".join(f"  {line}" for line in log.lines)
             for name, log in (("the original call", first), ("the call made again", again))]  # fmt: skip
    return (
        "torch.utils.checkpoint: the call made again saved other tensors than the original one.\n"
        "You are seeing this error because you passed `debug=True` to checkpoint, so the ops of both are listed; the first that "
        "differs is where they part.\n\n" + "\n\n".join(sides)
    )


def _explicit(use_reentrant: bool | None, fn: str) -> bool:
    if use_reentrant is None:
        warnings.warn(
            f"torch.utils.{fn}: the use_reentrant parameter should be passed explicitly. use_reentrant=False is recommended; "
            "use_reentrant=True is what is done where it is not passed.",
            stacklevel=3,
        )
        return True
    return use_reentrant


def checkpoint(
    function: Callable,
    *args: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    context_fn: Callable = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    **kwargs: Any,
) -> Any:
    """function(*args, **kwargs), whose intermediate values are computed again in backward instead of being kept.

    use_reentrant: as one node of the graph, whose backward walks a graph of its own; False keeps the graph of the call, and makes
    the call again for what that had saved. context_fn: gives two context managers, for the call now and for the one in backward.
    determinism_check: "none" takes what a second call gives whatever its sizes. Compiled code decides by itself what to keep; a
    call with contexts that do more than choose it is left to Python.
    Raises ValueError for a context_fn, or for debug, with use_reentrant=True; CheckpointError in backward where the second call
    saves other tensors than the first; with debug that lists the ops of both.
    """
    compiling = is_compiling()
    if (use_reentrant is not False if compiling else _explicit(use_reentrant, "checkpoint")):
        if context_fn is not noop_context_fn or debug:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        if compiling:
            return function(*args, **kwargs)
        check_backward_validity(args)
        return _reentrant(function, *args, preserve_rng_state=preserve_rng_state, **kwargs)
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check must be one of ['default', 'none'], got {determinism_check}")
    if compiling and context_fn is noop_context_fn:
        return function(*args, **kwargs)
    explain = None
    if debug if _debug_enabled is None else _debug_enabled:
        if context_fn is not noop_context_fn:
            raise ValueError("debug=True is incompatible with non-default context_fn")
        first, again = _Log(), _Log()
        explain = functools.partial(_compared, first, again)
    else:
        first, again = context_fn()
        if compiling and isinstance(first, _CHOOSING) and isinstance(again, _CHOOSING):
            return function(*args, **kwargs)
    leaves, spec = pytree.flatten((args, kwargs))

    def call(given: list[Any]) -> Any:
        positional, named = pytree.unflatten(given, spec)
        return function(*positional, **named)

    state = _native.default_generator.get_state() if preserve_rng_state else None
    return recompute(call, leaves, first, _as_it_was(state, again), determinism_check == "default", explain)


def _as_it_was(state: Any, context: Any) -> Callable[[], Any]:
    """What gives a context in which the generator has this state (None: the one it has) and autocast is as it is now."""
    enabled, dtype = weft.is_autocast_enabled("cpu"), weft.get_autocast_dtype("cpu")

    @contextlib.contextmanager
    def restored() -> Iterator[None]:
        generator = _native.default_generator
        now = generator.get_state()
        try:
            if state is not None:
                generator.set_state(state)
            with weft.amp.autocast("cpu", dtype=dtype, enabled=enabled), context:
                yield
        finally:
            if state is not None:
                generator.set_state(now)

    return restored


def checkpoint_sequential(functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any) -> Any:
    """Run modules in a row in `segments` checkpointed parts; the last one keeps its values."""
    use_reentrant = _explicit(use_reentrant, "checkpoint_sequential")
    modules: Sequence[Any] = list(functions.children()) if hasattr(functions, "children") else list(functions)

    def run(start: int, end: int) -> Callable:
        def part(x: Any) -> Any:
            for module in modules[start:end]:
                x = module(x)
            return x

        return part

    if not 0 < segments <= len(modules):
        raise ValueError(f"checkpoint_sequential: {len(modules)} modules cannot be run in {segments} segments")
    size = len(modules) // segments
    start = 0
    for _ in range(segments - 1):
        input = checkpoint(run(start, start + size), input, use_reentrant=use_reentrant, **kwargs)
        start += size
    return run(start, len(modules))(input)
