"""Normalisation within a sample."""

from __future__ import annotations

import numbers
from typing import Any

import aten
from aten import Parameter, Tensor
from weft.nn import functional as F
from weft.nn import init
from weft.nn.layer import layer
from weft.nn.module import Module


class _Affine(Module):
    """A weight of ones and a bias of zeros, where wanted."""

    weight: Parameter | None
    bias: Parameter | None

    def _make(self, sizes: Any, weight: bool, bias: bool | None, device: Any, dtype: Any) -> None:
        make = lambda wanted: Parameter(aten.empty(sizes, device=device, dtype=dtype)) if wanted else None
        self.register_parameter("weight", make(weight))
        if bias is not None:
            self.register_parameter("bias", make(weight and bias))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.weight is not None:
            init.ones_(self.weight)
        if self._parameters.get("bias") is not None:
            init.zeros_(self.bias)


def _shape(normalized_shape: Any) -> tuple[int, ...]:
    return (int(normalized_shape),) if isinstance(normalized_shape, numbers.Integral) else tuple(normalized_shape)


class LayerNorm(_Affine):
    """(x - mean) / sqrt(var + eps) * weight + bias over the last dims `normalized_shape` (Ba, Kiros, Hinton 2016)."""

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape, self.eps, self.elementwise_affine = _shape(normalized_shape), eps, elementwise_affine
        self._make(self.normalized_shape, elementwise_affine, bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class RMSNorm(_Affine):
    """x / sqrt(mean(x²) + eps) * weight over the last dims (Zhang, Sennrich 2019); eps None is the dtype's epsilon."""

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape, self.eps, self.elementwise_affine = _shape(normalized_shape), eps, elementwise_affine
        self._make(self.normalized_shape, elementwise_affine, None, device, dtype)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(_Affine):
    """Groups of channels (dim 1) of each sample normalised (Wu, He 2018). Raises ValueError where groups do not divide them."""

    __constants__ = ["num_groups", "num_channels", "eps", "affine"]

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self._make(num_channels, affine, bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"


class _AcrossChannels(Module):
    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


@layer("local_response_norm", "size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0")
class LocalResponseNorm(_AcrossChannels):
    """input / (k + alpha * mean of squares over neighbouring channels) ** beta (Krizhevsky et al. 2012)."""


@layer("local_response_norm", "size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1")
class CrossMapLRN2d(_AcrossChannels):
    """`LocalResponseNorm` of images (N, C, H, W), whose neighbours are as many on both sides: for an even size one fewer."""

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        window = self.size - 1 + self.size % 2
        return F.local_response_norm(input, window, self.alpha * window / self.size, self.beta, self.k)
