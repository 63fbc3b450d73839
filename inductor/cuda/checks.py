"""What a check says that failed on a device after its call had returned."""

from __future__ import annotations

from collections.abc import Sequence

_OUT_OF_RANGE = (IndexError, "an index is out of range")
_REASONS = {"index": _OUT_OF_RANGE, "indices": _OUT_OF_RANGE, "other": (RuntimeError, "ZeroDivisionError")}


def late(record: Sequence[str]) -> Exception:
    """The exception of a row of a Program's checks: eager's class, the op, and the user's line if that is known."""
    op, argument, line = record
    kind, reason = _REASONS.get(argument, (RuntimeError, f"{argument} is not valid"))
    where = f"\n  {line}" if isinstance(line, str) and line else ""
    return kind(f"{op}: {reason}, found on a device after the call had returned{where}")
