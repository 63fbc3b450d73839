"""Counts: of integers, of elements in intervals, classes as vectors."""

from typing import Any

import numpy as np

from aten import _native
from aten import dtype as dtypes
from aten.meta import Meta
from aten.op import composite, op, ops
from aten.ops.pieces import reduction
from aten.promotion import TYPE_NAMES, category
from aten.scalar.unpatched import math
from aten.shapes import product, show
from aten.symbolic.unknown import unknown_size


@op(
    "bincount(Tensor input, Tensor? weights=None, int minlength=0) -> Tensor",
    tags=["dynamic", "library", "raises"],
    native="structure",
)
def bincount(input: Meta, weights: Any, minlength: int) -> Meta:
    """How often each non-negative integer occurs (or the sum of its weights)."""
    plain = weights is None or (type(input.numel()) is int and input.numel() == 0)  # of nothing counts, weights or not
    counted = dtypes.int64 if plain else weights.dtype if weights.dtype is dtypes.float32 else dtypes.float64
    return Meta(counted, input.device, (unknown_size("the sizes of bincount() depend on the data"),), (1,))


@bincount.kernel
def _(x, weights, minlength):
    if x.dtype.kind not in "iu":
        raise NotImplementedError(f"\"bincount_cpu\" not implemented for '{TYPE_NAMES[x.dtype.name]}'")
    if x.ndim != 1 or (x.size and reduction(np.minimum, x) < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if weights is not None and weights.shape != x.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    if weights is None or not x.size:
        return np.bincount(x.astype(np.int64), None, minlength).astype(np.int64)
    result = np.bincount(x.astype(np.int64), weights.real if weights.dtype.kind == "c" else weights, minlength)
    return result.astype(weights.dtype if weights.dtype == np.float32 else np.float64)


@op("histc(Tensor input, int bins=100, Scalar min=0, Scalar max=0) -> Tensor", tags=["library", "raises", "constant"])
def histc(input: Meta, bins: int, min: Any, max: Any) -> Meta:
    """How many elements fall into each of `bins` equal intervals of [min, max] (by default the data's range)."""
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    if not (math.isfinite(min) and math.isfinite(max)):
        raise RuntimeError(f"torch.histc: range of [{min:g}, {max:g}] is not finite")
    if min > max:
        raise RuntimeError("torch.histc: max must be larger than min")
    _check_counted(input.dtype)
    return input.like(sizes=(bins,))


def _check_counted(dtype: Any) -> None:
    if category(dtype) < 2:
        raise NotImplementedError(f"\"histogram_cpu\" not implemented for '{TYPE_NAMES[dtype.name]}'")


@histc.kernel
def _(out, x, bins, low, high):
    if low == high and x.size:
        low, high = float(reduction(np.minimum, x).item()), float(reduction(np.maximum, x).item())
    if low == high:
        low, high = low - 1, high + 1
    if not (np.isfinite(low) and np.isfinite(high)):
        raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
    out[...] = np.histogram(x[~np.isnan(x)], bins, (low, high))[0]


@composite("one_hot(Tensor tensor, int num_classes=-1) -> Tensor", tags=["function_only"])
def one_hot(tensor, num_classes):
    """1 at the index, 0 elsewhere, in a new last dimension of num_classes (by default one more than the largest
    index).
    """
    if tensor.dtype is not dtypes.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if num_classes == -1 and tensor.numel() == 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if _is_traced(tensor):  # scatter checks what cannot be asked here
        count = ops.amax(tensor).item() + 1 if num_classes == -1 else num_classes
        zeros = ops.zeros((*tensor.shape, count), dtype=dtypes.int64, device=tensor.device)
        return ops.scatter(zeros, -1, tensor.unsqueeze(-1), 1)
    made = _native.one_hot(tensor, num_classes)
    if made is not None:
        return made
    if tensor.numel() and not tensor.is_meta:
        low, high = [int(x.item()) for x in ops.aminmax(tensor)]
        num_classes = high + 1 if num_classes == -1 else num_classes
        if low < 0:
            raise RuntimeError("Class values must be non-negative.")
        if high >= num_classes:
            raise RuntimeError("Class values must be smaller than num_classes.")
    made = ops.zeros((*tensor.shape, num_classes), dtype=dtypes.int64, device=tensor.device)
    return made.scatter_(-1, tensor.unsqueeze(-1), 1)


def _is_traced(x: Any) -> bool:
    return _native.is_tracer(x)


@op("histogramdd_kernel(Tensor input, Any bins, Any range, Tensor? weight, bool density) -> Tensor[]",
    tags=["dynamic", "library", "function_only", "raises"])  # fmt: skip
def histogramdd_kernel(input: Meta, bins: Any, range: Any, weight: Any, density: bool) -> Meta:
    """Counts of points [n, d] in a grid of cells, then the edges of each dimension."""
    unknown_size("the edges of histograms depend on the data")  # not their number, but they are not computed as graphs are
    cells = [b if isinstance(b, int) else b.sizes[0] - 1 for b in bins]
    counts = input.like(sizes=tuple(cells))
    return (counts, *(input.like(sizes=(n + 1,)) for n in cells))  # type: ignore[return-value]


def _cell(edges: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The number of the cell of each x by halving, whatever the order of the edges; -1 outside. The last edge is in the last."""
    first, count = np.zeros(x.shape, np.int64), np.full(x.shape, len(edges))
    while (count > 0).any():
        step = count // 2
        at = np.minimum(first + step, len(edges) - 1)
        right = (count > 0) & ~(x < edges[at])
        first, count = np.where(right, first + step + 1, first), np.where(right, count - step - 1, step)
    cell = np.where(x == edges[-1], len(edges) - 2, first - 1)
    return np.where((x >= edges[0]) & (x <= edges[-1]), cell, -1)


def _counted(x: np.ndarray, edges: list[np.ndarray], weight: np.ndarray | None, density: bool) -> np.ndarray:
    """How many points (or how much weight) lie in each cell of the grid of edges; per volume and in all 1, if asked."""
    counts = np.zeros([max(len(e) - 1, 0) for e in edges])
    cells = np.stack([_cell(e, x[:, d]) for d, e in enumerate(edges)]) if x.size and counts.size else np.full((len(edges), 0), 0)
    inside = (cells >= 0).all(0)
    np.add.at(counts, tuple(cells[:, inside]), 1.0 if weight is None or not cells.size else weight[inside])
    if density:
        counts = counts / counts.sum()
        for d, e in enumerate(edges):
            counts = counts / np.diff(e).reshape([-1 if k == d else 1 for k in np.arange(len(edges))])
    return counts


@histogramdd_kernel.kernel
def _(x, bins, range, weight, density):
    edges = [b.numpy() if hasattr(b, "numpy") else b for b in bins]
    if all(isinstance(e, np.ndarray) for e in edges):
        counts = _counted(x, edges, None if weight is None else weight.reshape(-1), density)
        return (counts.astype(x.dtype), *(e.astype(x.dtype) for e in edges))
    limits = None if range is None else [(range[2 * d], range[2 * d + 1]) for d in np.arange(len(edges))]
    if limits is None and x.size:
        for d, (low, high) in enumerate(zip(x.min(0), x.max(0))):
            if not (np.isfinite(low) and np.isfinite(high)):
                raise RuntimeError(f"torch.histogramdd: dimension {d}'s range [{low:g}, {high:g}] is not finite")
    counts, found = np.histogramdd(x, edges, limits, density, None if weight is None else weight.reshape(-1))
    return (counts.astype(x.dtype), *(e.astype(x.dtype) for e in found))


def _check(input: Any, bins: list[Any], range: Any, weight: Any) -> None:
    """Raises, in PyTorch's words, for points [n, d] that cannot be counted so."""
    name, d = "torch.histogramdd:", input.shape[1]
    if len(bins) != d:
        raise RuntimeError(f"{name} expected {d} sequences of bin edges for a {d}-dimensional histogram but got {len(bins)}")
    for i, edges in enumerate(bins):
        if isinstance(edges, int):
            if edges <= 0:
                raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {edges} for dimension {i}")
            continue
        if edges.dtype is not input.dtype:
            raise RuntimeError(
                f"{name} input tensor and bins tensors should have the same dtype, but got input with dtype "
                f"{TYPE_NAMES[input.dtype.name]} and bins for dimension {i} with dtype {TYPE_NAMES[edges.dtype.name]}"
            )
        for holds, text in (
            (edges.ndim == 1, f"one dimension, but got {edges.ndim} dimensions"),
            (edges.numel(), "at least 1 element, but got 0 elements"),
        ):
            if not holds:
                raise RuntimeError(f"{name} bins tensor should have {text} in the bins tensor for dimension {i}")
    if weight is not None and weight.dtype is not input.dtype:
        raise RuntimeError(
            f"{name} if weight tensor is provided, input tensor and weight tensor should have the same dtype, but got "
            f"input({TYPE_NAMES[input.dtype.name]}), and weight({TYPE_NAMES[weight.dtype.name]})"
        )
    if range is not None and len(range) != 2 * d:
        raise RuntimeError(f"{name} for a {d}-dimensional histogram range should have {2 * d} elements, but got {len(range)}")
    for i in np.arange(d if range is not None else 0):
        low, high = range[2 * i], range[2 * i + 1]
        if not (math.isfinite(low) and math.isfinite(high)):
            raise RuntimeError(f"{name} dimension {i}'s range [{low:g}, {high:g}] is not finite")
        if low > high:
            raise RuntimeError(f"{name} min should not exceed max, but got min {low:g} max {high:g} for dimension {i}")
    _check_counted(input.dtype)


def _check_weight(sizes: Any, weight: Any) -> None:
    if weight is not None and list(weight.shape) != list(sizes):
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor excluding its "
            f"innermost dimension, but got input with shape {show([*sizes, 1])} and weight with shape {show(weight.shape)}"
        )


@composite(
    "histogramdd(Tensor input, Any bins, *, Any range=None, Tensor? weight=None, bool density=False) -> "
    "(Tensor hist, Tensor[] bin_edges)",
    tags=["function_only"],
)
def histogramdd(input, bins, range, weight, density):
    """Counts of the points of the last dimension in a grid of cells, and the edges of the cells."""
    if input.ndim < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    points = input.reshape([product(input.shape[:-1]), input.shape[-1]])
    bins = [bins] * points.shape[1] if isinstance(bins, int) else list(bins)
    _check(points, bins, range, weight)
    _check_weight(input.shape[:-1], weight)
    counts, *edges = histogramdd_kernel(points, bins, range, weight, density)
    return histogramdd.schema.result_type((counts, tuple(edges)))


@composite(
    "histogram(Tensor input, Any bins=100, *, Any range=None, Tensor? weight=None, bool density=False) -> "
    "(Tensor hist, Tensor bin_edges)"
)
def histogram(input, bins, range, weight, density):
    """Counts of elements in intervals, and their edges."""
    if range is not None and not isinstance(bins, int):
        raise TypeError("histogram() received an invalid combination of arguments - got (Tensor, Tensor, range=tuple)")
    if input.dtype in (dtypes.float16, dtypes.bfloat16):
        raise NotImplementedError(f"\"histogramdd\" not implemented for '{TYPE_NAMES[input.dtype.name]}'")
    _check(input.reshape([-1, 1]), [bins], range, weight)
    _check_weight(input.shape, weight)
    counts, edges = histogramdd_kernel(input.reshape([-1, 1]), [bins], range, weight, density)
    return histogram.schema.result_type((counts, edges))
