"""Conditions that the program promises."""

from __future__ import annotations

from typing import Any


def holds(condition: Any) -> bool:
    """Whether the condition of a check holds. A captured graph that knows it only once it runs takes it to hold, and checks."""
    return bool(condition)
