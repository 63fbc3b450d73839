"""Tensors that a Module files: as parameters, as buffers, and those whose sizes are not known yet."""

from __future__ import annotations

from typing import Any

from aten import Parameter, Tensor
from weft.nn.uninitialized import UninitializedBuffer, UninitializedParameter, UninitializedTensorMixin, is_lazy

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "UninitializedTensorMixin", "is_lazy"]


class _BufferType(type(Tensor)):  # type: ignore[misc]
    """A buffer is any tensor that is marked as one."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if cls is not Buffer:
            return type.__instancecheck__(cls, instance)
        return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(Tensor, metaclass=_BufferType):
    """A tensor that a Module registers as its buffer when it is assigned; with persistent=False outside of the state dict."""

    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        made = Tensor.new_empty(Parameter(), (0,)) if data is None else data.detach().requires_grad_(data.requires_grad)
        made.persistent, made._is_buffer = persistent, True
        return made
