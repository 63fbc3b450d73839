"""Everything that makes expressions, under one name; see `core`, `logic` and `rewrite`."""

from aten.symbolic.core import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    Expr,
    Number,
    add,
    as_expr,
    const,
    floordiv,
    from_terms,
    is_const,
    mod,
    mul,
    pow_,
    prod_,
    split_divisible,
    sub,
    sum_,
    sym,
    truediv,
)  # fmt: skip
from aten.symbolic.logic import (
    and_,
    eq,
    floor_,
    ge,
    gt,
    le,
    lt,
    max_,
    min_,
    ne,
    not_,
    or_,
    signbit_,
    sqrt_,
    to_float,
    to_int,
    where_,
)  # fmt: skip
from aten.symbolic.rewrite import BUILD, combine, rebuild, substitute, walk

__all__ = [
    "BUILD", "FALSE", "ONE", "TRUE", "ZERO", "Expr", "Number", "add", "and_", "as_expr", "combine", "const", "eq",
    "floor_", "floordiv", "from_terms", "ge", "gt", "is_const", "le", "lt", "max_", "min_", "mod", "mul", "ne", "not_",
    "or_", "pow_", "prod_", "rebuild", "signbit_", "split_divisible", "sqrt_", "sub", "substitute", "sum_", "sym", "to_float",
    "to_int", "truediv", "walk", "where_",
]  # fmt: skip
