"""Layers that leave out elements, or whole channels, in training."""

from __future__ import annotations

from typing import Any

from weft.nn.layer import layer
from weft.nn.module import Module


class _DropoutNd(Module):
    def __post_init__(self) -> None:
        if self.p < 0 or self.p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {self.p}")

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


def _dropout(function: str) -> Any:
    return layer(function, "p=0.5, inplace=False", passed="p training inplace")


@_dropout("dropout")
class Dropout(_DropoutNd):
    """Zeroes elements with probability p and scales the rest by 1 / (1 - p) (Hinton et al. 2012)."""


@_dropout("dropout1d")
class Dropout1d(_DropoutNd):
    """Zeroes whole channels of ([N,] C, L) with probability p and scales the rest by 1 / (1 - p)."""


@_dropout("dropout2d")
class Dropout2d(_DropoutNd):
    """Zeroes whole channels of (N, C, H, W) with probability p and scales the rest by 1 / (1 - p) (Tompson et al. 2015)."""


@_dropout("dropout3d")
class Dropout3d(_DropoutNd):
    """Zeroes whole channels of ([N,] C, D, H, W) with probability p and scales the rest by 1 / (1 - p)."""


@_dropout("alpha_dropout")
class AlphaDropout(_DropoutNd):
    """Sets elements to SELU's lower limit with probability p, keeping mean and variance (Klambauer et al. 2017)."""


@_dropout("feature_alpha_dropout")
class FeatureAlphaDropout(_DropoutNd):
    """`AlphaDropout` of whole channels."""
