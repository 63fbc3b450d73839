"""Which ops were called, and how long each took: `profile` and `record_function`.

A profile is a mode of dispatch: it sees the calls that the program makes, a composite as one. Ranges that the program names
contain what is called within them. Times are of the calling thread, in microseconds.
"""

from __future__ import annotations

import functools
import json
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from aten import _native, dispatch
from aten._native import Tensor

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "emit_nvtx", "profile", "record_function"]
_MODE_COUNT = 32  # bits of the ambient word
_open: list[profile] = []  # of this process: the last one notes


class FunctionEvent:
    """A call, or a named range: when it began and ended, in microseconds, and what it contains."""

    def __init__(self, name: str, start: float, shapes: list | None, is_range: bool) -> None:
        self.name = self.key = name
        self.start = self.end = start
        self.input_shapes = shapes or []
        self.is_user_annotation = is_range
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_memory_usage = 0
        self.thread = threading.get_ident()
        self.count = 1

    @property
    def cpu_time_total(self) -> float:
        return self.end - self.start

    cpu_time = cpu_time_total

    @property
    def self_cpu_time_total(self) -> float:
        """Without what it contains."""
        return self.cpu_time_total - sum(c.cpu_time_total for c in self.cpu_children)

    def __repr__(self) -> str:
        return f"<FunctionEvent name={self.name} cpu_time={self.cpu_time_total:.3f}us input_shapes={self.input_shapes}>"


class FunctionEventAvg:
    """All events of one name (and of one list of shapes, if asked)."""

    def __init__(self, key: str, input_shapes: list | None = None) -> None:
        self.key, self.input_shapes = key, input_shapes
        self.count = 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.cpu_memory_usage = 0

    def add(self, event: FunctionEvent) -> None:
        """One more."""
        self.count += 1
        self.cpu_time_total += event.cpu_time_total
        self.self_cpu_time_total += event.self_cpu_time_total
        self.cpu_memory_usage += event.cpu_memory_usage

    @property
    def cpu_time(self) -> float:
        """Of one, on average."""
        return self.cpu_time_total / self.count if self.count else 0.0

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={_time(self.self_cpu_time_total)} cpu_time={_time(self.cpu_time)} "
            f"input_shapes={self.input_shapes}>"
        )


def _time(us: float) -> str:
    if us >= 1e6:
        return f"{us / 1e6:.3f}s"
    return f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


class EventList(list):
    """Events, or averages of them."""

    @property
    def self_cpu_time_total(self) -> float:
        """Of all of them."""
        return sum(e.self_cpu_time_total for e in self)

    def key_averages(self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0) -> EventList:
        """One entry for each name, or each name and list of shapes; the largest time of its own first."""
        found: dict[Any, FunctionEventAvg] = {}
        for event in self:
            shapes = event.input_shapes if group_by_input_shapes else None
            key = (event.name, str(shapes))
            if key not in found:
                found[key] = FunctionEventAvg(event.name, shapes)
            found[key].add(event)
        return EventList(sorted(found.values(), key=lambda e: -e.self_cpu_time_total))

    def total_average(self) -> FunctionEventAvg:
        """All as one."""
        total = FunctionEventAvg("Total")
        for event in self:
            total.count += event.count
            total.cpu_time_total += event.cpu_time_total
            total.self_cpu_time_total += event.self_cpu_time_total
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
    ) -> str:
        """Text with a row for each. sort_by: "cpu_time", "cpu_time_total", "self_cpu_time_total", "count"."""
        rows: Iterable[Any] = self
        if sort_by is not None:
            if sort_by not in ("cpu_time", "cpu_time_total", "self_cpu_time_total", "count", "cpu_memory_usage"):
                raise AttributeError(f"a profile has no {sort_by!r} to sort by")
            rows = sorted(self, key=lambda e: -getattr(e, sort_by))
        own = self.self_cpu_time_total or 1.0
        titles = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls"]
        with_shapes = any(getattr(e, "input_shapes", None) for e in self)
        if with_shapes:
            titles.append("Input Shapes")
        lines = [titles]
        for e in list(rows)[: row_limit if row_limit >= 0 else None]:
            line = [
                e.key if len(e.key) <= max_name_column_width else e.key[: max_name_column_width - 3] + "...",
                f"{100 * e.self_cpu_time_total / own:.2f}%", _time(e.self_cpu_time_total),
                f"{100 * e.cpu_time_total / own:.2f}%", _time(e.cpu_time_total), _time(e.cpu_time_total / e.count), str(e.count),
            ]  # fmt: skip
            if with_shapes:
                line.append(str(e.input_shapes)[:max_shapes_column_width])
            lines.append(line)
        widths = [max(len(line[i]) for line in lines) for i in range(len(titles))]
        rule = "  ".join("-" * w for w in widths)
        text = ["  ".join(cell.rjust(w) for cell, w in zip(line, widths)) for line in lines]
        head = [header] if header else []
        total = f"Self CPU time total: {_time(self.self_cpu_time_total)}"
        return "\n".join([*head, rule, text[0], rule, *text[1:], rule, total, ""])

    def export_chrome_trace(self, path: str) -> None:
        """Writes them as JSON that chrome://tracing and Perfetto read."""
        events = [
            {
                "name": e.name, "ph": "X", "ts": e.start, "dur": e.cpu_time_total, "pid": 0, "tid": e.thread,
                "cat": "user_annotation" if e.is_user_annotation else "cpu_op",
                "args": {"Input Dims": e.input_shapes} if e.input_shapes else {},
            }
            for e in self
        ]  # fmt: skip
        with open(path, "w") as file:
            json.dump({"schemaVersion": 1, "displayTimeUnit": "ms", "traceEvents": events}, file)

    def __str__(self) -> str:
        return self.table()


def _shape_of(value: Any) -> list[Any]:
    if isinstance(value, Tensor):
        return list(value.shape)
    return [_shape_of(v) for v in value] if isinstance(value, (list, tuple)) else []


class profile:
    """A block whose calls of ops are noted. `key_averages().table()` shows them, `export_chrome_trace` writes them.

    record_shapes: the sizes of the arguments as well; profile_memory: the bytes that a call leaves allocated.
    """

    def __init__(self, enabled: bool = True, *, record_shapes: bool = False, profile_memory: bool = False, **ignored: Any) -> None:
        self.enabled, self.record_shapes, self.profile_memory = enabled, record_shapes, profile_memory
        self.function_events = EventList()
        self._path: list[FunctionEvent] = []

    def handle(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What dispatch asks of a mode."""
        event = self.begin(f"aten::{op.name}", [_shape_of(a) for a in args] if self.record_shapes else None, False)
        before = _native.memory_stats()["allocated_bytes"] if self.profile_memory else 0
        _native.add_ambient_count(_MODE_COUNT, -1)  # so that the call takes its native way
        try:
            return op(*args, **kwargs)
        finally:
            _native.add_ambient_count(_MODE_COUNT, 1)
            self.end(event)
            if self.profile_memory:
                event.cpu_memory_usage = _native.memory_stats()["allocated_bytes"] - before

    def begin(self, name: str, shapes: list | None, is_range: bool) -> FunctionEvent:
        """Notes that something starts."""
        event = FunctionEvent(name, time.perf_counter_ns() / 1e3, shapes, is_range)
        if self._path:
            self._path[-1].cpu_children.append(event)
        self._path.append(event)
        self.function_events.append(event)
        return event

    def end(self, event: FunctionEvent) -> None:
        """Notes that it ended."""
        event.end = time.perf_counter_ns() / 1e3
        if event in self._path:
            del self._path[self._path.index(event) :]

    def start(self) -> None:
        """From now on calls are noted. Raises RuntimeError if they are already."""
        if self in _open:
            raise RuntimeError("profiler context manager is not reentrant")
        _open.append(self)
        dispatch.push_mode(self)

    def stop(self) -> None:
        """Until now."""
        dispatch.pop_mode()
        _open.remove(self)

    def __enter__(self) -> profile:
        if self.enabled:
            self.start()
        return self

    def __exit__(self, *exc: Any) -> None:
        if self.enabled:
            self.stop()

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """One entry for each name."""
        return self.function_events.key_averages(group_by_input_shape)

    def total_average(self) -> FunctionEventAvg:
        """All as one."""
        return self.function_events.total_average()

    def table(self, **kwargs: Any) -> str:
        """All events, a row each."""
        return self.function_events.table(**kwargs)

    def export_chrome_trace(self, path: str) -> None:
        """Writes the events as JSON that chrome://tracing and Perfetto read."""
        self.function_events.export_chrome_trace(path)

    @property
    def self_cpu_time_total(self) -> float:
        return self.function_events.self_cpu_time_total

    def __str__(self) -> str:
        return self.function_events.table()


class record_function:
    """A block, or a decorated function, that profiles show under a name. Costs next to nothing where none is open."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self._events: list[tuple[profile, FunctionEvent]] = []

    def __enter__(self) -> record_function:
        if _open:
            self._events.append((_open[-1], _open[-1].begin(self.name, None, True)))
        return self

    def __exit__(self, *exc: Any) -> None:
        if self._events:
            noted, event = self._events.pop()
            noted.end(event)

    def __call__(self, fn: Callable) -> Callable:
        @functools.wraps(fn)
        def named(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name):
                return fn(*args, **kwargs)

        return named


class emit_nvtx:
    """A block for the device's own profiler; ops are not marked for it, named ranges of `weft.cuda.nvtx` are. Raises AssertionError
    where there is no device, and RuntimeError where such a block is open."""

    _is_open = False

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled, self.record_shapes = enabled, record_shapes

    def __enter__(self) -> emit_nvtx:
        if self.enabled:
            if emit_nvtx._is_open:
                raise RuntimeError("NVTX annotation context manager is not reentrant")
            if _native.device_count("cuda") == 0:
                raise AssertionError("emit_nvtx: there is no cuda device here")
            emit_nvtx._is_open = True
        return self

    def __exit__(self, *exc: Any) -> None:
        if self.enabled:
            emit_nvtx._is_open = False
