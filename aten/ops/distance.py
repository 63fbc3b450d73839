"""Distances between rows."""

import math
from typing import Any

from aten.op import composite, ops
from aten.ops.reduction import vector_norm
from aten.promotion import TYPE_NAMES, category


@composite("cdist(Tensor x1, Tensor x2, float p=2.0, str? compute_mode=None) -> Tensor", tags=["function_only"])
def cdist(x1, x2, p, compute_mode):
    """p-norms of all differences between rows of x1 and rows of x2."""
    if x1.ndim < 2 or x2.ndim < 2:
        raise RuntimeError(
            f"cdist only supports at least 2D tensors, X1 got: {x1.ndim}D"
            if x1.ndim < 2
            else f"cdist only supports at least 2D tensors, X2 got: {x2.ndim}D"
        )
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if category(x1.dtype) < 2:
        raise RuntimeError(f"cdist only supports floating-point dtypes, X1 got: {TYPE_NAMES[x1.dtype.name]}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if compute_mode not in (None, *MODES):
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    if p == 2 and compute_mode != DIRECTLY and x1.dtype == x2.dtype and x1.dtype.itemsize > 2:
        if compute_mode == BY_PRODUCTS or x1.shape[-2] > 25 or x2.shape[-2] > 25:
            return _by_products(x1, x2)
    return _lengths(x1.unsqueeze(-2) - x2.unsqueeze(-3), p)


DIRECTLY, BY_PRODUCTS = "donot_use_mm_for_euclid_dist", "use_mm_for_euclid_dist"
MODES = (DIRECTLY, BY_PRODUCTS, "use_mm_for_euclid_dist_if_necessary")


def _by_products(x1: Any, x2: Any) -> Any:
    """Euclidean distances from |a|^2 + |b|^2 - 2 a b, as one matrix product: fast, and rows that are close lose digits. No
    gradient flows where the distance is 0."""
    norms = [ops.sum(x * x, [-1], True) for x in (x1, x2)]
    left = ops.cat([x1 * -2, norms[0], ops.ones_like(norms[0])], -1)
    right = ops.cat([x2, ops.ones_like(norms[1]), norms[1]], -1)
    squared = ops.matmul(left, right.transpose(-1, -2))
    none = squared <= 0
    return ops.where(none, 0.0, ops.where(none, 1.0, squared).sqrt())


def _lengths(difference: Any, p: float) -> Any:
    """p-norms along the last dimension. Of the maximum every element that attains it gets the whole gradient."""
    if p != math.inf or 0 in difference.shape[-1:]:
        return vector_norm(difference, 1 if p == math.inf else p, -1, False)
    size = difference.abs()
    largest = ops.amax(size.detach(), [-1], True)
    attained = ops.sum(ops.where(ops.eq(size, largest), size, 0), [-1])
    return ops.replace_values(attained, largest.squeeze([-1]))


@composite("pdist(Tensor input, float p=2.0) -> Tensor", tags=["function_only"])
def pdist(input, p):
    """p-norms of the differences of all pairs of rows, in order."""
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if category(input.dtype) < 2:
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    n = input.shape[0]
    pairs = ops.triu_indices(n, n, 1)
    return _lengths(ops.index_select(input, 0, pairs[0]) - ops.index_select(input, 0, pairs[1]), p)


@composite(
    "triplet_margin_with_distance_loss(Tensor anchor, Tensor positive, Tensor negative, *, Any distance_function=None, "
    "float margin=1.0, bool swap=False, str reduction='mean') -> Tensor",
    tags=["function_only"],
)
def triplet_margin_with_distance_loss(anchor, positive, negative, distance_function, margin, swap, reduction):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin) for a distance of the caller."""
    from aten.ops.loss import reduce_loss

    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = distance_function or (lambda a, b: ops.pairwise_distance(a, b))
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = ops.minimum(far, distance(positive, negative))
    return reduce_loss((near - far + margin).clamp(min=0), reduction)
