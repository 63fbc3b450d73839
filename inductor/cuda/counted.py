"""Ops whose results are as long as their data say, on a device: made of other ops there, and of one number that is waited for.

What they find they put where a running sum of what is found says; what is not found goes to one place behind the last, which the
result does not have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten import dtype as dtypes
from aten._native import Tensor
from aten.dispatch import no_grad
from aten.op import Op, ops


def run(op: Op, args: tuple[Any, ...]) -> Any:
    """The op's result, or NotImplemented for arguments with which it is the CPU's."""
    made = TABLE.get(op.name)
    if made is None:
        return NotImplemented
    with no_grad():
        return made(*args)


def places(mask: Tensor) -> Tensor:
    """Where a vector of truth values holds, in order."""
    n = mask.numel()
    if n == 0:
        return ops.zeros([0], dtype=dtypes.int64, device=mask.device)
    ends = ops.cumsum(mask, 0)
    found = int(ends[-1].item())
    slots = ops.where(mask, ends - 1, found)
    made = ops.zeros([found + 1], dtype=dtypes.int64, device=mask.device)
    return ops.scatter(made, 0, slots, ops.arange(n, device=mask.device))[:found]


def nonzero(x: Tensor) -> Any:
    """One row of indices an element."""
    if x.dtype.is_complex:
        return NotImplemented
    at = places(ops.ne(x, 0).reshape([-1]))
    if not x.ndim:
        return at.reshape([at.shape[0], 1])[:, :0].contiguous()
    columns, rest = [], at
    for size in reversed(x.shape):
        columns.append(rest % max(size, 1))
        rest = ops.floor_divide(rest, max(size, 1))
    return ops.stack(columns[::-1], 1)


def masked_select(x: Tensor, mask: Tensor) -> Any:
    """The elements in order."""
    if mask.dtype is not dtypes.bool or x.dtype.is_complex:
        return NotImplemented
    x, mask = ops.broadcast_tensors([x, mask])
    return ops.index_select(x.reshape([-1]), 0, places(mask.reshape([-1])))


def unique_dim(x: Tensor, dim: Any, return_inverse: bool, return_counts: bool) -> Any:
    """The elements in order that differ from the one before."""
    if dim is not None or x.dtype.is_complex or not x.numel():
        return NotImplemented
    values, order = ops.sort(x.reshape([-1]), 0)
    n = values.shape[0]
    is_first = ops.cat([ops.ones([1], dtype=dtypes.bool, device=x.device), ops.ne(values[1:], values[:-1])], 0)
    starts = places(is_first)
    group = ops.cumsum(is_first, 0) - 1
    inverse = ops.scatter(ops.zeros([n], dtype=dtypes.int64, device=x.device), 0, order, group).reshape(list(x.shape))
    ends = ops.cat([starts[1:], ops.full([1], n, dtype=dtypes.int64, device=x.device)], 0)
    return ops.index_select(values, 0, starts), inverse, ends - starts


def bincount(x: Tensor, weights: Any, minlength: int) -> Any:
    """Sums at the places that the elements name."""
    if x.ndim != 1 or not x.numel() or minlength < 0 or x.dtype.is_floating_point or x.dtype in (dtypes.bool, dtypes.uint64):
        return NotImplemented
    x = x.to(dtypes.int64)
    low, high = ops.stack([ops.amin(x, [0]), ops.amax(x, [0])], 0).tolist()
    if low < 0:
        return NotImplemented
    made = dtypes.int64 if weights is None else weights.dtype if weights.dtype is dtypes.float32 else dtypes.float64
    added = ops.ones(list(x.shape), dtype=made, device=x.device) if weights is None else weights.to(made)
    return ops.scatter_add(ops.zeros([max(high + 1, minlength)], dtype=made, device=x.device), 0, x, added)


TABLE: dict[str, Callable[..., Any]] = {
    "nonzero": nonzero, "masked_select": masked_select, "unique_dim": unique_dim, "bincount": bincount,
}  # fmt: skip
