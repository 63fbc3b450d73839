"""Indexing composites: by flat position, along a dimension, with reduction."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from aten import dtype as dtypes
from aten.laid_out import laid_out_as
from aten.meta import Meta, contiguous_strides, dense_strides
from aten.op import alias_of, composite, op, ops
from aten.ops.batching import to_front
from aten.promotion import TYPE_NAMES, category
from aten.shapes import is_int, product, wrap_dim
from aten.symbolic.unknown import decided


def _flat(index: Any, name: str) -> Any:
    """The index, which is one of flat positions; those below 0 count from the end, as `index` has them."""
    if index.dtype is not dtypes.int64:
        raise RuntimeError(f"{name}(): Expected a long tensor for index, but got {TYPE_NAMES[index.dtype.name]}")
    return index


@composite("take(Tensor input, LongTensor index) -> Tensor")
def take(input, index):
    """Elements by their position in row-major order."""
    flat = input.reshape([-1])
    return ops.index(flat, [_flat(index, "take")])


@composite("put(Tensor input, LongTensor index, Tensor source, bool accumulate=False) -> Tensor", tags=["indexing"], inplace=True)
def put(input, index, source, accumulate):
    """input with elements at positions in row-major order replaced (or added to)."""
    if product(index.shape) != product(source.shape):
        raise IndexError(
            f"put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{product(source.shape)}, index.numel() = {product(index.shape)}"
        )
    flat = input.reshape([-1])
    at = _flat(index, "put_").reshape([-1])
    changed = ops.index_put(flat, [at], source.reshape([-1]), accumulate).reshape(list(input.shape))
    return laid_out_as(changed, dense_strides(Meta.of(input)))


@composite("take_along_dim(Tensor input, LongTensor indices, int? dim=None) -> Tensor")
def take_along_dim(input, indices, dim):
    """`gather` with broadcasting of the other dimensions; without dim of the flattened tensor."""
    if dim is None:
        return ops.gather(input.reshape([-1]), 0, indices.reshape([-1]))
    if indices.dtype is not dtypes.int64:
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {TYPE_NAMES[indices.dtype.name]}")
    if input.ndim != indices.ndim:
        raise RuntimeError(
            f"torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{input.ndim} "
            f"dimensions for input, and {indices.ndim} dimensions for indices"
        )
    d = wrap_dim(dim, input.ndim)
    sizes = [max(a, b) if 0 not in (a, b) else 0 for a, b in zip(input.shape, indices.shape)]
    x = input.expand([input.shape[k] if k == d else s for k, s in enumerate(sizes)])
    indices = ops.where(indices < 0, indices + input.shape[d], indices)
    return ops.gather(x, d, indices.expand([indices.shape[k] if k == d else s for k, s in enumerate(sizes)]))


@composite(
    "index_reduce(Tensor input, int dim, LongTensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor",
    tags=["indexing"],
    inplace=True,
)
def index_reduce(input, dim, index, source, reduce, include_self):
    """input with slices of source combined into the slices of dim that index names."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    if not include_self and (input.dtype.is_complex or input.dtype is dtypes.bool):
        name = TYPE_NAMES[input.dtype.name]
        raise NotImplementedError(f"\"index_reduce_func_exclude_input_init\" not implemented for '{name}'")
    d = wrap_dim(dim, input.ndim)
    source = source if input.ndim else source.reshape([])
    at = index.reshape([-1 if k == d else 1 for k in range(input.ndim)]).expand(list(source.shape))
    try:
        return ops.scatter_reduce(input, d, at, source, reduce, include_self=include_self)
    except RuntimeError as error:
        raise IndexError("index out of range in self") if "is out of bounds" in str(error) else error from None


@composite("unravel_index(Tensor indices, Any shape) -> Tensor[]", tags=["function_only"])
def unravel_index(indices, shape):
    """The coordinates of flat positions, a tensor for each dimension."""
    if indices.dtype.is_floating_point or indices.dtype.is_complex or indices.dtype is dtypes.bool:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not is_int(shape) and (hasattr(shape, "dtype") or not isinstance(shape, Sequence)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    sizes = [shape] if is_int(shape) else list(shape)
    for size in sizes:
        if not is_int(size):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(size)}")
    if any(decided(size >= 0) is False for size in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(sizes)}")
    indices = indices.to(dtypes.int64)
    result = []
    for size in reversed(sizes):
        result.append(indices % size)
        indices = ops.floor_divide(indices, size)
    return tuple(reversed(result))


@op("nonzero_static(Tensor input, *, int size, int fill_value=-1) -> Tensor", tags=["library"])
def nonzero_static(input: Meta, size: Any, fill_value: int) -> Meta:
    """The coordinates of nonzero elements, cut or filled up to `size` rows. RuntimeError if size is negative."""
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    return Meta.contiguous((size, input.ndim), dtypes.int64, input.device)


@nonzero_static.kernel
def _(out, x, size, fill_value):
    found = np.argwhere(x)[: out.shape[0]]
    out[: len(found)] = found
    out[len(found) :] = fill_value


@composite("sum_to_size(Tensor input, int[*] size) -> Tensor")
def sum_to_size(input, size):
    """Summed over the dimensions that broadcasting `size` to the tensor would repeat."""
    from aten.ops.view import sum_to_size as reduce

    extra = input.ndim - len(size)
    if extra < 0 or any(s != 1 and s != n for s, n in zip(size, input.shape[extra:])):
        raise RuntimeError(f"size {{{list(size)}}} is not expandable to size {{{list(input.shape)}}}.")
    if extra or any(s == 1 != n for s, n in zip(size, input.shape[extra:])):
        input = input.to(dtypes.int64) if category(input.dtype) < 2 else input  # as sums of integers are
    return reduce(input, size)


@composite(
    "embedding_bag(Tensor input, Tensor weight, Tensor? offsets=None, float? max_norm=None, float norm_type=2.0, "
    "bool scale_grad_by_freq=False, str mode='mean', bool sparse=False, Tensor? per_sample_weights=None, "
    "bool include_last_offset=False, int? padding_idx=None) -> Tensor",
    tags=["function_only"],
)
def embedding_bag(
    input,
    weight,
    offsets,
    max_norm,
    norm_type,
    scale_grad_by_freq,
    mode,
    sparse,
    per_sample_weights,
    include_last_offset,
    padding_idx,
):
    """Sums, means or maxima of bags of rows; bags are the rows of a 2-d input, or start at the offsets of a 1-d one."""
    if not weight.dtype.is_floating_point and input.dtype.is_floating_point:
        input, weight = weight, input
    if max_norm is not None or scale_grad_by_freq:
        raise NotImplementedError("embedding_bag: max_norm and scale_grad_by_freq are not supported")
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
            f"(got mode='{mode}'). Please open a feature request on GitHub."
        )
    if input.ndim == 2:
        bags, length = input.shape
        bag = ops.arange(bags).unsqueeze(1).expand([bags, length]).reshape([-1])
        input = input.reshape([-1])
    else:
        bags = offsets.shape[0] - (1 if include_last_offset else 0)
        starts = offsets[:bags]
        bag = ops.searchsorted(starts, ops.arange(input.shape[0], dtype=starts.dtype), right=True) - 1
    rows = ops.embedding(weight, input, padding_idx=padding_idx)
    kept = ops.ones_like(input, dtype=weight.dtype)
    if padding_idx is not None:
        kept = ops.ne(input, padding_idx % weight.shape[0]).to(weight.dtype)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape([-1, 1])
    zeros = ops.zeros(bags, weight.shape[1], dtype=weight.dtype)
    if mode == "max":
        at = bag.unsqueeze(1).expand(list(rows.shape))
        low = ops.where(kept.unsqueeze(1) > 0, rows, -float("inf"))
        top = ops.scatter_reduce(zeros - float("inf"), 0, at, low, "amax")
        return ops.where(ops.isinf(top), 0.0, top)
    total = ops.index_add(zeros, 0, bag, rows * kept.unsqueeze(1))
    if mode == "sum":
        return total
    count = ops.index_add(ops.zeros(bags, dtype=weight.dtype), 0, bag, kept)
    return total / count.clamp(min=1).unsqueeze(1)


@op("lengths_of_runs(Tensor lengths, int? total=None) -> Tensor", tags=["library", "function_only", "hidden", "raises"])
def lengths_of_runs(lengths: Meta, total: Any) -> Meta:
    """The lengths, none of them negative, each row of which sums to the total; RuntimeError where they do not."""
    return Meta(lengths.dtype, lengths.device, lengths.sizes, contiguous_strides(lengths.sizes))


@lengths_of_runs.kernel
def _(out, lengths, total):
    if bool((lengths < 0).any()):
        raise RuntimeError("lengths contains negative value!")
    if total is not None and not bool((lengths.sum(-1) == total).all()):
        raise RuntimeError(
            "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe."
        )
    out[...] = lengths


lengths_of_runs.batch(lambda n, dims, lengths, total: (lengths_of_runs(to_front(lengths, dims[0]), total), 0))

@composite(
    "segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, "
    "int axis=0, bool unsafe=False, Any initial=None) -> Tensor",
    tags=["function_only"],
)
def segment_reduce(data, reduce, lengths, indices, offsets, axis, unsafe, initial):
    """Runs of elements along an axis combined: sum, mean, max, min or prod; runs by lengths or offsets."""
    kind = {"sum": "sum", "mean": "mean", "max": "amax", "min": "amin", "prod": "prod"}.get(reduce)
    if kind is None:
        raise RuntimeError(f"segment_reduce(): unsupported reduction {reduce}")
    given_offsets = lengths is None
    if lengths is None:
        if offsets is None:
            raise RuntimeError("segment_reduce(): either lengths or offsets must be given")
        lengths = ops.diff(offsets)
    batch, n = list(data.shape[:axis]), data.shape[axis]
    runs, rest = lengths.shape[-1], list(data.shape[axis + 1 :])
    if not unsafe and not lengths.is_meta:
        lengths = lengths_of_runs(lengths, None if given_offsets or not runs else n)
    ends = ops.cumsum(lengths, -1)
    place = ops.arange(n).expand([*batch, n]).contiguous()
    run = ops.searchsorted(ends, place, right=True)
    start = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "amax": -float("inf"), "amin": float("inf")}[kind]
    base = ops.full([*batch, runs + 1, *rest], start if initial is None else initial, dtype=data.dtype)  # the last: of no run
    at = run.reshape([*run.shape, *([1] * len(rest))]).expand(list(data.shape))
    if kind != "mean":
        return ops.narrow(ops.scatter_reduce(base, axis, at, data, kind), axis, 0, runs)
    count = lengths.reshape([*lengths.shape, *([1] * len(rest))]).to(data.dtype)
    summed = ops.scatter_add(ops.zeros_like(base) if initial is None else base, axis, at, data)
    summed, base = ops.narrow(summed, axis, 0, runs), ops.narrow(base, axis, 0, runs)
    return ops.where(count > 0, summed / count.clamp(min=1), base if initial is not None else float("nan"))


alias_of("_segment_reduce", segment_reduce)
