"""Expressions from Python text, as C++ text, and as sympy."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from aten.symbolic import nodes
from aten.symbolic.nodes import Expr
from aten.symbolic.python_text import AND, ATOM, COMPARE, OR, POWER, PRODUCT, SUM, WHERE, at, product_text, sum_text
from aten.symbolic.ranges import non_negative

_BINARY = {
    ast.Add: nodes.add, ast.Sub: nodes.sub, ast.Mult: nodes.mul, ast.Div: nodes.truediv,
    ast.FloorDiv: nodes.floordiv, ast.Mod: nodes.mod, ast.Pow: nodes.pow_,
}  # fmt: skip
_COMPARE = {
    ast.Eq: nodes.eq, ast.NotEq: nodes.ne, ast.Lt: nodes.lt, ast.LtE: nodes.le, ast.Gt: nodes.gt, ast.GtE: nodes.ge,
}  # fmt: skip
_CALLS = {
    "min": nodes.min_, "max": nodes.max_, "float": nodes.to_float, "int": nodes.to_int,
    "sqrt": nodes.sqrt_, "floor": nodes.floor_, "signbit": nodes.signbit_,
}  # fmt: skip


def parse(text: str, kinds: Mapping[str, str] | None = None) -> Expr:
    """Read what `str(expr)` wrote. `kinds` tells the symbols that are not ints: {"scale": "float"}.

    Raises ValueError for text that is no such expression.
    """
    kinds = kinds or {}

    def read(n: ast.AST) -> Expr:
        match n:
            case ast.Constant(value=bool() | int() | float() as value):
                return nodes.const(value)
            case ast.Name(id=name):
                return nodes.sym(name, kinds.get(name))
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=float() as value)):
                return nodes.const(-value)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return nodes.mul(-1, read(operand))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return nodes.not_(read(operand))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return _BINARY[type(op)](read(left), read(right))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
                return _COMPARE[type(op)](read(left), read(right))
            case ast.BoolOp(op=op, values=values):
                parts = map(read, values)
                return nodes.and_(*parts) if isinstance(op, ast.And) else nodes.or_(*parts)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return nodes.where_(read(test), read(body), read(orelse))
            case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str() as word)]):
                return nodes.const(float(word))
            case ast.Call(func=ast.Name(id=name), args=args) if name in _CALLS:
                function: Callable[..., Expr] = _CALLS[name]
                return function(*map(read, args))
        raise ValueError(f"not an expression: {ast.unparse(n)!r} in {text!r}")

    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as err:
        raise ValueError(f"not an expression: {text!r}") from err
    return read(tree.body)


# ------------------------------------------------------------------------------------------- C++


# What to_cpp's text may call. Integers are int64_t; a program that includes this text needs nothing else.
CPP_PRELUDE = """\
static inline long weft_floordiv(long a, long b) { long q = a / b; return q - (a % b != 0 && (a < 0) != (b < 0)); }
static inline long weft_mod(long a, long b) { long r = a % b; return r + (r != 0 && (r < 0) != (b < 0) ? b : 0); }
static inline long weft_min(long a, long b) { return a < b ? a : b; }
static inline long weft_max(long a, long b) { return a > b ? a : b; }
static inline long weft_ipow(long a, long n) { long r = 1; while (n-- > 0) r *= a; return r; }
static inline double weft_fmod(double a, double b) {
  double r = __builtin_fmod(a, b);
  if (r == 0) return __builtin_copysign(0.0, b);
  return (r < 0) != (b < 0) ? r + b : r;
}
static inline double weft_ffloordiv(double a, double b) {
  double r = __builtin_fmod(a, b), q = (a - r) / b;
  if (r != 0 && (r < 0) != (b < 0)) q -= 1;
  if (q == 0) return __builtin_copysign(0.0, a / b);
  double whole = __builtin_floor(q);
  return q - whole > 0.5 ? whole + 1 : whole;
}
static inline double weft_fmin(double a, double b) { return b < a ? b : a; }
static inline double weft_fmax(double a, double b) { return b > a ? b : a; }
"""


def to_cpp(e: Expr, ranges: Mapping | None = None, names: Mapping[str, str] | None = None) -> str:
    """C++ text of `e` over int64_t (long), double and bool variables; it may call what CPP_PRELUDE defines.

    `//` and `%` of values that `ranges` proves non-negative become plain `/` and `%`. `names` renames symbols.
    """
    ranges, names = ranges or {}, names or {}

    def call(fn: str, args) -> tuple[str, int]:
        return f"{fn}({', '.join(part(a)[0] for a in args)})", ATOM

    def fold(fn: str, args) -> tuple[str, int]:
        out = part(args[0])[0]
        for a in args[1:]:
            out = f"{fn}({out}, {part(a)[0]})"
        return out, ATOM

    def part(x: Expr) -> tuple[str, int]:
        op, args, floating = x.op, x.args, any(a.kind == "float" for a in x.args)
        if op == "sym":
            return names.get(x.value, x.value), ATOM
        if op == "const":
            return _cpp_constant(x.value)
        if op == "add":
            return sum_text(x, part), SUM
        if op == "mul":
            return product_text(x, part), PRODUCT
        if op == "sub":
            return f"{at(part(args[0]), SUM)} - {at(part(args[1]), PRODUCT)}", SUM
        if op in ("floordiv", "mod") and not floating:
            if all(non_negative(a, ranges) for a in args):
                sign = " / " if op == "floordiv" else " % "
                return f"{at(part(args[0]), PRODUCT)}{sign}{at(part(args[1]), ATOM)}", PRODUCT
            return call("weft_floordiv" if op == "floordiv" else "weft_mod", args)
        if op in ("floordiv", "mod"):
            return call("weft_ffloordiv" if op == "floordiv" else "weft_fmod", args)
        if op == "div":
            return f"(double){at(part(args[0]), ATOM)} / (double){at(part(args[1]), ATOM)}", PRODUCT
        if op == "pow":
            return call("weft_ipow" if x.kind == "int" else "__builtin_pow", args)
        if op in ("min", "max"):
            return fold(("weft_f" if x.kind == "float" else "weft_") + op, args)
        if op in ("eq", "le", "lt"):
            sign = {"eq": " == ", "le": " <= ", "lt": " < "}[op]
            return f"{at(part(args[0]), SUM)}{sign}{at(part(args[1]), SUM)}", COMPARE
        if op in ("and", "or"):
            sign, strength = (" && ", AND) if op == "and" else (" || ", OR)
            return sign.join(at(part(a), COMPARE) for a in args), strength  # && inside || in parentheses: no warning
        if op == "not":
            return f"!{at(part(args[0]), ATOM)}", POWER
        if op == "where":
            c, a, b = (at(part(y), ATOM) for y in args)
            return f"{c} ? {a} : {b}", WHERE
        if op == "float":
            return f"(double){at(part(args[0]), ATOM)}", POWER
        if op == "sqrt":
            return call("__builtin_sqrt", args)
        if op == "signbit":
            return f"(__builtin_signbit({part(args[0])[0]}) != 0)", ATOM
        if op in ("int", "floor"):
            text = part(args[0])
            return (f"(long){at(text, ATOM)}" if op == "int" else f"(long)__builtin_floor({text[0]})"), POWER
        raise AssertionError(op)

    return part(e)[0]


def _cpp_constant(value) -> tuple[str, int]:
    if isinstance(value, bool):
        return ("true" if value else "false"), ATOM
    if isinstance(value, int):
        if value == -(2**63):
            return "(-9223372036854775807L - 1)", ATOM
        text = str(value) if abs(value) < 2**31 else f"{value}L"
        return text, ATOM if value >= 0 else POWER
    if value != value:
        return '__builtin_nan("")', ATOM
    if value in (float("inf"), float("-inf")):
        return ("" if value > 0 else "-") + "__builtin_inf()", ATOM if value > 0 else POWER
    return repr(value), ATOM if value >= 0 else POWER


# ------------------------------------------------------------------------------------------- sympy


def to_sympy(e: Expr):
    """The sympy expression: sizes are integer symbols that are not negative; `//` is floor(a / b)."""
    import sympy

    make: dict[str, Callable] = {
        "add": sympy.Add, "mul": sympy.Mul, "sub": lambda a, b: a - b, "div": lambda a, b: a / b,
        "floordiv": lambda a, b: sympy.floor(a / b), "mod": sympy.Mod, "pow": sympy.Pow, "min": sympy.Min,
        "max": sympy.Max, "eq": sympy.Eq, "le": sympy.Le, "lt": sympy.Lt, "and": sympy.And, "or": sympy.Or,
        "not": sympy.Not, "where": lambda c, a, b: sympy.Piecewise((a, c), (b, True)), "float": lambda a: a,
        "signbit": lambda a: sympy.Lt(a, 0),
        "int": lambda a: sympy.sign(a) * sympy.floor(abs(a)), "sqrt": sympy.sqrt, "floor": sympy.floor,
    }  # fmt: skip

    def build(x: Expr):
        if x.op == "sym":
            assumptions = {"int": {"integer": True, "nonnegative": True}, "float": {"real": True}, "bool": {}}
            return sympy.Symbol(x.value, **assumptions[x.kind])
        if x.op == "const":
            return sympy.sympify(x.value)
        return make[x.op](*map(build, x.args))

    return build(e)
