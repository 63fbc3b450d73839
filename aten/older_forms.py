"""Calls of old, with a number before the tensor that it multiplies: add_(alpha, other), addcdiv_(value, x, y),
addmm(beta, x, alpha, a, b); and add(x, number, alpha)."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from typing import Any

from aten.dtype import DType
from aten.errors import warn_caller

_FACTOR = {"add": "alpha", "sub": "alpha", "subtract": "alpha", "addcmul": "value", "addcdiv": "value"}
_OPERANDS = {"add": 1, "sub": 1, "subtract": 1, "addcmul": 2, "addcdiv": 2}
_NUMBERS = frozenset({"add", "sub", "subtract", "rsub"})
_SCALED = frozenset({"addmm", "addmv", "addr", "addbmm", "baddbmm", "sspaddmm"})
_said: set[str] = set()


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "ndim") and not isinstance(value, Number)


def _norm(args: Sequence[Any], kwargs: dict[str, Any] | None) -> tuple[Sequence[Any], dict[str, Any]] | None:
    """Of norm: the function takes out (None: `norms_out` took a tensor) and dtype behind keepdim, the method dtype alone."""
    rest = dict(zip(("dtype",) if len(args) == 5 and type(args[4]) is DType else ("out", "dtype"), args[4:]))
    if len(args) > 6 or set(rest) & set(kwargs or {}):
        return None
    return args[:4], {**{k: v for k, v in rest.items() if v is not None}, **(kwargs or {})}


def norms_out(args: Sequence[Any], kwargs: dict[str, Any], kind: type) -> tuple[Sequence[Any], dict[str, Any]]:
    """Norm's arguments, a tensor (an object of this class) in the place of out being a keyword, as it is of other ops."""
    rest = dict(zip(("out", "dtype"), args[4:]))
    if isinstance(args[4], kind) and len(args) <= 6 and not set(rest) & set(kwargs):
        return args[:4], {**kwargs, **rest}
    return args, kwargs


def rewritten(name: str, args: Sequence[Any], kwargs: dict[str, Any] | None) -> tuple[Sequence[Any], dict[str, Any]] | None:
    """The arguments as the op takes them now, with a warning the first time; None where this is no form of old."""
    if name == "norm":
        return _norm(args, kwargs)
    base, kinds = name.removesuffix("_"), [_is_tensor(a) for a in args]
    if base in _NUMBERS and kinds == [True, False, False]:  # (no form of old: of a tensor and two numbers, both by position)
        return args[:2], {"alpha": args[2], **(kwargs or {})}
    if base in _FACTOR and kinds == [True, False] + [True] * _OPERANDS[base]:
        tensors, numbers = (args[0], *args[2:]), {_FACTOR[base]: args[1]}
    elif base in _SCALED and kinds in ([False, True, True, True], [True, False, True, True]):
        beta, input = args[:2] if kinds[1] else (args[1], args[0])
        tensors, numbers = (input, *args[2:]), {"beta": beta}
    elif base in _SCALED and kinds in ([False, True, False, True, True], [True, False, False, True, True]):
        beta, input = args[:2] if kinds[1] else (args[1], args[0])
        tensors, numbers = (input, *args[3:]), {"beta": beta, "alpha": args[2]}
    else:
        return None
    if name not in _said:
        _said.add(name)
        old = ", ".join("Tensor" if k else "Number" for k in kinds)
        warn_caller(
            f"This overload of {name} is deprecated:\n\t{name}({old})\nConsider using one of the following signatures instead:\n"
            f"\t{name}({', '.join(['Tensor'] * len(tensors))}, *, {', '.join(f'Number {n}' for n in numbers)})"
        )
    return tensors, {**numbers, **(kwargs or {})}
