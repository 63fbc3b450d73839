"""Symbols of sizes under PyTorch's names, and questions about them."""

from __future__ import annotations

from typing import Any

from aten.errors import ConstraintViolationError
from aten.symbolic.shape_env import DataDependentError as GuardOnDataDependentSymNode
from aten.symbolic.shape_env import ShapeEnv
from aten.symbolic.symint import SYMBOLIC, SymBool, SymFloat, SymInt, is_symbolic

__all__ = [
    "ConstraintViolationError", "GuardOnDataDependentSymNode", "ShapeEnv", "SymBool", "SymFloat", "SymInt", "free_symbols",
    "guard_bool", "guard_float", "guard_int", "guard_or_false", "guard_or_true", "guard_scalar",
    "guard_size_oblivious", "hint_int", "is_concrete_bool", "is_concrete_int", "is_symbolic", "statically_known_true", "sym_eq",
]  # fmt: skip


def guard_size_oblivious(expr: Any) -> bool:
    """Whether a condition on sizes holds; the graph is for calls in which it is as it is now."""
    return bool(expr)


def _guarded_or(condition: Any, otherwise: bool) -> bool:
    try:
        return bool(condition)
    except GuardOnDataDependentSymNode:
        return otherwise


def guard_or_false(a: Any) -> bool:
    """Whether a condition on sizes holds; False where that depends on data."""
    return _guarded_or(a, False)


def guard_or_true(a: Any) -> bool:
    """Whether a condition on sizes holds; True where that depends on data."""
    return _guarded_or(a, True)


def guard_bool(a: Any) -> bool:
    """The truth of a condition in this call; the graph is for calls in which it is the same."""
    return bool(a)


def guard_int(a: Any) -> int:
    """The size in this call; the graph is for calls in which it is the same."""
    return int(a)


def guard_float(a: Any) -> float:
    """The number in this call; the graph is for calls in which it is the same."""
    return float(a)


def guard_scalar(a: Any) -> Any:
    """The number or truth in this call; the graph is for calls in which it is the same."""
    if isinstance(a, (SymBool, bool)):
        return guard_bool(a)
    return guard_int(a) if isinstance(a, (SymInt, int)) else guard_float(a)


def is_concrete_bool(a: Any) -> bool:
    """Whether a condition on sizes is the same in every call of the graph."""
    return not isinstance(a, SymBool) or a.shape_env.statically_known(a.expr) is not None


def statically_known_true(x: Any) -> bool:
    """Whether a condition on sizes holds in every call of the graph. Guards nothing."""
    if isinstance(x, SymBool):
        return x.shape_env.statically_known(x.expr) is True
    return bool(x)


def is_concrete_int(a: Any) -> bool:
    """Whether a size is the same number in every call of the graph."""
    if isinstance(a, SymInt):
        return a.shape_env.simplify(a.expr).op == "const"
    return isinstance(a, int)


def hint_int(a: Any, fallback: int | None = None) -> int:
    """The size in this call; `fallback` where it depends on data. Raises GuardOnDataDependentSymNode without one."""
    if not isinstance(a, SymInt):
        return int(a)
    hint = a.shape_env.hint(a.expr)
    if hint is None:
        if fallback is None:
            raise GuardOnDataDependentSymNode(f"the value of {a} depends on data: it is known only once the kernels have run")
        return fallback
    return int(hint)


def free_symbols(val: Any) -> set[str]:
    """The names of the symbols in sizes, in lists of them, and in the sizes and strides of a tensor."""
    if type(val) in SYMBOLIC:
        return set(val.expr.free_symbols)
    if isinstance(val, (list, tuple)):
        return set().union(*map(free_symbols, val)) if val else set()
    if hasattr(val, "sizes"):
        return free_symbols(val.sizes) | free_symbols(val.strides)
    return set()


def sym_eq(x: Any, y: Any) -> Any:
    """x == y for sizes and for tuples and lists of them, as one condition."""
    if isinstance(x, (tuple, list)) and isinstance(y, (tuple, list)):
        if len(x) != len(y):
            return False
        same: Any = True
        for a, b in zip(x, y):
            equal = sym_eq(a, b)
            if equal is False:
                return False
            same = equal if same is True else same if equal is True else same & equal
        return same
    if isinstance(x, (int, SymInt)) and isinstance(y, (int, SymInt)):
        return x == y
    raise AssertionError(f"unexpected sym_eq between {type(x)} {type(y)}")
