"""What users say about the sizes of tensors before a compiled call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from aten._native import Tensor
from dynamo import trace_rules
from dynamo.forbidden import forbidden

DYNAMIC, STATIC = "_weft_dynamic_dims", "_weft_static_dims"  # attributes of the tensor
MAYBE = "_weft_maybe_dynamic_dims"  # the same, of sizes that may turn out to be constants
ADDRESS = "_weft_static_address"  # the same: the tensor is meant, not one like it


def _dims(tensor: Any, index: int | Iterable[int]) -> list[int]:
    found = []
    for d in [index] if isinstance(index, int) else index:
        if not -tensor.ndim <= d < tensor.ndim:
            raise IndexError(f"dimension {d} is out of range for a tensor of {tensor.ndim} dimensions")
        found.append(d % tensor.ndim)
    return found


def mark_dynamic(t: Any, index: int | Iterable[int], *, min: int | None = None, max: int | None = None) -> None:
    """The size of `t` at these dimensions becomes a symbol at the first compilation, within [min, max].

    A program that works for one size only raises ConstraintViolationError as it is compiled.
    Raises IndexError if there is no such dimension, ValueError if min is greater than max.
    """
    if min is not None and max is not None and min > max:
        raise ValueError(f"min {min} is greater than max {max}")
    _mark(t, index, DYNAMIC, (min or 0, max))


def maybe_mark_dynamic(t: Any, index: int | Iterable[int]) -> None:
    """The same for sizes that the program may turn out to need as constants."""
    _mark(t, index, MAYBE, (0, None))


def mark_unbacked(t: Any, index: int | Iterable[int]) -> None:
    """The same, of sizes about which nothing may be assumed: 0 and 1 are sizes as any other. (So they are for `mark_dynamic`.)"""
    _mark(t, index, DYNAMIC, (0, None))


def _mark(tensor: Any, index: int | Iterable[int], attribute: str, ends: tuple[int, int | None]) -> None:
    marked = dict(getattr(tensor, attribute, {}))
    for d in _dims(tensor, index):
        marked[d] = ends
    setattr(tensor, attribute, marked)


def mark_static(t: Any, index: int | Iterable[int] | None = None) -> None:
    """These dimensions (all of them for None) stay constants, even if they are seen to change."""
    if index is None:
        setattr(t, STATIC, True)
        return
    marked = getattr(t, STATIC, ())
    if marked is not True:
        setattr(t, STATIC, (*marked, *_dims(t, index)))


def mark_static_address(t: Any, guard: bool = True) -> None:
    """The tensor is the same object in each call. guard: what is compiled is for this tensor alone.

    Raises TypeError for what is not a tensor.
    """
    if not isinstance(t, Tensor):
        raise TypeError(f"mark_static_address expects a tensor, got {type(t).__name__}")
    setattr(t, ADDRESS, guard)


trace_rules.handle(mark_dynamic, maybe_mark_dynamic, mark_unbacked, mark_static_address)(forbidden)  # said before the compiled call
