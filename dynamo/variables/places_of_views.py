"""Views that ask where their tensor begins in its storage, of which layouts say nothing."""

from __future__ import annotations

from typing import Any

from aten.meta import Meta, exceeds, known_equal
from dynamo import breaks, guards
from dynamo.breaks import Unsupported
from dynamo.source import Converted
from dynamo.variables.base import Variable
from dynamo.variables.tensor import TensorVariable
from dynamo.variables.tensor_facts import offset_of


def check_strided(output, base: Variable, view: Meta) -> None:
    """Eager's as_strided counts from where the storage begins."""
    if isinstance(base, TensorVariable) and not known_equal(offset_of(output, base), base.meta.offset):
        raise Unsupported(breaks.UNKNOWN_CALL, "as_strided of a tensor that begins within its storage")
    if reaches_beyond(view, base.as_meta()):
        raise Unsupported(breaks.UNKNOWN_CALL, "as_strided beyond the elements of a tensor: how long its storage is has no guard")


def reaches_beyond(view: Meta, base: Meta) -> bool:
    """Whether a view of the storage of `base` shows elements before or behind those of `base`. Symbols are guarded."""
    before, behind = exceeds(base.offset, view.offset), exceeds(_end(view), _end(base))
    return before or behind


def _end(meta: Meta) -> Any:
    """Behind the last element, in the storage."""
    return meta.offset + 1 + sum((size - 1) * stride for size, stride in zip(meta.sizes, meta.strides))


def begins_odd(tensor: Any) -> bool:
    return tensor.storage_offset() % 2 == 1


def check_pairs(output, base: Variable, view: Meta) -> None:
    """view_as_complex refuses pairs that begin at an odd place."""
    root = base.root if isinstance(base, TensorVariable) else None
    if root is None or root.value is None:
        return
    odd = begins_odd(root.value)
    output.guard(guards.Equals(Converted(root.source, begins_odd), odd))
    if odd:
        raise Unsupported(breaks.UNKNOWN_CALL, "view_as_complex of a part of a tensor that begins at an odd place")


CHECKS = {"as_strided": check_strided, "view_as_complex": check_pairs}

__all__ = ["CHECKS"]
