"""Compile a condition on sizes to the stack code of eval_frame/shape_program.cpp."""

from __future__ import annotations

from collections.abc import Callable

from . import _eval_frame

_OPS = _eval_frame.SHAPE_OPS
_STACK = 64  # entries of the native stack
_ARITHMETIC = {"add": "ADD", "sub": "SUB", "mul": "MUL", "floordiv": "FLOORDIV", "mod": "MOD", "pow": "POW"}
_ARITHMETIC |= {"min": "MIN", "max": "MAX"}
_COMPARISON = {"eq": "EQ", "le": "LE", "lt": "LT"}


class TooComplex(ValueError):
    """The condition cannot be expressed natively (too deep, or constants beyond 64 bits)."""


def compile_expr(expr, load: Callable[[str, str], tuple]) -> tuple:
    """Code that leaves the truth of the bool Expr `expr`.

    load(name, kind) gives the instructions that push a symbol, of kind "int" or "float": ("SIZE", register, dim), ….
    Raises TooComplex.
    """
    code: list = []
    depth = _emit(expr, load, code)
    if depth > _STACK:
        raise TooComplex(f"{expr} needs a stack of {depth}")
    return tuple(code)


def _emit(e, load, code: list) -> int:
    """Append the code of `e`; the stack it needs."""
    op = e.op
    if op == "const":
        return _emit_const(e.value, code)
    if op == "sym":
        name, *operands = load(e.value, e.kind)
        code += [_OPS[name], *operands]
        return 1
    if op in ("and", "or"):
        return _fold(e.args, load, code, op.upper(), "bool")
    if op == "where":
        kind = e.kind
        depths = [_emit(e.args[0], load, code), *(_emit_as(a, kind, load, code) for a in e.args[1:])]
        code.append(_OPS["WHERE"])
        return max(i + d for i, d in enumerate(depths))
    if op in _COMPARISON:
        kind = "float" if any(a.kind == "float" for a in e.args) else "int"
        return _fold(e.args, load, code, _COMPARISON[op], kind)
    if op == "div":
        return _fold(e.args, load, code, "TRUEDIV", "float")
    if op in _ARITHMETIC:
        return _fold(e.args, load, code, _ARITHMETIC[op], e.kind)
    return _emit_unary(e, load, code)


def _emit_unary(e, load, code: list) -> int:
    (arg,) = e.args
    if e.op == "not":
        depth = _emit(arg, load, code)
        code.append(_OPS["NOT"])
    elif e.op == "float":
        depth = _emit_as(arg, "float", load, code)
    elif e.op == "sqrt":
        depth = _emit_as(arg, "float", load, code)
        code.append(_OPS["SQRT_F"])
    elif e.op == "signbit":
        depth = _emit_as(arg, "float", load, code)
        code.append(_OPS["SIGNBIT_F"])
    elif e.op in ("int", "floor"):
        depth = _emit(arg, load, code)
        if arg.kind == "float":
            code += [_OPS["FLOOR_F"], _OPS["TO_INT"]] if e.op == "floor" else [_OPS["TO_INT"]]
    else:
        raise TooComplex(f"no native form of {e.op}")
    return depth


def _fold(args, load, code: list, op: str, kind: str) -> int:
    """((a op b) op c) …"""
    if kind == "float" and op not in ("AND", "OR"):
        op += "_F"
    depth = _emit_as(args[0], kind, load, code)
    for a in args[1:]:
        depth = max(depth, 1 + _emit_as(a, kind, load, code))
        code.append(_OPS[op])
    return depth


def _emit_as(e, kind: str, load, code: list) -> int:
    depth = _emit(e, load, code)
    if kind == "float" and e.kind != "float":
        code.append(_OPS["TO_FLOAT"])
    return depth


def _emit_const(value, code: list) -> int:
    if isinstance(value, float):
        code += [_OPS["CONST_FLOAT"], value]
    elif -(2**63) <= value < 2**63:
        code += [_OPS["CONST"], int(value)]
    else:
        raise TooComplex(f"{value} does not fit 64 bits")
    return 1
