"""Batching rules of the ops that read and write by index."""

from typing import Any

from aten.op import ops
from aten.ops.batching import materialize, to_front
from aten.ops.embedding import embedding
from aten.ops.index_tensors import dims_of_indices, index, index_put
from aten.ops.indexing import gather, index_add, index_select, scatter, scatter_add
from aten.shapes import broadcast


@gather.batch
def _(n, dims, x, dim, i):
    if i.ndim - (dims[2] is not None) == 0:
        i, x = materialize(i, dims[2], n), materialize(x, dims[0], n)
        scalar = x.ndim == 1
        out = gather(x.unsqueeze(1) if scalar else x, 1, i.unsqueeze(1))
        return out.squeeze([1]), 0
    return gather(materialize(x, dims[0], n), dim + 1, materialize(i, dims[2], n)), 0


def _batched_scatter(made: Any) -> Any:
    def rule(n, dims, x, dim, i, src, *rest):
        x, i = materialize(x, dims[0], n), materialize(i, dims[2], n)
        src = materialize(src, dims[3], n) if hasattr(src, "dtype") else src
        if x.ndim == 1:
            src = src.reshape([n, 1]) if hasattr(src, "dtype") else src
            return made(x.unsqueeze(1), 1, i.reshape([n, 1]), src, *rest).squeeze([1]), 0
        return made(x, dim + 1, i, src, *rest), 0

    return rule


scatter.batch_fn = _batched_scatter(scatter)
scatter_add.batch_fn = _batched_scatter(scatter_add)


@index_select.batch
def _select(n, dims, x, dim, i):
    if dims[2] is None and x.ndim > 1:
        return index_select(to_front(x, dims[0]), dim + 1, i), 0
    x, i = materialize(x, dims[0], n), materialize(i, dims[2], n)
    if x.ndim == 1:
        return x, 0
    places = i.reshape([n, *([1] * dim), -1, *([1] * (x.ndim - 2 - dim))])
    sizes = list(x.shape)
    sizes[dim + 1] = places.shape[dim + 1]
    return gather(x, dim + 1, places.expand(sizes)), 0


_select.takes_scalars = True  # type: ignore[attr-defined]


@index_add.batch
def _(n, dims, x, dim, i, source):
    x, source = materialize(x, dims[0], n), materialize(source, dims[3], n)
    if dims[2] is None:
        return index_add(x, dim + 1, i, source), 0
    i = to_front(i, dims[2])
    places = i.reshape([n, *([1] * dim), -1, *([1] * (x.ndim - 2 - dim))]).expand(list(source.shape))
    return scatter_add(x, dim + 1, places, source), 0


@embedding.batch
def _(n, dims, weight, indices):
    if dims[0] is None:
        return embedding(weight, to_front(indices, dims[1])), 0
    weight, indices = to_front(weight, dims[0]), materialize(indices, dims[1], n)
    rows = weight.shape[1]
    first = ops.arange(n, device=weight.device).reshape([n, *([1] * (indices.ndim - 1))]) * rows
    return embedding(weight.reshape([n * rows, weight.shape[2]]), indices + first), 0


def _aligned(n: Any, dims: Any, at: list[Any], ndim: int) -> list[Any]:
    """Index tensors with the batch in front of their common rank."""
    result = []
    for i, d in zip(at, dims):
        if i is None:
            result.append(None)
            continue
        if d is not None:
            i = to_front(i, d)
            i = i.reshape([n, *([1] * (ndim - (i.ndim - 1))), *i.shape[1:]])
        result.append(i)
    return result


@index.batch
def _(n, dims, x, at):
    inner = dims[1] if isinstance(dims[1], (list, tuple)) else [dims[1]] * len(at)
    if all(d is None for d in inner):
        moved = to_front(x, dims[0])
        where, together = dims_of_indices(at)
        out = index(moved, [None, *at])
        if together:
            return out, 0
        rank = broadcast(*[i.shape for i in at if i is not None])
        return out, len(rank)
    ndim = max(i.ndim - (d is not None) for i, d in zip(at, inner) if i is not None)
    full = _aligned(n, inner, at, ndim)
    where, together = dims_of_indices(at)
    if dims[0] is None:
        out = index(x, full)
        return out, where[0] if together else 0
    lane = ops.arange(n, device=x.device).reshape([n] + [1] * ndim)
    moved = to_front(x, dims[0])
    out = index(moved, [lane, *full])
    if where[0] == 0 and together:
        return out, 0
    if not together or where[0] > 0:  # the lane and the indices are apart: their result comes first
        if together:
            order = [
                0,
                *range(1 + ndim, 1 + ndim + where[0]),
                *range(1, 1 + ndim),
                *range(1 + ndim + where[0], out.ndim),
            ]
            return out.permute(order), 0
    return out, 0


@index_put.batch
def _(n, dims, x, at, values, accumulate):
    inner = dims[1] if isinstance(dims[1], (list, tuple)) else [dims[1]] * len(at)
    x = materialize(x, dims[0], n)
    ndim = max(i.ndim - (d is not None) for i, d in zip(at, inner) if i is not None)
    lane = ops.arange(n, device=x.device).reshape([n] + [1] * ndim)
    full = [lane, *_aligned(n, inner, at, ndim)]
    where, together = dims_of_indices(at)
    rest = x.ndim - 1 - len(where)
    values = materialize(values, dims[2], n)
    values = values.reshape([n, *([1] * (ndim + rest - (values.ndim - 1))), *values.shape[1:]])
    if together and where[0] > 0:  # the indices' dims follow the kept ones in front of them
        k = where[0]
        values = values.permute([0, *range(1 + k, 1 + k + ndim), *range(1, 1 + k), *range(1 + k + ndim, values.ndim)])
    return index_put(x, full, values, accumulate), 0
