"""Pooling whose result always has the indices, under names of its own."""

from __future__ import annotations

from typing import Any

import aten
from aten import Tensor
from weft.overrides import handle_torch_function, has_torch_function_unary


def _with_indices(name: str) -> Any:
    def pool(input: Tensor, *args: Any, return_indices: bool = True, **kwargs: Any) -> tuple[Tensor, Tensor]:
        if type(input) is not Tensor and has_torch_function_unary(input):
            return handle_torch_function(pool, (input,), input, *args, return_indices=return_indices, **kwargs)
        return getattr(aten, name)(input, *args, return_indices=True, **kwargs)

    pool.__name__ = pool.__qualname__ = f"{name}_with_indices"
    pool.__doc__ = f"`{name}` with return_indices=True."
    return pool


POOLS = ("max_pool1d", "max_pool2d", "max_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d",
         "fractional_max_pool2d", "fractional_max_pool3d")  # fmt: skip
WITH_INDICES = {f"{name}_with_indices": _with_indices(name) for name in POOLS}
