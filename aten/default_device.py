"""The device that factories make their tensors on where none is named: set_default_device, and `with device:`."""

import threading
from typing import Any

from aten import _native, dispatch
from aten import dtype as dtypes


class _Open(threading.local):
    """A thread's open device contexts, innermost last, and the mode of the default that was set."""

    def __init__(self) -> None:
        self.modes: list[dispatch.On] = []
        self.set: dispatch.On | None = None


_open = _Open()


def current() -> Any:
    """The device that is in force, or None where nobody has said any."""
    if _open.modes:
        return _open.modes[-1].device
    return None if _open.set is None else _open.set.device


def get_default_device() -> Any:
    """The device of new tensors."""
    return current() or dtypes.device("cpu")


def set_default_device(device: Any) -> None:
    """New tensors of this thread are on `device` from now on; None for the CPU."""
    if _open.set is not None:
        dispatch.stack.modes.remove(_open.set)
        dispatch.stack.mode_top -= 1
        _native.add_ambient_count(32, -1)
        _open.set = None
    if device is not None:
        _open.set = dispatch.On(dtypes.device(device))
        dispatch.push_mode(_open.set)


def _enter(self: Any) -> Any:
    mode = dispatch.On(self)
    _open.modes.append(mode)
    dispatch.push_mode(mode)
    return self


def _exit(self: Any, *exc: object) -> None:
    _open.modes.pop()
    dispatch.pop_mode()


_native.Device.__enter__ = _enter
_native.Device.__exit__ = _exit

__all__ = ["current", "get_default_device", "set_default_device"]
