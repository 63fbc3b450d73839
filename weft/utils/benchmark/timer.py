"""Timing a statement, as `timeit` does, with a number of threads and enough runs."""

from __future__ import annotations

import textwrap
import timeit
from collections.abc import Callable
from typing import Any

from weft.utils.benchmark.measurement import Measurement, TaskSpec, set_torch_threads

__all__ = ["Timer", "timer"]
timer = timeit.default_timer


class Timer:
    """Times `stmt`, run with the names of `globals` after `setup`, with this many threads."""

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Any = "python",
    ) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if language not in ("python", "py", 0):
            raise ValueError(f"only Python can be timed, not {language}")
        if global_setup:
            raise ValueError("global_setup is only of C++ statements")
        names = dict(globals or {})
        if "torch" not in names:
            import weft  # the package is what statements call torch

            names["torch"] = weft
        stmt, setup = textwrap.dedent(stmt).strip(), textwrap.dedent(setup).strip()
        self._task_spec = TaskSpec(stmt, setup, "", label, sub_label, description, env, num_threads)
        self._timer = timeit.Timer(stmt, setup, timer, names)

    def _threaded(self, run: Callable[[], Any]) -> Any:
        with set_torch_threads(self._task_spec.num_threads):
            return run()

    def _measured(self, number: int, times: list[float]) -> Measurement:
        return Measurement(number, times, self._task_spec)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """One run of `number` calls, after a shorter one."""

        def run() -> float:
            self._timer.timeit(max(number // 100, 2))
            return self._timer.timeit(number)

        return self._measured(number, [self._threaded(run)])

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """Raises NotImplementedError: see blocked_autorange."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _number(self, min_run_time: float) -> int:
        """As many calls as take a thousandth of the time, so that reading the clock costs nothing beside them."""
        number = 1
        while True:
            taken = self._timer.timeit(number)
            if taken >= min_run_time / 1000 or number >= 1 << 30:
                return number
            number *= 10

    def blocked_autorange(self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2) -> Measurement:
        """Runs of as many calls as make the clock's cost vanish, for at least `min_run_time` seconds."""

        def run() -> Measurement:
            number, times, total = self._number(min_run_time), [], 0.0
            while total < min_run_time or not times:
                times.append(self._timer.timeit(number))
                total += times[-1]
                if callback is not None:
                    callback(number, times[-1])
            return self._measured(number, times)

        return self._threaded(run)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """Runs until their IQR is less than `threshold` of the median, or `max_run_time` seconds are over."""

        def run() -> Measurement:
            number, times, total, look = self._number(min_run_time), [], 0.0, 4
            while True:
                times.append(self._timer.timeit(number))
                total += times[-1]
                if callback is not None:
                    callback(number, times[-1])
                if total < max_run_time and (total < min_run_time or len(times) < look):
                    continue
                look = len(times) + len(times) // 8 + 1  # (quartiles of all times cost as much as a run of many calls)
                found = self._measured(number, list(times))
                if total >= max_run_time or found.iqr < threshold * found.median:
                    return found

        return self._threaded(run)

    autorange = blocked_autorange
