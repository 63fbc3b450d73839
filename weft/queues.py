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
    """Calls make the class's counterpart of a device, which are its instances; the CPU's are made of the class itself."""

    def __call__(cls, device: Any = None, **kwargs: Any) -> Any:
        part = get_device_module(device)
        if part.__name__ == "weft.cpu":
            return super().__call__(**kwargs)
        if cls is Stream:
            kwargs["device"] = device
        return getattr(part, cls.__name__)(**kwargs)

    def __instancecheck__(cls, other: Any) -> bool:
        names = [base.__name__ for base in type(other).__mro__]
        return type(other) is cls or (type(other).__module__ == "weft.cuda.streams" and cls.__name__ in names)


def _no_events() -> RuntimeError:
    return RuntimeError("cpu backend doesn't support events.")


class _OfCpu:
    """What is queued has run: there is nothing to wait for, and no point in between that could be recorded."""

    device = aten.device("cpu")

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        """Nothing is ever pending."""


class Stream(_OfCpu, metaclass=_OfDevices):
    """Stream(device=None, *, priority=0): a queue of work on a device, that of the machine's accelerator where none is named.

    The CPU has one, never behind, on which no events are recorded (RuntimeError).
    """

    device_type, device_index, stream_id = 0, -1, 0

    def __init__(self, *, priority: int = 0) -> None:
        """The priority is of no use: there is one queue."""

    def wait_event(self, event: Any) -> None:
        """Nothing is ever pending."""

    def wait_stream(self, stream: Any) -> None:
        raise _no_events()

    def record_event(self, event: Any = None) -> Any:
        raise _no_events()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: Any) -> None:
        """The block's work is done."""

    def __eq__(self, other: Any) -> bool:
        return type(other) is Stream

    def __hash__(self) -> int:
        return hash(Stream)


class Event(_OfCpu, metaclass=_OfDevices):
    """Event(device=None, *, enable_timing=False, blocking=False): a point in a queue of work on a device.

    One of the CPU is never recorded (RuntimeError).
    """

    event_id = 0

    def __init__(self, *, enable_timing: bool = False, blocking: bool = False) -> None:
        """Neither is of use: nothing is recorded."""

    def wait(self, stream: Any = None) -> None:
        """Nothing is ever pending."""

    def record(self, stream: Any = None) -> None:
        raise _no_events()

    def elapsed_time(self, other: Any) -> float:
        raise ValueError("neither event was recorded: the CPU has no time between points of its queue")
