"""What must not be called in compiled code."""

from __future__ import annotations

from typing import Any

from dynamo.exc import Forbidden


def forbidden(frame: Any, args: Any, kwargs: Any) -> Any:
    """The rule of such a call."""
    raise Forbidden(f"Attempt to trace forbidden callable, at {frame.output.user_line()}")
