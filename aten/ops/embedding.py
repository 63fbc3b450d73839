"""Rows of a table by index, and their gradient."""

from typing import Any

import numpy as np

from aten.meta import Meta
from aten.op import op, ops
from aten.ops.accumulate import add_at
from aten.ops.indexing import INDEX_DTYPES
from aten.promotion import TYPE_NAMES


@op(
    "embedding(Tensor weight, LongTensor indices, *, int? padding_idx=None) -> Tensor",
    tags=["indexing", "function_only"],
    native="index",
)
def embedding(weight: Meta, indices: Meta) -> Meta:
    """Rows of a matrix. Raises IndexError for an index outside it."""
    if indices.dtype not in INDEX_DTYPES:
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{TYPE_NAMES[indices.dtype.name]}Tensor instead (while checking arguments for embedding)"
        )
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    return weight.like(sizes=(*indices.sizes, weight.sizes[1]))


@embedding.kernel
def _(out, weight, indices):
    if indices.size and (indices.min() < 0 or indices.max() >= weight.shape[0]):
        raise IndexError("index out of range in self")
    np.take(weight, indices, axis=0, out=out if out.flags.c_contiguous else None, mode="clip")


@embedding.special(lambda weight, indices, padding_idx: padding_idx is not None)
def _(weight, indices, padding_idx):
    return ops.embedding_padded(weight, indices, padding_idx)


embedding.vjp(lambda g, indices, weight_meta: embedding_backward(g, indices, weight_meta.sizes[0]))
embedding.jvp(lambda tangents, weight, indices, out: embedding(tangents[0], indices))


@op("embedding_padded(Tensor weight, LongTensor indices, int padding_idx) -> Tensor", tags=["fused", "function_only"])
def embedding_padded(weight: Meta, indices: Meta, padding_idx: int) -> Meta:
    """`embedding` whose row padding_idx gets no gradient."""
    return embedding.function(weight, indices)


embedding_padded.decompose(lambda weight, indices, padding_idx: embedding(weight, indices))


@embedding_padded.vjp
def _(g, indices, weight_meta, padding_idx):
    padding_idx = padding_idx + weight_meta.sizes[0] if padding_idx < 0 else padding_idx
    kept = ops.where(ops.eq(indices, padding_idx).unsqueeze(-1), 0, g)
    return embedding_backward(kept, indices, weight_meta.sizes[0])


@op(
    "embedding_backward(Tensor grad, LongTensor indices, int num_weights) -> Tensor",
    tags=["indexing", "function_only"],
    compute="float32",
    native="index",
)
def embedding_backward(grad: Meta, indices: Meta, num_weights: Any) -> Meta:
    """Zeros [num_weights, n] with the rows of grad added at their indices."""
    return grad.like(sizes=(num_weights, grad.sizes[-1]))


@embedding_backward.kernel
def _(out, g, indices, num_weights):
    out[...] = 0
    add_at(out, (indices.reshape(-1),), g.reshape(indices.size, g.shape[-1]))


embedding_backward.vjp(lambda g, indices: embedding(g, indices))
