"""The levels and modes that a thread has open."""

from __future__ import annotations

import threading
from typing import Any


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
