"""What attention modules of others take from torch.nn.functional."""

from __future__ import annotations

import math
import warnings
from typing import Any

import aten
from aten import Tensor


def _none_or_dtype(input: Tensor | None) -> Any:
    if input is None:
        return None
    if isinstance(input, Tensor):
        return input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _canonical_mask(
    mask: Tensor | None, mask_name: str, other_type: Any, other_name: str, target_type: Any, check_other: bool = True
) -> Tensor | None:
    """A mask as summands of `target_type`. Raises AssertionError for integers; warns where two masks are of different kinds."""
    if mask is None:
        return None
    if mask.dtype is not aten.bool and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype is not other_type:
        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.", stacklevel=3
        )
    if mask.is_floating_point():
        return mask
    return aten.zeros_like(mask, dtype=target_type).masked_fill_(mask, -math.inf)


def _in_projection(
    q: Tensor, k: Tensor, v: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor,
    b_q: Tensor | None = None, b_k: Tensor | None = None, b_v: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    return aten.linear(q, w_q, b_q), aten.linear(k, w_k, b_k), aten.linear(v, w_v, b_v)


def _in_projection_packed(q: Tensor, k: Tensor, v: Tensor, w: Tensor, b: Tensor | None = None) -> list[Tensor]:
    """The projections by one weight (3 * E, E)."""
    weights = w.chunk(3)
    biases = (None, None, None) if b is None else b.chunk(3)
    return [aten.linear(x, weight, bias) for x, weight, bias in zip((q, k, v), weights, biases)]
