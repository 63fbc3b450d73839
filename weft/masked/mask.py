"""Masks of masked operations: True where an element counts; and what elements that do not count are replaced by."""

from __future__ import annotations

import math
from typing import Any

import aten
from aten import Tensor


def broadcast_mask(input: Tensor, mask: Tensor | None) -> Tensor:
    """`mask` as booleans of the sizes of `input`. Raises ValueError without one, IndexError if it has more dims than `input`."""
    if mask is None:
        raise ValueError("a masked operation's mask is None, where one is required")
    if mask.ndim > input.ndim:
        raise IndexError(f"expected a broadcastable mask, got one of {mask.ndim} dims for an input of {input.ndim}")
    return mask.broadcast_to(input.shape).to(aten.bool)


def dims_of(dim: Any, ndim: int) -> list[int]:
    """The dims that a masked reduction names, sorted; all of them for None and ()."""
    if dim is None or dim == ():
        return list(range(ndim))
    found: list[int] = []
    bound = max(ndim, 1)
    for d in (dim,) if isinstance(dim, int) else dim:
        if not -bound <= d < bound:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-bound}, {bound - 1}], but got {d})")
        if d % bound in found:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        found.append(d % bound)
    return sorted(found)


def _least(input: Tensor) -> Any:
    return -math.inf if input.is_floating_point() or input.is_complex() else aten.iinfo(input.dtype).min


def _greatest(input: Tensor) -> Any:
    return math.inf if input.is_floating_point() else aten.iinfo(input.dtype).max


_IDENTITY = {
    "sum": lambda x: 0,
    "prod": lambda x: 1,
    "max": _least,
    "min": _greatest,
    "ignored": lambda x: math.nan,
}
"""What an element that does not count is, by what is made of the elements."""


def filled(input: Tensor, mask: Tensor | None, identity: str) -> Tensor:
    """`input` where the mask is True, elsewhere what changes nothing: a key of the table above."""
    if mask is None:
        return input
    if identity in ("max", "min") and (input.dtype is aten.bool or (identity == "min" and input.is_complex())):
        raise NotImplementedError(f"a masked {identity} is not defined for {input.dtype}")
    fill = aten.tensor(_IDENTITY[identity](input), dtype=input.dtype, device=input.device)
    return aten.where(broadcast_mask(input, mask), input, fill)


def output_mask(op: Any, input: Tensor, *args: Any, dim: Any = None, keepdim: bool = False, mask: Any = None, **_: Any) -> Tensor:
    """Which elements of a masked reduction's result come of at least one that counts; of other operations, the mask."""
    name = op.__name__
    inside = broadcast_mask(input, mask)
    if name in ("softmax", "log_softmax", "softmin", "normalize", "cumsum", "cumprod"):
        return inside
    args = args[1:] if name == "norm" else args
    dims = dims_of(args[0] if args else dim, input.ndim)
    return inside.any(dims, keepdim=bool(keepdim)) if dims and input.ndim else inside


_STARTS = {
    **dict.fromkeys(("sum", "cumsum", "norm"), "sum"),
    **dict.fromkeys(("prod", "cumprod"), "prod"),
    **dict.fromkeys(("amax", "argmax", "logsumexp", "logaddexp"), "max"),
    **dict.fromkeys(("amin", "argmin"), "min"),
}


def reduction_identity(op_name: str, input: Tensor, *args: Any) -> Tensor | None:
    """What the reduction `op_name` of no elements of `input` is, as a 0-d tensor of its dtype; None where it has none.

    args: of norm, its order, whose identity is infinite for -inf.
    """
    name = op_name.rpartition(".")[2]
    if name in ("mean", "std", "var"):
        return None
    if name == "median":
        return aten.tensor(float("nan"), device=input.device)
    if name not in _STARTS:
        raise NotImplementedError(f"identity of {op_name} on {input.dtype} input")
    value = float("inf") if name == "norm" and args and args[0] == float("-inf") else _IDENTITY[_STARTS[name]](input)
    return aten.tensor(value, dtype=input.dtype, device=input.device)
