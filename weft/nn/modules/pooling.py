"""Pooling: what a window, or a part, of each channel becomes."""

from __future__ import annotations

from typing import Any

from aten import Tensor
from weft.nn import functional as F
from weft.nn.layer import layer
from weft.nn.module import Module
from weft.nn.modules.utils import _ntuple, _pair, _single, _triple  # noqa: F401  (taken from here)

_MAX = "kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False"
_AVG = "kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True"
_LP = "norm_type, kernel_size, stride=None, ceil_mode=False"


class _MaxPoolNd(Module):
    """The largest element of each window of ([N,] C, *S); padding never wins. With `return_indices` also where it stood."""

    def __post_init__(self) -> None:
        if self.stride is None:
            self.stride = self.kernel_size


def _max_pool(function: str) -> Any:
    return layer(function, _MAX, by_name=True, shown="kernel_size stride padding dilation ceil_mode")


@_max_pool("max_pool1d")
class MaxPool1d(_MaxPoolNd):
    pass


@_max_pool("max_pool2d")
class MaxPool2d(_MaxPoolNd):
    pass


@_max_pool("max_pool3d")
class MaxPool3d(_MaxPoolNd):
    pass


class _MaxUnpoolNd(Module):
    """Puts elements back where `MaxPool*d` found them, zeros elsewhere; `output_size` in the call picks among possible sizes."""

    __constants__ = ["kernel_size", "stride", "padding"]
    _dims: int
    _function: Any

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        spread = _ntuple(self._dims)
        self.kernel_size, self.padding = spread(kernel_size), spread(padding)
        self.stride = spread(stride if stride is not None else kernel_size)

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        return self._function(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    _dims = 1
    _function = staticmethod(F.max_unpool1d)


class MaxUnpool2d(_MaxUnpoolNd):
    _dims = 2
    _function = staticmethod(F.max_unpool2d)


class MaxUnpool3d(_MaxUnpoolNd):
    _dims = 3
    _function = staticmethod(F.max_unpool3d)


class _AvgPoolNd(Module):
    """The mean of each window of ([N,] C, *S); the padding counts as zeros unless `count_include_pad` is False."""

    def __post_init__(self) -> None:
        if self.stride is None:
            self.stride = self.kernel_size


def _avg_pool(function: str, more: str = ", divisor_override=None") -> Any:
    return layer(function, _AVG + more, shown="kernel_size stride padding")


@_avg_pool("avg_pool1d", more="")
class AvgPool1d(_AvgPoolNd):
    def __post_init__(self) -> None:
        super().__post_init__()
        self.kernel_size, self.stride, self.padding = map(_single, (self.kernel_size, self.stride, self.padding))


@_avg_pool("avg_pool2d")
class AvgPool2d(_AvgPoolNd):
    pass


@_avg_pool("avg_pool3d")
class AvgPool3d(_AvgPoolNd):
    pass


class _LPPoolNd(Module):
    """The p-norm of each window of ([N,] C, *S), p = `norm_type`."""


@layer("lp_pool1d", _LP)
class LPPool1d(_LPPoolNd):
    pass


@layer("lp_pool2d", _LP)
class LPPool2d(_LPPoolNd):
    pass


@layer("lp_pool3d", _LP)
class LPPool3d(_LPPoolNd):
    pass


class _AdaptiveAvgPoolNd(Module):
    """Means of as many nearly equal parts of ([N,] C, *S) as asked; None keeps a dim."""


@layer("adaptive_avg_pool1d", "output_size")
class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    pass


@layer("adaptive_avg_pool2d", "output_size")
class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    pass


@layer("adaptive_avg_pool3d", "output_size")
class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    pass


class _AdaptiveMaxPoolNd(Module):
    """Largest elements of as many nearly equal parts of ([N,] C, *S) as asked; with `return_indices` also where they stood."""


def _adaptive_max_pool(function: str) -> Any:
    return layer(function, "output_size, return_indices=False", shown="output_size")


@_adaptive_max_pool("adaptive_max_pool1d")
class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    pass


@_adaptive_max_pool("adaptive_max_pool2d")
class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    pass


@_adaptive_max_pool("adaptive_max_pool3d")
class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    pass


class _FractionalMaxPool(Module):
    """Largest elements of windows at pseudo-random places (Graham 2014). Raises ValueError unless exactly one of output_size and
    output_ratio is given, and the ratios lie between 0 and 1."""

    _dims: int

    def __post_init__(self) -> None:
        spread = _ntuple(self._dims)
        size, ratio, name = self.output_size, self.output_ratio, type(self).__name__
        self.kernel_size = spread(self.kernel_size)
        self.output_size = None if size is None else spread(size)
        self.output_ratio = None if ratio is None else spread(ratio)
        if size is None and ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if size is not None and ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {ratio})")


def _fractional(function: str) -> Any:
    signature = "kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None"
    return layer(function, signature, buffers="_random_samples", shown="")


@_fractional("fractional_max_pool2d")
class FractionalMaxPool2d(_FractionalMaxPool):
    _dims = 2


@_fractional("fractional_max_pool3d")
class FractionalMaxPool3d(_FractionalMaxPool):
    _dims = 3
