"""profile: which ops a program calls and how long they take, over steps that a schedule chooses."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from aten.autograd import profiler as _ops
from aten.autograd.profiler import EventList, record_function

__all__ = [
    "ProfilerAction", "ProfilerActivity", "kineto_available", "profile", "record_function", "schedule", "supported_activities",
    "tensorboard_trace_handler",
]  # fmt: skip


class ProfilerActivity(Enum):
    """What may be watched; calls of ops are the CPU's."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3


class ProfilerAction(Enum):
    """What a schedule says of a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def kineto_available() -> bool:
    """True: calls of ops are noted."""
    return True


def supported_activities() -> set[ProfilerActivity]:
    """Those that are watched."""
    return {ProfilerActivity.CPU}


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0) -> Callable:
    """A schedule: after `skip_first` steps in turn `wait` steps of nothing, `warmup` whose record is dropped, `active` recorded.

    repeat: how many turns, 0 for all. skip_first_wait: 1 leaves out the first turn's wait. Raises AssertionError for bad counts.
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError("Invalid profiler schedule arguments")
    turn = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        if skip_first_wait:
            step += wait
        if repeat > 0 and step // turn >= repeat:
            return ProfilerAction.NONE
        place = step % turn
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < turn - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, use_gzip: bool = False) -> Callable:
    """For `on_trace_ready`: writes each record into the folder as WORKER.TIME.pt.trace.json."""

    def write(prof: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        name = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        prof.export_chrome_trace(os.path.join(dir_name, f"{name}.{time.time_ns()}.pt.trace.json"))

    return write


class profile:
    """A block whose calls of ops are noted, in the steps that `schedule` chooses (`step()` ends one); without it in all.

    on_trace_ready: called with the profile whenever a record is complete. record_shapes: the sizes of arguments as well.
    profile_memory: the bytes that calls leave allocated. Stacks, FLOPs and modules are not noted.
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        **ignored: Any,
    ) -> None:
        self.activities = set(activities) if activities is not None else supported_activities()
        if not self.activities:
            raise AssertionError("No valid profiler activities found")
        self.schedule, self.on_trace_ready = schedule, on_trace_ready
        self.record_shapes, self.profile_memory = record_shapes, profile_memory
        self.step_num = 0
        self.current_action = ProfilerAction.RECORD_AND_SAVE if schedule is None else schedule(0)
        self._metadata: dict[str, Any] = {}
        self._noted: _ops.profile | None = None
        self._running = False

    def _begin(self) -> None:
        """Starts to note, where the action of now says so."""
        if self.current_action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE) and not self._running:
            self._noted = _ops.profile(record_shapes=self.record_shapes, profile_memory=self.profile_memory)
            self._noted.start()
            self._running = True

    def _end(self) -> None:
        """Ends a record, and hands it on."""
        if self._running and self._noted is not None:
            self._noted.stop()
            self._running = False
            if self.on_trace_ready is not None:
                self.on_trace_ready(self)

    def start(self) -> None:
        self._begin()

    def stop(self) -> None:
        self._end()

    def step(self) -> None:
        """The next step begins."""
        self.step_num += 1
        if self.schedule is None:
            return
        before, self.current_action = self.current_action, self.schedule(self.step_num)
        ends = before is ProfilerAction.RECORD_AND_SAVE
        if ends or self.current_action in (ProfilerAction.NONE, ProfilerAction.WARMUP):
            self._end()
        self._begin()

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exc: Any) -> None:
        self.stop()

    def events(self) -> EventList:
        """The calls of the last record. Raises AssertionError if there is none."""
        if self._noted is None:
            raise AssertionError("the profiler has not recorded anything yet")
        return self._noted.function_events

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """One entry for each name (and list of sizes)."""
        return self.events().key_averages(group_by_input_shape)

    def export_chrome_trace(self, path: str) -> None:
        """Writes the last record as JSON that chrome://tracing and Perfetto read, with what `add_metadata` was given."""
        self.events().export_chrome_trace(path)
        if self._metadata:
            with open(path) as file:
                trace = json.load(file)
            with open(path, "w") as file:
                json.dump(trace | self._metadata, file)

    def add_metadata(self, key: str, value: str) -> None:
        """A text for the trace."""
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """A value for the trace, as JSON."""
        self._metadata[key] = json.loads(value)

    preset_metadata_json = add_metadata_json
