"""What a Timer found."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterable

__all__ = ["Measurement", "select_unit"]


def select_unit(t: float) -> tuple[str, float]:
    """(unit, seconds of one) for a time in seconds."""
    for unit, size in (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3)):
        if t < 1000 * size:
            return unit, size
    return "s", 1.0


@dataclasses.dataclass
class Measurement:
    """Times in seconds of several runs, each of `number_per_run` calls."""

    number_per_run: int
    raw_times: list[float]
    stmt: str
    num_threads: int = 1
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None

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
    def title(self) -> str:
        return self.label or self.stmt

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """One for each statement, of all their runs that have calls of the same number."""
        found: dict[tuple, Measurement] = {}
        for m in measurements:
            key = (m.number_per_run, m.stmt, m.num_threads, m.label, m.sub_label, m.description, m.env)
            if key in found:
                found[key].raw_times.extend(m.raw_times)
            else:
                found[key] = dataclasses.replace(m, raw_times=list(m.raw_times))
        return list(found.values())

    def __repr__(self) -> str:
        unit, size = select_unit(self.median)
        lines = [f"<{type(self).__module__}.{type(self).__name__}>", self.title]
        if len(self.times) == 1:
            lines.append(f"  {self.median / size:.2f} {unit}")
        else:
            lines.append(f"  Median: {self.median / size:.2f} {unit}")
            lines.append(f"  IQR:    {self.iqr / size:.2f} {unit}")
        runs = f"{len(self.times)} measurement{'s' if len(self.times) > 1 else ''}"
        threads = f"{self.num_threads} thread{'s' if self.num_threads > 1 else ''}"
        lines.append(f"  {runs}, {self.number_per_run} runs per measurement, {threads}")
        if self.has_warnings:
            lines.append(f"  WARNING: the runs differ: the IQR is {100 * self.iqr / self.median:.0f}% of the median.")
        return "\n".join(lines)
