"""What max_pool took apart put back: zeros with its elements where it found them."""

from __future__ import annotations

from typing import Any

from aten import dtype as dtypes
from aten.op import composite, ops, registry
from aten.ops.conv import spread_over
from aten.ops.formats import keep_channels
from aten.promotion import TYPE_NAMES
from aten.shapes import is_int, product, show


def _check_unpool(input: Any, indices: Any, n: int) -> None:
    if indices.dtype is not dtypes.int64:
        raise RuntimeError(f"elements in indices should be type int64 but got: {TYPE_NAMES[indices.dtype.name]}")
    if input.ndim not in (n + 1, n + 2):
        raise RuntimeError(
            f"Input to max_unpooling{n}d should be a {n + 1}d or {n + 2}d Tensor, but got a tensor with {input.ndim} dimensions."
        )
    if len(indices.shape) != input.ndim or any(bool(a != b) for a, b in zip(indices.shape, input.shape)):
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({show(input.shape)}) but got indices tensor with "
            f"shape: {show(indices.shape)}"
        )


def _unpooled_sizes(wanted: list[Any], usual: list[Any], stride: list[int], n: int) -> list[Any]:
    """The sizes that are wanted, of the last n dims. Raises ValueError for those that no pooling can come from."""
    if len(wanted) not in (n, n + 2):
        raise ValueError(
            f"output_size should be a sequence containing {n} or {n + 2} elements, but it has a length of '{len(wanted)}'"
        )
    wanted = wanted[-n:]
    for d, (size, middle, step) in enumerate(zip(wanted, usual, stride)):
        if not bool(middle - step < size) or not bool(size < middle + step):
            raise ValueError(f'invalid output_size "{tuple(wanted)}" (dim {d} must be between {middle - step} and {middle + step})')
    return wanted


def _max_unpool(n: int) -> None:
    @composite(
        f"max_unpool{n}d(Tensor input, LongTensor indices, Any kernel_size, Any stride=None, Any padding=0, Any "
        f"output_size=None) -> Tensor",
        tags=["function_only"],
    )
    def definition(input, indices, kernel_size, stride, padding, output_size):
        """Zeros with the elements where max_pool found them."""
        kernel = spread_over(kernel_size, n, "kernel_size")
        stride = kernel if stride is None or (not is_int(stride) and len(stride) == 0) else spread_over(stride, n, "stride")
        padding = spread_over(padding, n, "padding")
        _check_unpool(input, indices, n)
        sizes = list(input.shape[-n:])
        out = [(s - 1) * t - 2 * p + k for s, t, p, k in zip(sizes, stride, padding, kernel)]
        if output_size is not None:
            out = _unpooled_sizes(list(output_size), out, stride, n)
        lead = list(input.shape[:-n])
        zeros = input.new_zeros([*lead, product(out)])
        flat = ops.scatter(zeros, zeros.ndim - 1, ops.flatten(indices, len(lead)), ops.flatten(input, len(lead)))
        return flat.reshape([*lead, *out])


for _n in (1, 2, 3):
    _max_unpool(_n)
    keep_channels(registry[f"max_unpool{_n}d"])
