"""The name of a type as PyTorch says it."""

from __future__ import annotations

from typing import Any

from aten import Tensor

__all__ = ["typename"]


def typename(obj: Any, /) -> str:
    """"torch.FloatTensor" for a tensor, else the qualified name of the object or of its type, without that of builtins."""
    if isinstance(obj, Tensor):
        return obj.type()
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(named, "__module__", None) or ""
    return named.__qualname__ if module in ("", "builtins") else f"{module}.{named.__qualname__}"


def _has_compatible_shallow_copy_type(tensor: Tensor, source: Tensor) -> bool:
    """Whether `tensor.data = source` takes it: both are on devices of one type and laid out alike."""
    return tensor.device.type == source.device.type and tensor.layout is source.layout
