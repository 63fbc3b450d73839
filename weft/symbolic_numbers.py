"""Functions of numbers that may be symbols of a size: `sym_int` … give symbols for symbols, numbers for numbers."""

from __future__ import annotations

import math
from typing import Any

from aten.symbolic.symint import SymBool, SymFloat, SymInt

__all__ = [
    "SymBool", "SymFloat", "SymInt", "sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt", "sym_sum",
]  # fmt: skip
_SYMBOLS = (SymInt, SymFloat, SymBool)


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
