"""The gradient of a view of any sizes and strides."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from aten import _native
from aten.meta import Meta
from aten.op import op, ops
from aten.ops.view import strided_array, window


def _places(sizes: Sequence[int], strides: Sequence[int], offset: int) -> np.ndarray:
    """Where the elements of a layout lie, as positions in memory."""
    places = np.full(tuple(sizes), offset, np.int64)
    for d, (n, stride) in enumerate(zip(sizes, strides)):
        places += (np.arange(n) * np.int64(stride)).reshape([n if i == d else 1 for i in range(len(sizes))])
    return places


@op(
    "as_strided_backward(Tensor grad, int[] input_sizes, int[] input_strides, int input_offset, int[] size, int[] stride, int "
    "storage_offset) -> Tensor",
    tags=["library", "function_only"],
    compute="float32",
)
def as_strided_backward(
    grad: Meta,
    input_sizes: list[Any],
    input_strides: list[Any],
    input_offset: Any,
    size: list[Any],
    stride: list[Any],
    storage_offset: Any,
) -> Meta:
    """Each element's gradient added to where it lies in the input; elements that share memory share their
    gradient evenly.
    """
    return grad.like(sizes=input_sizes)


@as_strided_backward.kernel
def _(out, g, input_sizes, input_strides, input_offset, size, stride, storage_offset):
    ours, theirs = (input_sizes, input_strides), (size, stride)
    first = min(input_offset, storage_offset)
    last = max(input_offset + window(*ours), storage_offset + window(*theirs))
    memory = np.zeros(last - first, g.dtype)  # what both layouts show, without what lies before them
    if _apart(*theirs):
        strided_array(memory, size, stride, storage_offset - first)[...] = g
    else:
        np.add.at(memory, _places(size, stride, storage_offset - first), g)
    out[...] = strided_array(memory, input_sizes, input_strides, input_offset - first)
    if not _apart(*ours):
        shared, places = np.zeros(memory.size, np.int64), _places(input_sizes, input_strides, input_offset - first)
        np.add.at(shared, places, 1)
        out /= np.maximum(shared[places], 1).astype(g.dtype)


def _apart(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether no two elements share a place, as far as the steps alone say it: each goes beyond all that smaller ones reach."""
    reach = 0
    for step, n in sorted((step, n) for n, step in zip(sizes, strides) if n > 1):
        if step <= reach:
            return False
        reach += step * (n - 1)
    return True


@as_strided_backward.vjp
def _(g, grad_meta, input_sizes, input_strides, input_offset, size, stride, storage_offset):
    """Elements that share a place get the mean of what comes for them: their transpose is the same with the layouts exchanged,
    but for how many share."""
    ours, theirs = _sharers(input_sizes, input_strides, g), _sharers(size, stride, g)
    mean = g if ours is None else g / ours
    back = ops.as_strided_backward(mean, size, stride, storage_offset, input_sizes, input_strides, input_offset)
    return back if theirs is None else back * theirs


def _sharers(sizes: Sequence[int], strides: Sequence[int], like: Any) -> Any:
    """How many elements of a layout lie where each does; None where none share."""
    places = _places(sizes, strides, 0)
    _, numbered, counts = np.unique(places.reshape(-1), return_inverse=True, return_counts=True)
    if counts.max(initial=1) == 1:
        return None
    return ops.cast(ops.to_device(_native.from_numpy(counts[numbered].reshape(places.shape)), like.device), like.dtype)
