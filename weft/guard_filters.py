"""Filters for `weft.compile(f, options={"guard_filter_fn": …})`: which guards are kept. The program promises that what the others
compare stays as it is; where it does not, results are wrong without a word."""

from __future__ import annotations

from collections.abc import Sequence

from aten import Tensor
from dynamo.guard_filter import GuardFilterEntry
from weft.nn.module import Module
from weft.nn.parameter import Parameter

_PARTS = ("_parameters", "_buffers", "_modules", "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def skip_guard_on_inbuilt_nn_modules_unsafe(guard_entries: Sequence[GuardFilterEntry]) -> list[bool]:
    """Keep what does not look at a module of a class that weft.nn has itself."""
    return [not (isinstance(e.value, Module) and type(e.value).__module__.startswith("weft.nn")) for e in guard_entries]


def skip_guard_on_all_nn_modules_unsafe(guard_entries: Sequence[GuardFilterEntry]) -> list[bool]:
    """Keep what looks neither at a module nor at what it files its parts in."""
    return [not (isinstance(e.value, Module) or any(f".{part}" in e.name for part in _PARTS)) for e in guard_entries]


def keep_tensor_guards_unsafe(guard_entries: Sequence[GuardFilterEntry], keep_parameters: bool = False) -> list[bool]:
    """Keep what compares tensors, those of parameters if told so."""
    kept = lambda e: isinstance(e.value, Tensor) and (keep_parameters or not isinstance(e.value, Parameter))
    return [e.guard_type == "TENSOR_MATCH" and kept(e) for e in guard_entries]


def skip_guard_on_globals_unsafe(guard_entries: Sequence[GuardFilterEntry]) -> list[bool]:
    """Keep what is not reached through a global."""
    return [not e.is_global for e in guard_entries]


def skip_all_guards_unsafe(guard_entries: Sequence[GuardFilterEntry]) -> list[bool]:
    """Keep none: the first compilation answers every call."""
    return [False for _ in guard_entries]


__all__ = [
    "keep_tensor_guards_unsafe", "skip_all_guards_unsafe", "skip_guard_on_all_nn_modules_unsafe", "skip_guard_on_globals_unsafe",
    "skip_guard_on_inbuilt_nn_modules_unsafe",
]  # fmt: skip
