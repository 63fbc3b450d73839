"""The layout of convolutions' weights."""

from __future__ import annotations

from typing import Any

from weft.nn.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def _convert(module: Module, memory_format: Any, kinds: tuple[str, ...]) -> Module:
    for m in module.modules():
        if any(cls.__name__ in kinds for cls in type(m).__mro__):
            m.weight.data = m.weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Gives the weights of all Conv2d and ConvTranspose2d below this layout."""
    return _convert(module, memory_format, ("Conv2d", "ConvTranspose2d"))


def convert_conv3d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Gives the weights of all Conv3d and ConvTranspose3d below this layout."""
    return _convert(module, memory_format, ("Conv3d", "ConvTranspose3d"))
