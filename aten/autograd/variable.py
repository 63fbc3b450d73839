"""Variable: what tensors with history were called before they were tensors."""

import warnings
from typing import Any

from aten import _native
from aten._native import Tensor
from aten.autograd.engine import open_walk, queue_callback


class _Engine:
    """The engine of backward, as far as it is known by name."""

    @staticmethod
    def queue_callback(callback: Any) -> None:
        """Call `callback()` when the backward that runs now is done."""
        queue_callback(callback)

    @staticmethod
    def is_checkpoint_valid() -> bool:
        """Whether the walk is for all leaves, as `backward()` without inputs is."""
        walk = open_walk()
        return walk is None or walk.inputs is None


class VariableMeta(type):
    """Every tensor is an instance of Variable."""

    def __instancecheck__(cls, other: Any) -> bool:
        return isinstance(other, Tensor)


class Variable(metaclass=VariableMeta):
    """Variable(data, requires_grad=False): a leaf on the memory of a tensor."""

    _execution_engine = _Engine()

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = False, *, volatile: Any = None) -> Any:
        if volatile is not None:
            warnings.warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.", stacklevel=2)
        if data is None:
            data = _native.empty((0,))
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        return data.detach().requires_grad_(requires_grad)


__all__ = ["Variable"]
