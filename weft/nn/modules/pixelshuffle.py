"""Channels as pixels, and back."""

from __future__ import annotations

from weft.nn.layer import layer
from weft.nn.module import Module


@layer("pixel_shuffle", "upscale_factor: int")
class PixelShuffle(Module):
    """(*, C * r², H, W) to (*, C, H * r, W * r), r = upscale_factor (Shi et al. 2016)."""


@layer("pixel_unshuffle", "downscale_factor: int")
class PixelUnshuffle(Module):
    """(*, C, H * r, W * r) to (*, C * r², H, W), r = downscale_factor."""
