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


def mark_dynamic(tensor: Any, index: int | Iterable[int], *, min: int | None = None, max: int | None = None) -> None:
    """The size of `tensor` at these dimensions becomes a symbol at the first compilation, within [min, max].

    A program that works for one size only raises ConstraintViolationError as it is compiled.
    Raises IndexError if there is no such dimension, ValueError if min is greater than max.
    """
    if min is not None and max is not None and min > max:
        raise ValueError(f"min {min} is greater than max {max}")
    _mark(tensor, index, DYNAMIC, (min or 0, max))


def maybe_mark_dynamic(tensor: Any, index: int | Iterable[int]) -> None:
    """The same for sizes that the program may turn out to need as constants."""
    _mark(tensor, index, MAYBE, (0, None))


def mark_unbacked(tensor: Any, index: int | Iterable[int]) -> None:
    """The same, of sizes about which nothing may be assumed: 0 and 1 are sizes as any other. (So they are for `mark_dynamic`.)"""
    _mark(tensor, index, DYNAMIC, (0, None))


def _mark(tensor: Any, index: int | Iterable[int], attribute: str, ends: tuple[int, int | None]) -> None:
    marked = dict(getattr(tensor, attribute, {}))
    for d in _dims(tensor, index):
        marked[d] = ends
    setattr(tensor, attribute, marked)


def mark_static(tensor: Any, index: int | Iterable[int] | None = None) -> None:
    """These dimensions (all of them for None) stay constants, even if they are seen to change."""
    if index is None:
        setattr(tensor, STATIC, True)
        return
    marked = getattr(tensor, STATIC, ())
    if marked is not True:
        setattr(tensor, STATIC, (*marked, *_dims(tensor, index)))


def mark_static_address(tensor: Any, guard: bool = True) -> None:
    """The tensor is the same object in each call. guard: what is compiled is for this tensor alone.

    Raises TypeError for what is not a tensor.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"mark_static_address expects a tensor, got {type(tensor).__name__}")
    setattr(tensor, ADDRESS, guard)


trace_rules.handle(mark_dynamic, maybe_mark_dynamic, mark_unbacked, mark_static_address)(forbidden)  # said before the compiled call
