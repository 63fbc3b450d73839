"""wrap: a call that compiled code keeps in a graph of its own."""

from collections.abc import Callable
from typing import Any


def wrap(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """fn(*args, **kwargs)."""
    return fn(*args, **kwargs)
