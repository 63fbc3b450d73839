"""What operators are, under the name of PyTorch's module."""

from __future__ import annotations

from typing import Any

from weft.ops import OpOverload, OpOverloadPacket

__all__ = ["HigherOrderOperator", "OpOverload", "OpOverloadPacket"]


class _AnyOverFunctions(type):
    """Knows the callables of nodes that are given graphs."""

    def __instancecheck__(cls, target: Any) -> bool:
        if isinstance(target, (OpOverload, OpOverloadPacket)) or not callable(target):
            return False
        module = getattr(target, "__module__", None) or ""
        return hasattr(target, "graphs") or module.startswith("aten.higher_order")


class HigherOrderOperator(metaclass=_AnyOverFunctions):
    """What a node calls that takes functions: cond, while_loop, wrap, a checkpoint, a transform. Not made by users."""
