"""What the nodes of graphs call."""

from typing import Any


def is_op(target: Any) -> bool:
    """Whether a call_function's target is an op of aten (not operator.getitem or a foreign function)."""
    return hasattr(target, "schema") and hasattr(target, "kind")
