"""The levels and modes that a thread has open, and how they are asked what they make of a call."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from aten import _native, default_device

if TYPE_CHECKING:
    from aten.op import Op


class _Stack(threading.local):
    """A thread's open levels and modes; `top` and `mode_top` say how many of them may still be asked."""

    def __init__(self) -> None:
        self.levels: list[Any] = []
        self.top = 0
        self.modes: list[Any] = []
        self.mode_top = 0
        self.unasked = 0  # how many modes the innermost ModesUnasked keeps from being asked
        self.unasked_device = 0  # and the default device that they make, as bits of the ambient word


stack = _Stack()


def transforming() -> bool:
    """Whether the code that runs is inside of a function that is transformed: vmap, grad, jvp …"""
    return any(level.transforms for level in stack.levels[: stack.top])


class ModesUnasked:
    """While it is open, the modes of this thread are asked nothing, and go on existing (the ambient word counts them)."""

    def __enter__(self) -> None:
        self.before = stack.mode_top, stack.unasked, stack.unasked_device
        stack.mode_top, stack.unasked = 0, stack.mode_top
        self.device = stack.unasked_device = _native.set_ambient_bits(default_device.BITS, 0)

    def __exit__(self, *exc: object) -> None:
        stack.mode_top, stack.unasked, stack.unasked_device = self.before
        _native.set_ambient_bits(default_device.BITS, self.device)


def ask_levels(op: Op, args: tuple[Any, ...]) -> Any:
    """What the first open level that takes the call makes of it; it runs with itself and those above closed."""
    levels, top = stack.levels, stack.top
    split = None
    for i in range(top - 1, -1, -1):
        level = levels[i]
        if not level.wants(args):
            continue
        split = split or op.split(args)
        above = levels[i:]
        stack.top = i
        try:
            result = level.handle(op, *split)
        finally:
            levels[i:] = above
            stack.top = top
        if result is not NotImplemented:
            return result
    return NotImplemented


def ask_modes(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Ask the open modes from the top; a handler sees those below it, and may set the lowest of them (the default device)."""
    asked = 0
    try:
        while stack.mode_top:
            stack.mode_top -= 1
            asked += 1
            result = stack.modes[stack.mode_top].handle(op, args, kwargs)
            if result is not NotImplemented:
                return result
    finally:
        stack.mode_top += asked
    return NotImplemented
