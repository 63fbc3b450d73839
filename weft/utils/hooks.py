"""Handles of hooks, and what belongs to them."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from typing import Any

from aten.autograd.hook_handle import RemovableHandle

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


def unserializable_hook(f: Any) -> Any:
    """Marks a hook that should not be saved with its tensor: `warn_if_has_hooks` says nothing of it."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor: Any) -> None:
    """Warns of the hooks of a tensor that saving it leaves behind."""
    for hook in (getattr(tensor, "_backward_hooks", None) or OrderedDict()).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized. If this is expected, you can decorate the function with "
                "@torch.utils.hooks.unserializable_hook to suppress this warning",
                stacklevel=2,
            )
