"""Values rounded as integers of few bits would hold them, for training that expects it: gradients go straight through."""

from __future__ import annotations

from typing import Any

import numpy as np

from aten import dtype as dtypes
from aten.meta import Meta
from aten.op import composite, op, ops


@op(
    "fake_quantized(Tensor input, Tensor scale, LongTensor zero_point, int quant_min, int quant_max) -> Tensor",
    tags=["hidden"],
    compute="float32",
)
def fake_quantized(input: Meta, scale: Meta, zero_point: Meta, quant_min: int, quant_max: int) -> Meta:
    """(clamp(round(input / scale) + zero_point) - zero_point) * scale; scale and zero_point broadcast to the input.

    Raises RuntimeError if quant_min is greater than quant_max, or for inputs that are not floating.
    """
    if quant_min > quant_max:
        raise RuntimeError("`quant_min` should be less than or equal to `quant_max`.")
    if not input.dtype.is_floating_point:
        raise RuntimeError(f"fake_quantize: expected a floating input, but got {input.dtype.name}")
    return input.like()


def _steps(input: Any, scale: Any, zero_point: Any) -> Any:
    """The integers before they are clamped."""
    return ops.round(input * (1 / scale)) + zero_point


@fake_quantized.kernel
def _(out, x, scale, zero_point, low, high):
    steps = np.clip(np.rint(x * (1 / scale)) + zero_point, low, high)
    np.multiply(steps - zero_point, scale, out=out, casting="same_kind")


@fake_quantized.decompose
def _(input, scale, zero_point, low, high):
    return ((_steps(input, scale, zero_point).clamp(low, high) - zero_point) * scale).to(input.dtype)


def _inside(g: Any, input: Any, scale: Any, zero_point: Any, low: int, high: int) -> Any:
    steps = _steps(input, scale, zero_point)
    return ops.where((steps >= low) & (steps <= high), g, 0)


fake_quantized.vjp(
    (
        lambda g, input, scale, zero_point, quant_min, quant_max: _inside(g, input, scale, zero_point, quant_min, quant_max),
        None,
        None,
    )
)


@composite(
    "fake_quantize_per_tensor_affine(Tensor input, Any scale, Any zero_point, int quant_min, int quant_max) -> Tensor",
    tags=["function_only"],
)
def fake_quantize_per_tensor_affine(input, scale, zero_point, quant_min, quant_max):
    """The values that integers from quant_min to quant_max give back, where `scale` apart is one step."""
    if not hasattr(scale, "ndim"):
        scale = ops.full([], scale, dtype=dtypes.float32, device=input.device)
    if not hasattr(zero_point, "ndim"):
        zero_point = ops.full([], zero_point, dtype=dtypes.int32, device=input.device)
    return fake_quantized(input, scale.detach(), zero_point, quant_min, quant_max)


@composite(
    "fake_quantize_per_channel_affine(Tensor input, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max)"
    " -> Tensor",
    tags=["function_only"],
)
def fake_quantize_per_channel_affine(input, scale, zero_point, axis, quant_min, quant_max):
    """As `fake_quantize_per_tensor_affine`, with a scale and a zero point for each place along `axis`."""
    sizes = [1] * input.ndim
    sizes[axis] = input.shape[axis]
    for x, name in ((scale, "scale"), (zero_point, "zero-point")):
        if x.ndim != 1 or x.shape[0] != input.shape[axis]:
            raise RuntimeError(f"dimensions of {name} and input channels should match")
    return fake_quantized(input, scale.detach().view(sizes), zero_point.view(sizes), quant_min, quant_max)
