"""Hooks of tensors in graphs of backward walks."""

from typing import Any


def call_hook(hook: Any, grad: Any) -> Any:
    """What a hook makes of a gradient."""
    changed = hook(grad)
    return grad if changed is None else changed
