"""Queues of work and points in them, of whatever kind of device: `Stream(device)` and `Event(device)` are the device's own."""

from __future__ import annotations

from typing import Any

import aten

__all__ = ["Event", "Stream", "get_device_module"]


def get_device_module(device: Any = None) -> Any:
    """The part of weft for a kind of device (`weft.cuda`); without one for that of this machine's accelerator, else `weft.cpu`.

    RuntimeError for what is no device, and for kinds without a part.
    """
    import weft  # here: it holds the parts, and this file is one

    if device is None:
        device = weft.accelerator.current_accelerator() or "cpu"
    elif not isinstance(device, (str, aten.device)):
        raise RuntimeError(f"Invalid value of device '{device}', expect torch.device, str, or None")
    kind = aten.device(device).type
    part = getattr(weft, kind, None)
    if part is None:
        raise RuntimeError(f"Device '{kind}' does not have a corresponding module registered as 'torch.{kind}'.")
    return part


class _OfDevices(type):
    """Calls make the class's counterpart of a device, which are its instances."""

    def __call__(cls, device: Any = None, *args: Any, **kwargs: Any) -> Any:
        part = get_device_module(device)
        if not hasattr(part, "Event"):
            raise RuntimeError(f"{part.__name__} has no {cls.__name__.lower()}s: what it is given runs at once")
        if cls is Stream:
            kwargs["device"] = device
        return getattr(part, cls.__name__)(*args, **kwargs)

    def __instancecheck__(cls, other: Any) -> bool:
        return type(other).__module__ == "weft.cuda.streams" and cls.__name__ in [base.__name__ for base in type(other).__mro__]


class Stream(metaclass=_OfDevices):
    """Stream(device=None, priority=0): a queue of work on a device, that of the machine's accelerator where none is named.

    Raises RuntimeError for the CPU, which has no queues.
    """


class Event(metaclass=_OfDevices):
    """Event(device=None, *, enable_timing=False, blocking=False): a point in a queue of work on a device."""
