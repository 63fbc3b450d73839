"""Windows of images as columns, and back."""

from __future__ import annotations

from weft.nn.layer import layer
from weft.nn.module import Module


@layer("fold", "output_size, kernel_size, dilation=1, padding=0, stride=1")
class Fold(Module):
    """Columns ([N,] C * product(kernel), L) added at their places in images ([N,] C, *output_size)."""


@layer("unfold", "kernel_size, dilation=1, padding=0, stride=1")
class Unfold(Module):
    """The windows of images (N, C, H, W) as columns (N, C * product(kernel), L)."""
