"""Where the largest elements of windows stand."""

from typing import Any

from aten.op import ops
from aten.shapes import is_int, product


def first(x: Any) -> tuple[Any, Any]:
    """The largest elements along the last dim and where the first of them stands."""
    return ops.max_dim(x, -1)


def last_if_nan(x: Any) -> tuple[Any, Any]:
    """The largest elements along the last dim and where the first of them stands, but the last of NaNs: what eager's pools say."""
    values, at = ops.max_dim(x, -1)
    if not x.dtype.is_floating_point:
        return values, at
    last = x.shape[-1] - 1 - ops.max_dim(ops.flip(x, [-1]), -1)[1]
    return values, ops.where(values != values, last, at)


def image_positions(
    at: Any,
    sizes: list[int],
    kernel: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    out: list[int],
) -> Any:
    """Tap numbers of windows as flat positions in the image: of a window of -inf alone that of its first tap within."""
    n, position = len(kernel), 0
    for d in range(n):
        tap = ops.floor_divide(at, product(kernel[d + 1 :])) % kernel[d]
        start = ops.arange(out[d]).reshape([-1] + [1] * (n - 1 - d)) * stride[d] - padding[d]
        place = start + tap * dilation[d]
        if is_int(padding[d]) and padding[d]:
            place = ops.where(place < 0, place % dilation[d], place)
        position = position * sizes[d] + place
    return position


__all__ = ["first", "image_positions", "last_if_nan"]
