"""Elements named by several index tensors: `index`, `index_put`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from aten import dtype as dtypes
from aten.meta import Meta, exceeds, known_equal
from aten.op import inplace_of, op, ops
from aten.ops.accumulate import add_at
from aten.ops.indexing import INDEX_DTYPES, outside
from aten.ops.view import zeros_of
from aten.promotion import TYPE_NAMES
from aten.shapes import broadcast, is_symbolic, show
from aten.symbolic.unknown import unknown_size


def dims_of_indices(indices: Sequence[Any]) -> tuple[list[int], bool]:
    """Which dims are indexed, and whether they stand together (their result then takes their place)."""
    dims = [d for d, index in enumerate(indices) if index is not None]
    return dims, bool(dims) and dims[-1] - dims[0] == len(dims) - 1


@op("index(Tensor input, LongTensor[] indices) -> Tensor", tags=["indexing", "function_only"], native="places")
def index(input: Meta, indices: list[Any]) -> Meta:
    """input[indices] with int64 tensors (broadcast together) or None (a full slice) by dimension."""
    if len(indices) > input.ndim:
        raise IndexError(f"too many indices for tensor of dimension {input.ndim}")
    for i in indices:
        if i is not None and i.dtype not in INDEX_DTYPES:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    try:
        shown = broadcast(*[i.sizes for i in indices if i is not None])
    except RuntimeError:
        raise IndexError(
            "shape mismatch: indexing tensors could not be broadcast together with shapes "
            + ", ".join(show(i.sizes) for i in indices if i is not None)
        ) from None
    dims, together = dims_of_indices(indices)
    rest = [s for d, s in enumerate(input.sizes) if d not in dims]
    at = dims[0] if together else 0
    return input.like(sizes=(*rest[:at], *shown, *rest[at:]))


def expand_bools(input: Any, indices: Sequence[Any]) -> list[Any]:
    """Bool (and byte) masks as the int64 positions of their true elements."""
    result: list[Any] = []
    for i in indices:
        if i is not None and i.dtype in (dtypes.bool, dtypes.uint8):
            for d in range(i.ndim):
                at = len(result)
                if at >= input.ndim or i.shape[d] != input.shape[at]:
                    raise IndexError(
                        f"The shape of the mask {show(i.shape)} at index {d} does not match the shape of the "
                        f"indexed tensor "
                        f"{show(input.shape)} at index {at}"
                    )
                result.append(None)
            if isinstance(i, Meta):
                shown = unknown_size("how many elements a mask shows depends on the data", i.numel())
                result[len(result) - i.ndim :] = [Meta(dtypes.int64, i.device, (shown,), (1,))] * i.ndim
                continue
            found = ops.nonzero(i)
            result[len(result) - i.ndim :] = [found.select(1, d) for d in range(i.ndim)]
        else:
            result.append(i)
    return result


@index.normal
def _(input, indices):
    if any(i is not None and i.dtype in (dtypes.bool, dtypes.uint8) for i in indices):
        indices = expand_bools(input, indices)
    return input, [
        None if i is None else i if i.dtype is dtypes.int64 else ops.cast(i, dtypes.int64) if i.dtype is dtypes.int32 else i
        for i in indices
    ]


def _numpy_index(x: np.ndarray, indices: list[Any]) -> tuple[Any, ...]:
    for d, i in enumerate(indices):
        if i is not None and i.size and (i.min() < -x.shape[d] or i.max() >= x.shape[d]):
            bad = i[(i < -x.shape[d]) | (i >= x.shape[d])].flat[0]
            raise IndexError(outside(bad, d, x.shape[d]))
    return tuple(np.s_[:] if i is None else i for i in indices)


@index.kernel
def _(out, x, indices):
    out[...] = x[_numpy_index(x, indices)]


index.vjp(lambda g, indices, input_meta: index_put(zeros_of(input_meta, g), indices, g, True))
index.jvp(lambda tangents, input, indices, out: index(tangents[0], indices))


@op(
    "index_put(Tensor input, LongTensor[] indices, Tensor values, bool accumulate=False) -> Tensor",
    tags=["indexing", "into_expanded"],
    native="places",
)
def index_put(input: Meta, indices: list[Any], values: Meta, accumulate: bool) -> Meta:
    """input with input[indices] replaced by values (broadcast), or with values added if `accumulate`."""
    shown = index.function(input, indices).sizes
    if values.dtype is not input.dtype:
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {TYPE_NAMES[input.dtype.name]} for the "
            f"destination and {TYPE_NAMES[values.dtype.name]} for the source."
        )
    if len(values.sizes) > len(shown) or not _fits(values.sizes, shown):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {show(values.sizes)} cannot be broadcast to indexing result "
            f"of shape "
            f"{show(shown)}"
        )
    return input.like()


def _fits(sizes: Sequence[Any], target: Sequence[Any]) -> bool:
    return all(
        known_equal(a, b)
        or (type(a) is int and a == 1)
        or ((is_symbolic(a) or is_symbolic(b)) and (bool(a == b) or (is_symbolic(a) and bool(a == 1))))
        for a, b in zip(reversed(sizes), reversed(target))
    )


def _is_one_mask(input: Any, indices: Any, values: Any, accumulate: Any) -> bool:
    """Whether a single mask says where one value goes: how many places there are does not matter then."""
    given = list(indices)
    if len(given) != 1 or given[0] is None or not hasattr(given[0], "dtype") or given[0].dtype is not dtypes.bool:
        return False
    return all(type(n) is int and n == 1 for n in values.shape) and values.dtype is input.dtype and given[0].ndim > 0


@index_put.special(_is_one_mask)
def _(input, indices, values, accumulate):
    mask, value = indices[0], ops.reshape(values, [])
    if mask.ndim > input.ndim:
        raise IndexError(f"too many indices for tensor of dimension {input.ndim}")
    for d in range(mask.ndim):
        if exceeds(mask.shape[d], input.shape[d]) or exceeds(input.shape[d], mask.shape[d]):
            raise IndexError(
                f"The shape of the mask {show(mask.shape)} at index {d} does not match the shape of the indexed tensor "
                f"{show(input.shape)} at index {d}"
            )
    mask = ops.reshape(mask, [*mask.shape, *[1] * (input.ndim - mask.ndim)])
    if accumulate:
        value = ops.logical_or(input, value) if input.dtype is dtypes.bool else input + value
    return ops.where(mask, value, input)


@index_put.normal
def _(input, indices, values, accumulate):
    return input, index.normal_fn(input, indices)[1], values, accumulate


@index_put.kernel
def _(out, x, indices, values, accumulate):
    out[...] = x
    where = _numpy_index(x, indices)
    if accumulate and x.dtype.itemsize == 2 and x.dtype.kind not in "iu":  # a half: added up in float32, rounded once
        total = x.astype(np.float32)
        add_at(total, where, values.astype(np.float32))
        out[...] = total
    elif accumulate and x.dtype.kind != "b":
        add_at(out, where, values)
    elif accumulate:
        np.logical_or.at(out, where, values)
    else:
        out[where] = values


@index_put.vjp
def _(g, needs, indices, values_meta, accumulate):
    own = None
    if needs[0]:
        own = g if accumulate else index_put(g, indices, ops.full([], 0, dtype=g.dtype, device=g.device))
    return own, index(g, indices) if needs[2] else None


@index_put.jvp
def _(tangents, input, indices, values, accumulate, out):
    # (Transposing the vjp would add up what equal places hide from each other.)
    own, put = tangents[0], tangents[2]
    own = ops.zeros_like(input) if own is None else own
    return index_put(own, indices, ops.zeros_like(values) if put is None else put, accumulate)


index_put.inplace = inplace_of(index_put)
