"""Python's operators, one row each: every table about operators, of any kind of value, follows from these.

As in CPython's slot tables a row holds the symbol, the function of `operator`, the special methods, the op of aten and
the ufunc of NumPy. `ROWS[function]` finds the row of a function of `operator`, in-place ones included.
"""

from __future__ import annotations

import _operator as operator
from collections.abc import Callable
from typing import Any

from aten.records import record


@record(frozen=True)
class Operator:
    """A binary operator. `reflected` is what the right operand is asked for; comparisons have no in-place form."""

    symbol: str
    function: Callable[[Any, Any], Any]
    dunder: str
    reflected: str
    op: str
    ufunc: str
    inplace: Callable[[Any, Any], Any] | None = None

    @property
    def is_comparison(self) -> bool:
        return self.inplace is None

    @property
    def inplace_dunder(self) -> str:
        return "__i" + self.dunder[2:]

    @property
    def name(self) -> str:
        """How TypeErrors write the operator."""
        return "** or pow()" if self.symbol == "**" else self.symbol


@record(frozen=True)
class Unary:
    """A unary operator."""

    symbol: str
    function: Callable[[Any], Any]
    dunder: str
    op: str
    ufunc: str


BINARY = [
    Operator("+", operator.add, "__add__", "__radd__", "add", "add", operator.iadd),
    Operator("-", operator.sub, "__sub__", "__rsub__", "sub", "subtract", operator.isub),
    Operator("*", operator.mul, "__mul__", "__rmul__", "mul", "multiply", operator.imul),
    Operator("/", operator.truediv, "__truediv__", "__rtruediv__", "div", "true_divide", operator.itruediv),
    Operator(
        "//", operator.floordiv, "__floordiv__", "__rfloordiv__", "floor_divide", "floor_divide", operator.ifloordiv
    ),
    Operator("%", operator.mod, "__mod__", "__rmod__", "remainder", "remainder", operator.imod),
    Operator("**", operator.pow, "__pow__", "__rpow__", "pow", "power", operator.ipow),
    Operator("@", operator.matmul, "__matmul__", "__rmatmul__", "matmul", "matmul", operator.imatmul),
    Operator("&", operator.and_, "__and__", "__rand__", "bitwise_and", "bitwise_and", operator.iand),
    Operator("|", operator.or_, "__or__", "__ror__", "bitwise_or", "bitwise_or", operator.ior),
    Operator("^", operator.xor, "__xor__", "__rxor__", "bitwise_xor", "bitwise_xor", operator.ixor),
    Operator("<<", operator.lshift, "__lshift__", "__rlshift__", "bitwise_left_shift", "left_shift", operator.ilshift),
    Operator(
        ">>", operator.rshift, "__rshift__", "__rrshift__", "bitwise_right_shift", "right_shift", operator.irshift
    ),
    Operator("==", operator.eq, "__eq__", "__eq__", "eq", "equal"),
    Operator("!=", operator.ne, "__ne__", "__ne__", "ne", "not_equal"),
    Operator("<", operator.lt, "__lt__", "__gt__", "lt", "less"),
    Operator("<=", operator.le, "__le__", "__ge__", "le", "less_equal"),
    Operator(">", operator.gt, "__gt__", "__lt__", "gt", "greater"),
    Operator(">=", operator.ge, "__ge__", "__le__", "ge", "greater_equal"),
]
UNARY = {
    row.function: row
    for row in (
        Unary("-", operator.neg, "__neg__", "neg", "negative"),
        Unary("+", operator.pos, "__pos__", "positive", "positive"),
        Unary("~", operator.invert, "__invert__", "bitwise_not", "invert"),
        Unary("abs()", operator.abs, "__abs__", "abs", "absolute"),
    )
}
COMPARE = {row.symbol: row.function for row in BINARY if row.is_comparison}
INPLACE = {row.inplace: row.function for row in BINARY if row.inplace is not None}  # in-place function → plain function
ROWS = {row.function: row for row in BINARY} | {row.inplace: row for row in BINARY if row.inplace is not None}
BY_DUNDER = {row.dunder: row for row in BINARY}
SWAPPED = {row.function: BY_DUNDER[row.reflected].function for row in BINARY if row.is_comparison}


def binary_by_symbol(symbol: str) -> Callable[[Any, Any], Any]:
    """The function of `operator` for what bytecode shows: "+", "+=", "==" …"""
    return _BY_SYMBOL[symbol]


_BY_SYMBOL = {row.symbol: row.function for row in BINARY} | {
    row.symbol + "=": row.inplace for row in BINARY if row.inplace is not None
}
