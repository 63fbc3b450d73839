"""Distances between rows."""

from typing import Any

from aten import dtype as dtypes
from aten.meta import Meta
from aten.op import composite, op, ops
from aten.ops.by_definition import by_definition
from aten.ops.vector_norms import vector_norm
from aten.promotion import TYPE_NAMES, category
from aten.scalar.unpatched import math
from aten.shapes import broadcast

_HIDDEN = ["fused", "function_only", "hidden"]


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
    if x1.dtype is not x2.dtype:
        raise RuntimeError(f"expected scalar type {TYPE_NAMES[x1.dtype.name]} but found {TYPE_NAMES[x2.dtype.name]}")
    _refuse_halves("cdist", x1, x1.numel() and x2.numel())
    if compute_mode not in (None, *MODES):
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    if p == 2 and compute_mode != DIRECTLY and x1.dtype == x2.dtype and x1.dtype.itemsize > 2:
        if compute_mode == BY_PRODUCTS or x1.shape[-2] > 25 or x2.shape[-2] > 25:
            return _by_products(x1, x2)
    if p in _NATIVE_NORMS and x1.dtype == x2.dtype and x1.dtype in _NATIVE_DTYPES:
        lead = list(broadcast(x1.shape[:-2], x2.shape[:-2]))
        x1, x2 = (x if list(x.shape[:-2]) == lead else x.expand([*lead, *x.shape[-2:]]) for x in (x1, x2))
        return row_distances(x1, x2, float(p))
    return _of_all(x1, x2, p)


def _refuse_halves(name: str, x: Any, number: Any) -> None:
    """Raises NotImplementedError for halves that distances would be computed of."""
    if x.dtype in (dtypes.float16, dtypes.bfloat16) and bool(number != 0):
        raise NotImplementedError(f"\"{name}\" not implemented for '{TYPE_NAMES[x.dtype.name]}'")


_NATIVE_NORMS, _NATIVE_DTYPES = (0, 1, 2, math.inf), (dtypes.float32, dtypes.float64)


def _of_all(x1: Any, x2: Any, p: float) -> Any:
    return _lengths(x1.unsqueeze(-2) - x2.unsqueeze(-3), p)


@op("row_distances(Tensor x1, Tensor x2, float p) -> Tensor", tags=_HIDDEN)
def row_distances(x1: Meta, x2: Meta, p: float) -> Meta:
    """p-norms of all differences between rows of x1 [*, n, k] and rows of x2 [*, m, k]."""
    return Meta.contiguous((*x1.sizes[:-1], x2.sizes[-2]), x1.dtype, x1.device)


@op("row_distances_backward(Tensor grad, Tensor x1, Tensor x2, Tensor distances, float p) -> Tensor", tags=_HIDDEN)
def row_distances_backward(grad: Meta, x1: Meta, x2: Meta, distances: Meta, p: float) -> Meta:
    """The gradient of x1."""
    return Meta.contiguous(x1.sizes, x1.dtype, x1.device)


@op("row_distances_within(Tensor input, float p) -> Tensor", tags=_HIDDEN)
def row_distances_within(input: Meta, p: float) -> Meta:
    """p-norms of the differences between each row of a matrix and those after it."""
    n = input.sizes[0]
    return Meta.contiguous((n * (n - 1) // 2,), input.dtype, input.device)


@op("row_distances_within_backward(Tensor grad, Tensor input, Tensor distances, float p) -> Tensor", tags=_HIDDEN)
def row_distances_within_backward(grad: Meta, input: Meta, distances: Meta, p: float) -> Meta:
    """The gradient of the matrix."""
    return Meta.contiguous(input.sizes, input.dtype, input.device)


def _of_pairs(input: Any, p: float) -> Any:
    n = input.shape[0]
    pairs = ops.triu_indices(n, n, 1)
    return _lengths(ops.index_select(input, 0, pairs[0]) - ops.index_select(input, 0, pairs[1]), p)


def _pulled(grad: Any, x: Any, function: Any) -> Any:
    from aten.transforms.reverse_mode import vjp  # which is made of ops

    return vjp(function, x)[1](grad)[0]


row_distances.decompose(_of_all)
row_distances_within.decompose(_of_pairs)
row_distances_backward.decompose(lambda grad, x1, x2, distances, p: _pulled(grad, x1, lambda x: _of_all(x, x2, p)))
row_distances_within_backward.decompose(lambda grad, input, distances, p: _pulled(grad, input, lambda x: _of_pairs(x, p)))
for _made in (row_distances, row_distances_backward, row_distances_within, row_distances_within_backward):
    _made.kernel(by_definition(lambda *args, made=_made: made.decompose_fn(*args)))
row_distances_within.vjp(lambda g, input, out, p: row_distances_within_backward(g, input, out, p))
row_distances.vjp(
    (
        lambda g, x1, x2, out, p: row_distances_backward(g, x1, x2, out, p),
        lambda g, x1, x2, out, p: row_distances_backward(ops.transpose(g, -1, -2), x2, x1, ops.transpose(out, -1, -2), p),
    )
)


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
    if p == 0:  # unlike the norm of order 0, which counts NaN as any other number
        found = vector_norm(difference, 0, -1, False)
        return ops.where(ops.any(ops.isnan(difference), -1), math.nan, found)
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
    _refuse_halves("pdist", input, input.numel() if input.shape[0] > 1 else 0)
    if p in _NATIVE_NORMS and input.dtype in _NATIVE_DTYPES and input.device.type == "cpu":  # (its loops are not a device's)
        return row_distances_within(input, float(p))
    return _of_pairs(input, p)


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
