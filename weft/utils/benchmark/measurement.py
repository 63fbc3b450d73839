"""What a Timer found."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import statistics
from collections.abc import Iterable, Iterator
from typing import Any

from aten import get_num_threads, set_num_threads

__all__ = ["Measurement", "TaskSpec", "ordered_unique", "select_unit", "set_torch_threads", "trim_sigfig", "unit_to_english"]
_CLOCK = 25e-9  # seconds that no clock tells apart
_ENGLISH = {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}


def unit_to_english(u: str) -> str:
    """The name of "ns", "us", "ms" or "s"."""
    return _ENGLISH[u]


def trim_sigfig(x: float, n: int) -> float:
    """`x` rounded to `n` significant digits."""
    return float(f"{x:.{n - 1}e}")


def ordered_unique(elements: Iterable[Any]) -> list[Any]:
    """Each element once, in the order in which they came."""
    return list(dict.fromkeys(elements))


@contextlib.contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """Within the block ops use `n` threads."""
    before = get_num_threads()
    try:
        set_num_threads(n)
        yield
    finally:
        set_num_threads(before)


@dataclasses.dataclass(frozen=True)
class TaskSpec:
    """What is timed, and what tables call it."""

    stmt: str
    setup: str = "pass"
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement, and what it is of."""
        return (self.label or self.stmt) + (f": {self.sub_label}" if self.sub_label else "")

    def summarize(self) -> str:
        """The title, and what was run."""
        parts = [self.title, self.description or "", f"setup: {self.setup}" if self.setup != "pass" else ""]
        return "\n".join(part for part in parts if part)


def select_unit(t: float) -> tuple[str, float]:
    """(unit, seconds of one) for a time in seconds."""
    for unit, size in (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3)):
        if t < 1000 * size:
            return unit, size
    return "s", 1.0


@dataclasses.dataclass(repr=False)
class Measurement:
    """Times in seconds of several runs, each of `number_per_run` calls; what they are of is told by `task_spec`."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "task_spec":
            raise AttributeError(name)
        return getattr(self.task_spec, name)

    @property
    def times(self) -> list[float]:
        """Of one call, by run."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    @property
    def mean(self) -> float:
        return statistics.fmean(self.times)

    @property
    def iqr(self) -> float:
        """The distance between the quartiles."""
        if len(self.times) < 2:
            return 0.0
        quarters = statistics.quantiles(self.times, n=4, method="inclusive")
        return quarters[2] - quarters[0]

    @property
    def has_warnings(self) -> bool:
        """Whether the runs differ by more than a quarter."""
        return self.iqr > 0.25 * self.median

    @property
    def significant_figures(self) -> int:
        """How many digits of the median the spread of the middle half of the runs leaves: 1 to 5."""
        n = len(self.times)
        middle = sorted(self.times)[n // 4 : -(-3 * n // 4)]
        unsure = max(1.645 * statistics.pstdev(middle) / math.sqrt(len(middle)), _CLOCK)
        return min(max(math.floor(-math.log10(unsure / self.median)), 1), 5)

    def meets_confidence(self, threshold: float = 0.3) -> bool:
        """Whether the IQR is less than this part of the median."""
        return self.iqr / self.median < threshold

    @property
    def title(self) -> str:
        return self.task_spec.title

    @property
    def as_row_name(self) -> str:
        """What its row of a table is called."""
        return self.sub_label or self.stmt or "[Unknown]"

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """One for each statement, of all their runs that have calls of the same number."""
        found: dict[tuple, Measurement] = {}
        for m in measurements:
            key = (m.number_per_run, m.task_spec)
            if key in found:
                found[key].raw_times.extend(m.raw_times)
            else:
                found[key] = dataclasses.replace(m, raw_times=list(m.raw_times))
        return list(found.values())

    def __repr__(self) -> str:
        unit, size = select_unit(self.median)
        lines = [f"<{type(self).__module__}.{type(self).__name__} object at {hex(id(self))}>", self.task_spec.summarize()]
        if len(self.times) == 1:
            lines.append(f"  {self.median / size:.2f} {unit}")
        else:
            lines.append(f"  Median: {self.median / size:.2f} {unit}")
            if len(self.times) > 3:
                lines.append(f"  IQR:    {self.iqr / size:.2f} {unit}")
        runs = f"{len(self.times)} measurement{'s' if len(self.times) > 1 else ''}"
        threads = f"{self.num_threads} thread{'s' if self.num_threads > 1 else ''}"
        lines.append(f"  {runs}, {self.number_per_run} runs per measurement, {threads}")
        if self.has_warnings:
            lines.append(f"  WARNING: the runs differ: the IQR is {100 * self.iqr / self.median:.0f}% of the median.")
        return "\n".join(lines)
