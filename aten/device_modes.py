"""`set_default_device` and `with device:`, which say on which device new tensors are where none is named."""

import threading
from typing import Any

from aten import _native, dispatch, on_device
from aten import dtype as dtypes


class _Default(threading.local):
    """The mode of the default that a thread has set, below all others."""

    def __init__(self) -> None:
        self.mode: dispatch.On | None = None


_default = _Default()


def set_default_device(device: Any) -> None:
    """New tensors of this thread are on `device` from now on, where no open `with device:` says otherwise; None for the CPU."""
    mode = None if device is None else dispatch.On(dtypes.device(device))
    on_device.set_lowest(_default.mode, mode)
    _default.mode = mode


def _enter(self: Any) -> Any:
    dispatch.push_mode(dispatch.On(self))
    return self


def _exit(self: Any, *exc: object) -> None:
    dispatch.pop_mode()


_native.Device.__enter__ = _enter
_native.Device.__exit__ = _exit

__all__ = ["set_default_device"]
