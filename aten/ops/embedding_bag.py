"""Bags of rows of a table: their sums, means and maxima, without the rows themselves, and derivatives."""

from typing import Any

from aten import dtype as dtypes
from aten.meta import Meta
from aten.op import composite, op, ops
from aten.ops.by_definition import by_definition
from aten.ops.embedding import embedding, embedding_backward
from aten.scalar.unpatched import math
from aten.shapes import is_empty

_HIDDEN = ["fused", "function_only", "hidden"]


# ------------------------------------------------------------------------------------------------ bags of given rows
@composite("bags_of_rows(Tensor rows, Tensor? kept, LongTensor? starts, str mode) -> Tensor", tags=["function_only", "hidden"])
def bags_of_rows(rows, kept, starts, mode):
    """Sums, means or maxima of rows (N, L, D) → (N, D), or of rows (n, D) cut at `starts` → (bags, D); those that are not `kept`
    do not count, and bags of none are zeros."""
    if starts is None:
        return _of_blocks(rows, kept, mode)
    bags = starts.shape[0]
    places = ops.arange(rows.shape[0], device=rows.device)
    bag = _bag_of(rows.shape[0], starts)
    if kept is not None:
        rows = ops.where(kept.unsqueeze(-1), rows, 0.0 if mode != "max" else -math.inf)
    counts = _counts(bag, kept, bags).unsqueeze(1)
    if mode == "max":
        if is_empty(rows.shape[0]):
            return rows.new_zeros([bags, rows.shape[1]])
        best = rows.new_full([bags, rows.shape[1]], -math.inf)
        best = best.index_reduce(0, bag, rows.detach(), "amax")
        first = ops.where(rows.detach() == best.index_select(0, bag), places.unsqueeze(1), rows.shape[0])
        at = bag.new_full([bags, rows.shape[1]], rows.shape[0] - 1).index_reduce(0, bag, first, "amin")
        return ops.where(counts > 0, rows.gather(0, at), 0.0)
    total = rows.new_zeros([bags, rows.shape[1]]).index_add(0, bag, rows)
    return total if mode == "sum" else total / counts.clamp(min=1).to(rows.dtype)


def _of_blocks(rows: Any, kept: Any, mode: str) -> Any:
    """rows: (N, L, D) → (N, D)."""
    if is_empty(rows.shape[1]):
        return ops.sum(rows, [1])
    if mode == "max":
        best = ops.max_dim(rows if kept is None else ops.where(kept.unsqueeze(-1), rows, -math.inf), 1)[0]
        return best if kept is None else ops.where(ops.any(kept, 1, True), best, 0.0)
    total = ops.sum(rows if kept is None else ops.where(kept.unsqueeze(-1), rows, 0.0), [1])
    if mode == "sum":
        return total
    return total / (rows.shape[1] if kept is None else ops.sum(kept, [1], True).clamp(min=1).to(rows.dtype))


def _bag_of(count: Any, starts: Any) -> Any:
    """The bag of each of `count` rows."""
    return ops.bucketize(ops.arange(count, device=starts.device), starts, right=True) - 1


def _counts(bag: Any, kept: Any, bags: Any) -> Any:
    counted = ops.ones_like(bag) if kept is None else kept.to(dtypes.int64)
    return bag.new_zeros([bags]).index_add(0, bag, counted)


# ---------------------------------------------------------------------------------------------------- sums and means
# indices (N, L), or (n,) cut at `starts`, which begin with 0; scales have the sizes of indices; row `padding_idx` does not
# count (-1: all do).
@op(
    "embedding_sums(Tensor weight, LongTensor indices, LongTensor? starts, Tensor? scales, bool mean, int padding_idx) -> Tensor",
    tags=_HIDDEN,
)
def embedding_sums(weight: Meta, indices: Meta, starts: Any, scales: Any, mean: bool, padding_idx: int) -> Meta:
    """The sums of the rows of each bag, each times its scale, or their means."""
    return Meta.contiguous(((starts or indices).sizes[0], weight.sizes[1]), weight.dtype, weight.device)


@op(
    "embedding_sums_backward(Tensor grad, LongTensor indices, LongTensor? starts, Tensor? scales, bool mean, int padding_idx, "
    "int num_weights) -> Tensor",
    tags=_HIDDEN,
)
def embedding_sums_backward(
    grad: Meta, indices: Meta, starts: Any, scales: Any, mean: bool, padding_idx: int, num_weights: Any
) -> Meta:
    """The gradient of the table of `num_weights` rows."""
    return Meta.contiguous((num_weights, grad.sizes[1]), grad.dtype, grad.device)


@op(
    "embedding_dots(Tensor grad, Tensor weight, LongTensor indices, LongTensor? starts, int padding_idx) -> Tensor",
    tags=_HIDDEN,
)
def embedding_dots(grad: Meta, weight: Meta, indices: Meta, starts: Any, padding_idx: int) -> Meta:
    """The product of each row with the gradient of its bag: the gradient of scales."""
    return Meta.contiguous(indices.sizes, grad.dtype, grad.device)


def _rows(weight, indices):
    """The rows, with PyTorch's error of bags for an index that is none."""
    try:
        return embedding(weight, indices)
    except IndexError:
        n = weight.shape[0]
        raise RuntimeError(f"embedding_bag: Expected idx >= 0 && idx < num_embeddings, but an index is not in [0, {n})") from None


@embedding_sums.decompose
def _(weight, indices, starts, scales, mean, padding_idx):
    rows = _rows(weight, indices)
    rows = rows if scales is None else rows * scales.unsqueeze(-1)
    return bags_of_rows(rows, _kept(indices, padding_idx), starts, "mean" if mean else "sum")


@embedding_sums_backward.decompose
def _(grad, indices, starts, scales, mean, padding_idx, num_weights):
    kept, flat = _kept(indices, padding_idx), indices.reshape([-1])
    kept = None if kept is None else kept.reshape([-1])
    bag = _bags(indices, starts)
    if mean:
        grad = grad / _counts(bag, kept, grad.shape[0]).clamp(min=1).to(grad.dtype).unsqueeze(1)
    rows = ops.index_select(grad, 0, bag)
    rows = rows if scales is None else rows * scales.reshape([-1, 1])
    return embedding_backward(rows if kept is None else ops.where(kept.unsqueeze(1), rows, 0.0), flat, num_weights)


@embedding_dots.decompose
def _(grad, weight, indices, starts, padding_idx):
    kept = _kept(indices, padding_idx)
    rows = ops.index_select(grad, 0, _bags(indices, starts)) * embedding(weight, indices.reshape([-1]))
    found = ops.sum(rows, [1]).reshape(list(indices.shape))
    return found if kept is None else ops.where(kept, found, 0.0)


def _kept(indices: Any, padding_idx: int) -> Any:
    return None if padding_idx < 0 else ops.ne(indices, padding_idx)


def _bags(indices: Any, starts: Any) -> Any:
    """The bag of each index, in one row."""
    if starts is not None:
        return _bag_of(indices.shape[0], starts)
    bags, length = indices.shape
    return ops.arange(bags, device=indices.device).unsqueeze(1).expand([bags, length]).reshape([-1])


embedding_sums.vjp(
    (
        lambda g, weight_meta, indices, starts, scales, mean, padding_idx: embedding_sums_backward(
            g, indices, starts, scales, mean, padding_idx, weight_meta.sizes[0]
        ),
        lambda g, weight, indices, starts, padding_idx: embedding_dots(g, weight, indices, starts, padding_idx),
    )
)
embedding_sums_backward.vjp(
    (
        lambda g, indices, starts, scales, mean, padding_idx: embedding_sums(g, indices, starts, scales, mean, padding_idx),
        lambda g, grad, indices, starts, padding_idx: embedding_dots(grad, g, indices, starts, padding_idx),
    )
)
embedding_dots.vjp(
    (
        lambda g, weight, indices, starts, padding_idx: embedding_sums(weight, indices, starts, g, False, padding_idx),
        lambda g, grad, weight_meta, indices, starts, padding_idx: embedding_sums_backward(
            grad, indices, starts, g, False, padding_idx, weight_meta.sizes[0]
        ),
    )
)


# ------------------------------------------------------------------------------------------------------------ maxima
@op(
    "embedding_maxima(Tensor weight, LongTensor indices, LongTensor? starts, int padding_idx) -> (Tensor values, Tensor places)",
    tags=_HIDDEN,
)
def embedding_maxima(weight: Meta, indices: Meta, starts: Any, padding_idx: int) -> tuple[Meta, Meta]:
    """The largest element of each column of the rows of each bag, and the row it is from; 0 and -1 of empty bags."""
    values = Meta.contiguous(((starts or indices).sizes[0], weight.sizes[1]), weight.dtype, weight.device)
    return values, values.like(dtype=dtypes.int64)


@embedding_maxima.decompose
def _(weight, indices, starts, padding_idx):
    kept, width = _kept(indices, padding_idx), weight.shape[1]
    if is_empty(indices.shape[-1]):
        bags = (indices if starts is None else starts).shape[0]
        return weight.new_zeros([bags, width]), indices.new_full([bags, width], -1, dtype=dtypes.int64)
    rows = _rows(weight, indices)
    rows = rows if kept is None else ops.where(kept.unsqueeze(-1), rows, -math.inf)
    if starts is None:
        tap = ops.max_dim(rows, 1)[1]
        places = ops.gather(indices, 1, tap)
        filled = None if kept is None else ops.any(kept, 1, True)
    else:
        n, bags = indices.shape[0], starts.shape[0]
        bag, there = _bag_of(n, starts), ops.arange(n, device=starts.device)
        best = rows.new_full([bags, width], -math.inf).index_reduce(0, bag, rows, "amax").index_select(0, bag)
        attained = ops.eq(rows, best) | (ops.ne(rows, rows) & ops.ne(best, best))
        first = ops.where(attained, there.unsqueeze(1), n - 1)
        at = bag.new_full([bags, width], n - 1).index_reduce(0, bag, first, "amin")
        places = ops.index_select(indices, 0, at.reshape([-1])).reshape([bags, width])
        filled = _counts(bag, kept, bags).unsqueeze(1) > 0
    places = places.to(dtypes.int64)
    values = ops.gather(weight, 0, places)
    return (values, places) if filled is None else (ops.where(filled, values, 0.0), ops.where(filled, places, -1))


@embedding_maxima.vjp
def _(g, places, weight_meta):
    zeros = ops.zeros(weight_meta.sizes, dtype=weight_meta.dtype, device=weight_meta.device)
    if g[0] is None or is_empty(weight_meta.sizes[0]):
        return zeros
    return ops.scatter_add(zeros, 0, places.clamp(min=0), ops.where(places < 0, 0.0, g[0]))


def check_starts(starts: Any, length: int) -> None:
    """Raises RuntimeError unless bags that begin at `starts` begin with the first of `length` indices and end with the last."""
    first, last = (int(starts[0]), int(starts[-1])) if len(starts) else (0, 0)
    if first != 0:
        raise RuntimeError(
            f"offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, got {first}"
        )
    if last > length:
        raise RuntimeError(f"offsets[-1] can not be greater than input's length({length}) but got offsets[-1] of {last}")


def _with_starts(made: Any) -> Any:
    """The definition, of bags that are given by a graph: nobody has looked at where they begin."""

    def run(weight: Any, indices: Any, starts: Any, *rest: Any) -> Any:
        if starts is not None:
            check_starts(starts, indices.shape[0])
        return made.decompose_fn(weight, indices, starts, *rest)

    return run


for _made in (embedding_sums, embedding_maxima):
    _made.kernel(by_definition(_with_starts(_made)))
for _made in (embedding_sums_backward, embedding_dots):
    _made.kernel(by_definition(lambda *args, made=_made: made.decompose_fn(*args)))
