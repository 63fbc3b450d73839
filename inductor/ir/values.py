"""The numbers of a Program: a table in which each entry is an operation on earlier entries.

A value is a tuple `(op, *args)`. Every value is held in 64 bits: an int64, a float64 as its bits, a bool as 0 or 1.

    const x                     an int or float
    input i                     argument i, a Python number
    size i d, stride i d        of argument i, a tensor
    result_size b d, result_stride b d   of a `result` buffer, once its step has run
    item b                      the one element of a buffer
    seed, rng_offset            of the default generator, as it stands when the value is computed
    add sub mul floordiv mod pow min max eq le lt     on integers: Python's, failing on overflow and on division by 0
    fadd fsub fmul fdiv ffloordiv fmod fpow fmin fmax feq fle flt     on floats
    and or not where            where(condition, a, b)
    float int sqrt floor        of an integer; of a float, the rest (`int` cuts towards zero)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from aten.scalar.unpatched import math

if TYPE_CHECKING:
    from aten.symbolic.expr import Expr
    from inductor.ir.program import Program

Value = tuple

_INT = "add sub mul floordiv mod pow min max eq le lt".split()
ARITY = {op: 2 for op in [*_INT, *("f" + op for op in _INT), "fdiv", "and", "or"]}
ARITY.update({"not": 1, "where": 3, "float": 1, "int": 1, "sqrt": 1, "floor": 1})
MAX_INT, MIN_INT = 2**63 - 1, -(2**63)


class ProgramError(ValueError):
    """A Program that is not well formed: a reference out of range, a use before its definition, an unknown name."""


class Failed(ArithmeticError):
    """A value that does not exist: an overflow of 64 bits or a division by zero."""


class ValueTable:
    """Builds the values of a Program. Equal values get one entry.

    `bind(name, value)` says which value a symbol is; `expr(e)` appends what an Expr needs and returns its index.
    """

    def __init__(self):
        self.values: list[Value] = []
        self.symbols: dict[str, int] = {}
        self._index: dict[tuple, int] = {}
        self._exprs: dict[Expr, int] = {}

    def add(self, op: str, *args) -> int:
        """The index of the value (op, *args)."""
        key = (op, *((type(a), repr(a)) for a in args))
        if key not in self._index:
            self._index[key] = len(self.values)
            self.values.append((op, *args))
        return self._index[key]

    def const(self, x: int | float) -> int:
        return self.add("const", x)

    def bind(self, name: str, value: int) -> None:
        """Symbol `name` is this value."""
        self.symbols[name] = value

    def expr(self, e: Expr | int) -> int:
        """The index of the value of an expression. Raises KeyError for a symbol that nothing has bound."""
        if isinstance(e, int):
            return self.const(int(e))
        if not hasattr(e, "op"):
            from aten.symbolic.expr import as_expr

            e = as_expr(e)
        if e not in self._exprs:
            self._exprs[e] = self._lower(e)
        return self._exprs[e]

    def exprs(self, items) -> tuple[int, ...]:
        return tuple(self.expr(e) for e in items)

    def _lower(self, e: Expr) -> int:
        if e.op == "const":
            return self.const(int(e.value) if isinstance(e.value, bool) else e.value)
        if e.op == "sym":
            return self.symbols[e.value]
        kinds = {a.kind for a in e.args}
        is_float = "float" in kinds and e.op not in ("and", "or", "not", "where", "int", "sqrt", "floor", "float")
        args = [self.expr(a) for a in e.args]
        if is_float or e.op == "div":
            op = "f" + e.op
            args = [i if a.kind == "float" else self.add("float", i) for i, a in zip(args, e.args)]
        else:
            op = e.op
        if len(args) > ARITY[op]:  # n-ary sums, products, minima, conjunctions
            out = args[0]
            for a in args[1:]:
                out = self.add(op, out, a)
            return out
        return self.add(op, *args)


# -------------------------------------------------------------------------------------------------- checks and printing
def check(program: Program, i: int, located: set[int]) -> None:
    """Raise ProgramError unless value i is well formed and depends on earlier values and located buffers only."""
    value = program.values[i]
    op, args = (value[0], value[1:]) if isinstance(value, tuple) and value else (None, ())

    def need(condition):
        if not condition:
            raise ProgramError(f"value {i}: {value!r}")

    ints = all(type(a) is int for a in args)
    if op == "const":
        need(len(args) == 1 and type(args[0]) in (int, float))
        need(type(args[0]) is float or MIN_INT <= args[0] <= MAX_INT)
    elif op == "input":
        need(
            ints and len(args) == 1 and 0 <= args[0] < len(program.inputs) and program.inputs[args[0]].kind != "tensor"
        )
    elif op in ("size", "stride"):
        need(ints and len(args) == 2 and 0 <= args[0] < len(program.inputs))
        need(0 <= args[1] < len(program.inputs[args[0]].sizes))
    elif op in ("result_size", "result_stride"):
        need(ints and len(args) == 2 and args[0] in located and program.buffers[args[0]].kind == "result")
        need(0 <= args[1] < 64)
    elif op == "item":
        need(ints and len(args) == 1 and args[0] in located)
    elif op in ("seed", "rng_offset"):
        need(not args)
    else:
        need(op in ARITY and len(args) == ARITY[op] and ints and all(0 <= a < i for a in args))


_INFIX = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "eq": "==",
    "le": "<=",
    "lt": "<",
    "div": "/",
    "and": "and",
    "or": "or",
}


def text(values: list[Value], i: int) -> str:
    """Value i as Python text."""
    op, *args = values[i]
    if op == "const":
        return repr(args[0])
    if op in ("size", "stride"):
        return f"in{args[0]}.{op}({args[1]})"
    if op in ("result_size", "result_stride"):
        return f"buf{args[0]}.{op[7:]}({args[1]})"
    if op in ("input", "item"):
        return f"in{args[0]}" if op == "input" else f"buf{args[0]}.item()"
    if op in ("seed", "rng_offset"):
        return op
    inner = [text(values, a) for a in args]
    plain = op if op in _INFIX or op in ("float", "floor") else op.removeprefix("f")
    if plain in _INFIX:
        return f"({inner[0]} {_INFIX[plain]} {inner[1]})"
    return f"{plain}({', '.join(inner)})"


# --------------------------------------------------------------------------------------------------------- evaluation
_PYTHON: dict[str, Callable] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b, "pow": lambda a, b: a**b, "min": min, "max": max, "eq": lambda a, b: a == b,
    "le": lambda a, b: a <= b, "lt": lambda a, b: a < b, "div": lambda a, b: a / b, "and": lambda a, b: a and b,
    "or": lambda a, b: a or b, "not": lambda a: not a, "where": lambda c, a, b: a if c else b, "float": float,
    "int": int, "sqrt": math.sqrt, "floor": math.floor,
}  # fmt: skip


def apply(op: str, *args: int | float) -> int | float:
    """One operation on Python numbers. Raises Failed on overflow and division by zero."""
    fn = _PYTHON[op] if op in _PYTHON else _PYTHON[op.removeprefix("f")]
    try:
        out = fn(*args)
    except (ArithmeticError, ValueError) as e:
        raise Failed(f"{op}{args}: {e}") from e
    if isinstance(out, complex) or (isinstance(out, int) and not MIN_INT <= out <= MAX_INT):
        raise Failed(f"{op}{args} does not fit 64 bits")
    return int(out) if isinstance(out, bool) else out
