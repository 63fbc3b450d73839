"""Queues of work on a GPU, and points in them."""

from __future__ import annotations

from typing import Any

import aten
from aten.devices import waited
from weft.cuda.devices import driver, index_of, is_available


class Stream:
    """A queue of work on a GPU: what is in it runs in order, and in no order with what is in others.

    Stream(device=None, priority=0): one of a pool of 32 a device, of high priority if it is negative; `with stream:` gives it the
    block's work. Stream(stream_id=, device_index=, device_type=): the one that has these. Raises RuntimeError where there is no
    GPU.
    """

    cuda_stream: int
    device_index: int
    stream_id: int
    priority: int

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        if not is_available():
            raise RuntimeError("torch.cuda.Stream requires CUDA support")
        if "stream_id" in kwargs:  # of one that there is
            self._set(driver().stream_of_id(index_of(kwargs.get("device_index", device)), kwargs["stream_id"]))
        elif "stream_ptr" in kwargs:
            self._set(driver().external_stream(kwargs["stream_ptr"], index_of(device)))
        else:
            self._set(driver().new_stream(index_of(device), priority))

    def _set(self, described: tuple[int, int, int, int]) -> None:
        self.cuda_stream, self.device_index, self.stream_id, self.priority = described
        self._entered: list[StreamContext] = []

    @classmethod
    def _of(cls, described: tuple[int, int, int, int]) -> Stream:
        made = object.__new__(cls)
        made._set(described)
        return made

    @property
    def device(self) -> Any:
        return aten.device("cuda", self.device_index)

    device_type = 1
    _as_parameter_ = property(lambda self: __import__("ctypes").c_void_p(self.cuda_stream))

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """(least, greatest)."""
        return 0, -1

    def query(self) -> bool:
        """Whether all that is queued has run."""
        return driver().stream_query(self.cuda_stream)

    def synchronize(self) -> None:
        """Waits until it has."""
        driver().stream_synchronize(self.cuda_stream)
        waited()

    def wait_event(self, event: Event) -> None:
        """What is queued from now on comes after the event."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """What is queued from now on comes after what is in `stream` now."""
        self.wait_event(stream.record_event())

    def record_event(self, event: Event | None = None) -> Event:
        """A point behind all that is queued."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.cuda_stream

    def __enter__(self) -> Stream:
        context = StreamContext(self)
        context.__enter__()
        self._entered.append(context)
        return self

    def __exit__(self, *exc: Any) -> None:
        self._entered.pop().__exit__(*exc)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.cuda_stream == self.cuda_stream

    def __hash__(self) -> int:
        return hash((self.cuda_stream, self.device_index))

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device=cuda:{self.device_index} cuda_stream={self.cuda_stream:#x}>"


class ExternalStream(Stream):
    """ExternalStream(stream_ptr, device=None): a queue that another library made, which has to outlive its use here."""

    def __init__(self, stream_ptr: int, device: Any = None, **kwargs: Any) -> None:
        super().__init__(device, stream_ptr=stream_ptr)


class Event:
    """A point in a queue of work.

    enable_timing: `elapsed_time` to another can be asked; blocking: who waits for it sleeps. Raises RuntimeError where there is
    no GPU.
    """

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False
    ) -> None:
        if not is_available():
            raise RuntimeError("torch.cuda.Event requires CUDA support")
        if interprocess:
            raise NotImplementedError("weft.cuda.Event: events of several processes are not there")
        self._event = driver().Event(enable_timing, blocking)

    def record(self, stream: Stream | None = None) -> None:
        """Puts it behind all that is queued on the stream (the current one)."""
        self._event.record((current_stream() if stream is None else stream).cuda_stream)

    def wait(self, stream: Stream | None = None) -> None:
        """What is queued on the stream (the current one) from now on comes after it."""
        self._event.wait((current_stream() if stream is None else stream).cuda_stream)

    def query(self) -> bool:
        """Whether it has passed; True before it is recorded."""
        return self._event.query()

    def synchronize(self) -> None:
        """Waits until it has."""
        self._event.synchronize()

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this to a later event, both passed. Raises ValueError for events without timing."""
        return self._event.elapsed_time(end_event._event)

    @property
    def cuda_event(self) -> int:
        return self._event.handle

    @property
    def device(self) -> Any:
        return aten.device("cuda", self._event.device) if self._event.device >= 0 else None

    def __repr__(self) -> str:
        return f"<torch.cuda.Event {self.cuda_event:#x}>" if self.cuda_event else "<torch.cuda.Event uninitialized>"


class StreamContext:
    """Within the block work goes to a queue, and its GPU is in use; None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is None:
            return
        ask, index = driver(), self.stream.device_index
        self._device, self._before = ask.current_device(), ask.current_stream(index)[0]
        ask.set_device(index)
        ask.set_stream(self.stream.cuda_stream)

    def __exit__(self, *exc: Any) -> None:
        if self.stream is not None:
            driver().set_stream(self._before)
            driver().set_device(self._device)


def stream(stream: Stream | None) -> StreamContext:
    """A block in which work goes to `stream`."""
    return StreamContext(stream)


def set_stream(stream: Stream | None) -> None:
    """This thread's work goes to `stream` from now on, and its GPU is in use; nothing for None."""
    if stream is not None:
        driver().set_device(stream.device_index)
        driver().set_stream(stream.cuda_stream)


def current_stream(device: Any = None) -> Stream:
    """Where this thread's work for the GPU goes."""
    return Stream._of(driver().current_stream(index_of(device)))


def default_stream(device: Any = None) -> Stream:
    """The GPU's own queue, in use where no other was chosen. It waits for no other: it is not CUDA's legacy stream."""
    return Stream._of(driver().default_stream(index_of(device)))


def get_stream_from_external(data_ptr: int, device: Any = None) -> ExternalStream:
    """The queue of that handle, made by another library."""
    return ExternalStream(data_ptr, device)
