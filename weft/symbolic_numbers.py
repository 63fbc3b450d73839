"""Functions of numbers that may be symbols of a size: `sym_int` … give symbols for symbols, numbers for numbers."""

from __future__ import annotations

import math
from typing import Any

from aten.symbolic.checked import holds
from aten.symbolic.symint import SymBool, SymFloat, SymInt

__all__ = [
    "SymBool", "SymFloat", "SymInt", "sym_constrain_range", "sym_constrain_range_for_size", "sym_float", "sym_fresh_size",
    "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt", "sym_sum",
]  # fmt: skip
_SYMBOLS = (SymInt, SymFloat, SymBool)


def sym_constrain_range(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    """Promises that `size` lies between `min` and `max`. Raises RuntimeError where it does not."""
    if min is not None and max is not None and max < min:
        raise RuntimeError(f"Max must be greater than or equal to min: got min={min}, max={max}")
    if not ((min is None or holds(size >= min)) and (max is None or holds(size <= max))):
        raise RuntimeError(f"Invalid value range for {size} between [{min}, {max}].")


def sym_constrain_range_for_size(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    """Promises that `size` is a size, between `min` and `max`."""
    sym_constrain_range(size, min=min or 0, max=max)


def sym_fresh_size(expr: Any) -> Any:
    """`expr`: weft's symbols need no other one to be told apart."""
    return expr


def sym_int(a: Any) -> Any:
    """`a` without its fraction."""
    if isinstance(a, SymInt):
        return a
    if isinstance(a, SymFloat):
        return math.trunc(a)
    return int(a)


def sym_float(a: Any) -> Any:
    """`a` as a float."""
    if isinstance(a, SymFloat):
        return a
    return a * 1.0 if isinstance(a, SymInt) else float(a)


def sym_not(a: Any) -> Any:
    """Not a."""
    return ~a if isinstance(a, SymBool) else not a


def sym_max(a: Any, b: Any) -> Any:
    """The larger; a float if either is one."""
    if isinstance(a, _SYMBOLS) or isinstance(b, _SYMBOLS):
        return a if a >= b else b
    larger = max(a, b)
    return float(larger) if isinstance(a, float) or isinstance(b, float) else larger


def sym_min(a: Any, b: Any) -> Any:
    """The smaller; a float if either is one."""
    if isinstance(a, _SYMBOLS) or isinstance(b, _SYMBOLS):
        return a if a <= b else b
    smaller = min(a, b)
    return float(smaller) if isinstance(a, float) or isinstance(b, float) else smaller


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """t if b else f."""
    return t if b else f


def sym_sum(args: Any) -> Any:
    """The sum of numbers."""
    total: Any = 0
    for a in args:
        total = total + a
    return total


def sym_sqrt(a: Any) -> Any:
    """The square root."""
    return a**0.5 if isinstance(a, _SYMBOLS) else math.sqrt(a)
