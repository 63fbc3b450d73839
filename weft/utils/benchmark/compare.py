"""Compare: a table of measurements, a row for each thing measured, a column for each way."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable

from weft.utils.benchmark.measurement import Measurement, ordered_unique, select_unit, trim_sigfig, unit_to_english

__all__ = ["Colorize", "Compare"]
_BOLD, _END = "\x1b[1m", "\x1b[0m"
_COLOURS = ((1.05, f"\x1b[92m{_BOLD}"), (1.2, f"\x1b[34m{_BOLD}"))  # as many times the best, at most
_SLOW = ((5.0, f"\x1b[31m{_BOLD}"), (2.0, "\x1b[2m\x1b[91m"))  # more
_ESCAPE = re.compile(r"\x1b\[\d+m")


class Colorize(enum.Enum):
    """What the fastest is looked for among."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """The measurements, runs of one merged, as text: a table a label."""

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results: list[Measurement] = []
        self._trim, self._warnings, self._colorize = False, False, Colorize.NONE
        self.extend_results(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Adds measurements. Raises ValueError for what is none."""
        for r in results:
            if not isinstance(r, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(r)} instead.")
            self._results.append(r)

    def trim_significant_figures(self) -> None:
        """Digits that the spread of the runs leaves open are shown as 0."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """The fastest of each column, or row, are green and the slowest red."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Measurements whose runs differ are marked, with their spread."""
        self._warnings = True

    def print(self) -> None:
        """Prints the tables."""
        print(self)

    def __str__(self) -> str:
        merged = Measurement.merge(self._results)
        labels = ordered_unique(m.label for m in merged)
        return "\n".join(self._table(label, [m for m in merged if m.label == label]) for label in labels)

    def _text(self, m: Measurement, size: float) -> str:
        t = m.median / size
        if not self._trim:
            text = f"{t:.1f}"
        else:
            figures = m.significant_figures
            whole = len(str(int(t)))
            text = f"{trim_sigfig(t, figures):.{max(figures - whole, 0)}f}"
        return text + (f" (! {100 * m.iqr / m.median:.0f}%)" if self._warnings and m.has_warnings else "")

    def _coloured(self, text: str, m: Measurement, cells: dict[tuple, Measurement], row: tuple, column: object) -> str:
        if self._colorize is Colorize.NONE:
            return text
        beside = [
            other.median
            for (r, c), other in cells.items()
            if (r == row if self._colorize is Colorize.ROWWISE else c == column and r[0] == row[0])
        ]
        ratio = m.median / min(beside)
        colour = next((c for most, c in _COLOURS if ratio <= most), None) or next((c for least, c in _SLOW if ratio > least), None)
        return f"{colour}{text}{_END}{_END}" if colour else text

    def _table(self, label: str | None, results: list[Measurement]) -> str:
        unit, size = select_unit(min(m.median for m in results))
        cells = {((m.num_threads, m.env, m.as_row_name), m.description): m for m in results}
        rows = sorted(ordered_unique(r for r, _ in cells), key=lambda r: r[0])
        columns = ordered_unique(c for _, c in cells)
        names = {r: f"      {f'{r[1]}: ' if r[1] else ''}{r[2]}" for r in rows}
        first = max(map(len, names.values()))
        lines, widths = [], {}
        texts = {place: self._text(m, size) for place, m in cells.items()}
        for c in columns:
            longest = max(len(text) for (_, of), text in texts.items() if of == c)
            texts.update({place: text.rjust(longest) for place, text in texts.items() if place[1] == c})
            widths[c] = max(longest, len(c or ""))
        header = "  |  ".join([" " * first, *[(c or "").center(widths[c]) for c in columns]])
        threads = None
        for r in rows:
            if r[0] != threads:
                threads = r[0]
                lines.append(f"{threads} threads: ".ljust(len(header), "-"))
            shown = []
            for c in columns:
                text = texts.get((r, c), "").center(widths[c])
                shown.append(self._coloured(text, cells[r, c], cells, r, c) if (r, c) in cells else text)
            lines.append("  |  ".join([names[r].ljust(first), *shown]))
        title = f"[{f' {label or results[0].stmt} '.center(len(header) - 2, '-')}]"
        notes = f"\nTimes are in {unit_to_english(unit)}s ({unit}).\n"
        if self._warnings and any(m.has_warnings for m in results):
            notes += "(! XX%) Measurement has high variance, where XX is the IQR / median * 100.\n"
        return "\n".join([title, header, *lines, notes])
