"""Old names of `interpolate`, and what is easily mistaken in sampling."""

from __future__ import annotations

import warnings
from typing import Any

import aten
from aten import Tensor
from weft.overrides import handle_torch_function, has_torch_function, has_torch_function_unary

GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}  # by the numbers of `torch.grid_sampler`
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}


def _old(name: str) -> None:
    warnings.warn(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=3)


def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    _old("upsample")
    return aten.interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    _old("upsample_nearest")
    return aten.interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    _old("upsample_bilinear")
    return aten.interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def _old_corners(name: str) -> None:
    warnings.warn(
        f"Default {name} behavior has changed to align_corners=False since 1.3.0. Please specify align_corners=True if the old "
        f"behavior is desired. See the documentation of {name} for details.",
        stacklevel=3,
    )


def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    if (type(input) is not Tensor or type(grid) is not Tensor) and has_torch_function((input, grid)):
        given = {"mode": mode, "padding_mode": padding_mode, "align_corners": align_corners}
        return handle_torch_function(grid_sample, (input, grid), input, grid, **given)
    if align_corners is None:
        _old_corners("grid_sample")
        align_corners = False
    return aten.grid_sample(input, grid, mode, padding_mode, align_corners)


def affine_grid(theta: Tensor, size: list[int], align_corners: bool | None = None) -> Tensor:
    if type(theta) is not Tensor and has_torch_function_unary(theta):
        return handle_torch_function(affine_grid, (theta,), theta, size, align_corners=align_corners)
    if align_corners is None:
        _old_corners("affine_grid")
        align_corners = False
    return aten.affine_grid(theta, size, align_corners)
