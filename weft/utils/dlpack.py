"""Tensors to and from other libraries without copying (DLPack)."""

from __future__ import annotations

from typing import Any

from aten import Tensor, from_dlpack

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule of the tensor's memory, for one `from_dlpack` of any library."""
    return tensor.__dlpack__()
