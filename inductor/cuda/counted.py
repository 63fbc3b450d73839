"""Ops whose results are as long as their data say, or that refuse some data, on a device: made of other ops there, and of one
number that is waited for (two of `histc`, none where its range is given).

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
from aten.scalar.unpatched import math


class Refused(Exception):
    """The data are wrong: the CPU's kernel says how."""


def run(op: Op, args: tuple[Any, ...]) -> Any:
    """The op's result, or NotImplemented for arguments with which it is the CPU's. Raises Refused."""
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
    if at.shape[0] == 0:
        return ops.empty_strided([0, x.ndim], [1, 0], dtype=dtypes.int64, device=x.device)
    columns, rest = [], at
    for size in reversed(x.shape):
        columns.append(rest % max(size, 1))
        rest = ops.floor_divide(rest, max(size, 1))
    return ops.stack(columns[::-1]).t()


def masked_select(x: Tensor, mask: Tensor) -> Any:
    """The elements in order."""
    if mask.dtype is not dtypes.bool or x.dtype.is_complex:
        return NotImplemented
    x, mask = ops.broadcast_tensors([x, mask])
    return ops.index_select(x.reshape([-1]), 0, places(mask.reshape([-1])))


def unique_dim(x: Tensor, dim: Any, return_inverse: bool, return_counts: bool) -> Any:
    """The elements in order that differ from the one before."""
    if x.dtype.is_complex or not x.numel():
        return NotImplemented
    if dim is not None:
        return unique_slices(x, int(dim))
    values, order = ops.sort(x.reshape([-1]), 0)
    starts, inverse, counts = groups(ops.ne(values[1:], values[:-1]), order)
    return ops.index_select(values, 0, starts), inverse.reshape(list(x.shape)), counts


def groups(differs: Tensor, order: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(where each group of what is in order starts, the group of each element, their lengths). `differs`: from the one before,
    for all but the first; `order`: where they stood."""
    n, device = order.shape[0], order.device
    is_first = ops.cat([ops.ones([1], dtype=dtypes.bool, device=device), differs], 0)
    starts = places(is_first)
    inverse = ops.scatter(ops.zeros([n], dtype=dtypes.int64, device=device), 0, order, ops.cumsum(is_first, 0) - 1)
    ends = ops.cat([starts[1:], ops.full([1], n, dtype=dtypes.int64, device=device)], 0)
    return starts, inverse, ends - starts


def unique_slices(x: Tensor, dim: int) -> Any:
    """Slices along a dim: rows of numbers, sorted by the last of them first."""
    sizes = list(x.shape)
    rows = ops.movedim(x, dim, 0).reshape([sizes[dim], -1])
    if rows.shape[1] > MOST_COLUMNS:
        return NotImplemented
    order = ops.arange(sizes[dim], device=x.device)
    for column in reversed(range(rows.shape[1])):
        keys = ops.index_select(ops.select(rows, 1, column), 0, order)
        order = ops.index_select(order, 0, ops.sort(keys, 0, stable=True)[1])
    rows = ops.index_select(rows, 0, order)
    starts, inverse, counts = groups(ops.any(ops.ne(rows[1:], rows[:-1]), [1]), order)
    found = ops.index_select(rows, 0, starts).reshape([starts.shape[0], *sizes[:dim], *sizes[dim + 1 :]])
    return ops.movedim(found, 0, dim).contiguous(), inverse, counts


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


def histc(x: Tensor, bins: int, low: Any, high: Any) -> Any:
    """Counts by a search among the ends of the intervals; the last has both of its ends."""
    if x.dtype.name not in ("float32", "float64") or not x.numel() or bins <= 0:
        return NotImplemented
    if low == high:
        low, high = (float(v) for v in ops.stack([ops.amin(x), ops.amax(x)], 0).tolist())
    if low == high:
        low, high = low - 1, high + 1
    if not (math.isfinite(low) and math.isfinite(high)) or high < low:
        raise Refused
    x = x.reshape([-1])
    ends = (ops.arange(bins + 1, dtype=dtypes.float64, device=x.device) * ((high - low) / bins) + low).to(x.dtype)
    ends = ops.where(ops.eq(ops.arange(bins + 1, device=x.device), bins), high, ends)
    at = ops.clamp(ops.searchsorted(ends, x, right=True) - 1, None, bins - 1)
    at = ops.where(ops.logical_and(ops.ge(x, low), ops.le(x, high)), at, bins)
    counts = ops.zeros([bins + 1], dtype=dtypes.int64, device=x.device)
    return ops.scatter_add(counts, 0, at, ops.ones_like(at))[:bins].to(x.dtype)


def multinomial(p: Tensor, num_samples: int, replacement: bool, seed: Any, offset: Any) -> Any:
    """By inverting the sums of each row, or by racing exponentials, with the CPU's numbers."""
    if not p.numel():
        return NotImplemented
    p = p.to(dtypes.float64)
    seen = ops.gt(p, 0)
    enough = ops.ge(ops.sum(seen, [-1]), 1 if replacement else num_samples)
    fine = ops.logical_and(ops.all(ops.logical_and(ops.isfinite(p), ops.ge(p, 0))), ops.all(enough))
    if not fine.item():
        raise Refused
    sizes = [*p.shape[:-1], num_samples] if replacement else list(p.shape)
    u = ops.rand_philox(sizes, seed, offset, dtype=dtypes.float32, device=p.device).to(dtypes.float64)
    if replacement:
        sums = ops.cumsum(p, -1)
        found = ops.searchsorted(sums, u * ops.slice(sums, -1, p.shape[-1] - 1, p.shape[-1]), right=True)
        return ops.clamp(found, None, p.shape[-1] - 1)
    race = ops.where(seen, -ops.log1p(-u) / ops.where(seen, p, 1.0), math.inf)
    return ops.slice(ops.sort(race, -1, stable=True)[1], -1, 0, num_samples).contiguous()


def lengths_of_runs(lengths: Tensor, total: Any) -> Tensor:
    wrong = ops.any(lengths < 0)
    if total is not None:
        wrong = ops.logical_or(wrong, ops.any(ops.sum(lengths, [-1]) != total))
    if bool(wrong.item()):
        raise Refused
    return ops.clone(lengths)


MOST_COLUMNS = 128  # of the slices that are sorted here, a column at a time
TABLE: dict[str, Callable[..., Any]] = {
    "nonzero": nonzero, "masked_select": masked_select, "unique_dim": unique_dim, "bincount": bincount,
    "histc": histc, "multinomial_philox": multinomial, "lengths_of_runs": lengths_of_runs,
}  # fmt: skip
