"""Fractional max pooling as modules."""

from __future__ import annotations

from typing import Any

from aten import Tensor
from weft.nn import functional as F
from weft.nn.module import Module


def _spread(value: Any, n: int) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * n


class _FractionalMaxPool(Module):
    """Largest elements of windows at pseudo-random places. Raises ValueError unless exactly one of output_size and
    output_ratio is given, and the ratios lie between 0 and 1."""

    _sizes: int
    _random_samples: Tensor | None

    def __init__(
        self,
        kernel_size: int | tuple[int, ...],
        output_size: int | tuple[int, ...] | None = None,
        output_ratio: float | tuple[float, ...] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        n = self._sizes
        self.kernel_size, self.return_indices = _spread(kernel_size, n), return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else _spread(output_size, n)
        self.output_ratio = None if output_ratio is None else _spread(output_ratio, n)
        if output_size is None and output_ratio is None:
            raise ValueError(f"{type(self).__name__} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")


class FractionalMaxPool2d(_FractionalMaxPool):
    """Over images ([N,] C, H, W)."""

    _sizes = 2

    def forward(self, input: Tensor) -> Any:
        return F.fractional_max_pool2d(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples
        )


class FractionalMaxPool3d(_FractionalMaxPool):
    """Over volumes ([N,] C, T, H, W)."""

    _sizes = 3

    def forward(self, input: Tensor) -> Any:
        return F.fractional_max_pool3d(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples
        )


__all__ = ["FractionalMaxPool2d", "FractionalMaxPool3d"]
