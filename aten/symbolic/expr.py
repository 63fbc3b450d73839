"""The expression of sizes, guards and loop indices: everything about it under one name.

i, j = sym("i"), sym("j")
e = (4*i + j)//4
simplify(e, {"j": (0, 3)}) is i
parse(str(e)) is e
"""

from aten.symbolic.evaluate import evaluate
from aten.symbolic.nodes import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    Expr,
    Number,
    add,
    and_,
    as_expr,
    const,
    eq,
    floor_,
    floordiv,
    ge,
    gt,
    is_const,
    le,
    lt,
    max_,
    min_,
    mod,
    mul,
    ne,
    not_,
    or_,
    pow_,
    prod_,
    rebuild,
    split_divisible,
    sqrt_,
    sub,
    substitute,
    sum_,
    sym,
    to_float,
    to_int,
    truediv,
    walk,
    where_,
)  # fmt: skip
from aten.symbolic.ranges import below, bounds, non_negative, simplify
from aten.symbolic.text import CPP_PRELUDE, parse, to_cpp, to_sympy

__all__ = [
    "CPP_PRELUDE", "FALSE", "ONE", "TRUE", "ZERO", "Expr", "Number", "add", "and_", "as_expr", "below", "bounds",
    "const", "eq", "evaluate", "floor_", "floordiv", "ge", "gt", "is_const", "le", "lt", "max_", "min_", "mod", "mul",
    "ne", "non_negative", "not_", "or_", "parse", "pow_", "prod_", "rebuild", "simplify", "split_divisible", "sqrt_",
    "sub", "substitute", "sum_", "sym", "to_cpp", "to_float", "to_int", "to_sympy", "truediv", "walk", "where_",
]  # fmt: skip
