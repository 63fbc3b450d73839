"""`_foreach_*`: an op on each tensor of a list. Names and arguments as PyTorch's optimizers use them.

A second operand is a number (or a tensor) for all, or a list with one for each. The forms with a trailing underscore write into
the first list and return it; the others return a tuple.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aten.op import registry

_UNARY = """abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt
sigmoid sign sin sinh sqrt tan tanh trunc""".split()
_BINARY = "add sub mul div pow maximum minimum clamp_min clamp_max".split()
_TERNARY = "addcmul addcdiv lerp".split()


def _spread(x: Any, n: int, name: str) -> Sequence[Any]:
    """One operand a tensor. Raises RuntimeError for a list of another length."""
    if not isinstance(x, (list, tuple)):
        return [x] * n
    if len(x) != n:
        raise RuntimeError(f"_foreach_{name}: Tensor lists must have the same number of tensors, got {n} and {len(x)}")
    return x


def _scalars(x: Any, n: int) -> Any:
    """One number a tensor, of a list or a tensor of one dim. Raises RuntimeError for a tensor of others."""
    if not hasattr(x, "dtype"):
        return x
    if x.dim() != 1:
        raise RuntimeError(f"Expected packed scalar Tensor to be of dimension 1. Got {x.dim()} instead.")
    if x.shape[0] != n:
        raise RuntimeError(f"Expected length of scalars to match input of length {n} but got {x.shape[0]} instead.")
    return x.tolist()


def _each(name: str, op: str) -> Callable[..., tuple[Any, ...]]:
    def foreach(self: Any, *operands: Any, **options: Any) -> tuple[Any, ...]:
        if name == "pow" and not isinstance(self, (list, tuple)):  # a number or tensor to the power of each
            return tuple(registry[op](self, x) for x in operands[0])
        if not self:
            raise RuntimeError("Tensor list must have at least one tensor.")
        if name in ("addcmul", "addcdiv") and len(operands) == 3:
            operands = (*operands[:2], _scalars(operands[2], len(self)))
        columns = [_spread(x, len(self), name) for x in operands]
        if name in ("addcmul", "addcdiv") and len(columns) == 3:
            *columns, values = columns
            return tuple(registry[op](t, *rest, value=v) for t, v, *rest in zip(self, values, *columns))
        if name in ("maximum", "minimum") and not hasattr(columns[0][0], "dtype"):
            clamp = registry[("clamp_min" if name == "maximum" else "clamp_max") + ("_" if op.endswith("_") else "")]
            return tuple(clamp(t, x) for t, x in zip(self, columns[0]))
        return tuple(registry[op](t, *rest, **options) for t, *rest in zip(self, *columns))

    return foreach


def _in_place(name: str, op: str) -> Callable[..., Any]:
    each = _each(name, op)

    def foreach_(self: Sequence[Any], *operands: Any, **options: Any) -> Sequence[Any]:
        each(self, *operands, **options)
        return self

    return foreach_


def _overwritten(name: str) -> Callable[..., Any]:
    """For an op without a form in place."""
    each = _each(name, name)

    def foreach_(self: Sequence[Any], *operands: Any, **options: Any) -> Sequence[Any]:
        for t, made in zip(self, each(self, *operands, **options)):
            t.copy_(made)
        return self

    return foreach_


for _name in [*_UNARY, *_BINARY, *_TERNARY]:
    globals()[f"_foreach_{_name}"] = _each(_name, _name)
    globals()[f"_foreach_{_name}_"] = _in_place(_name, f"{_name}_") if f"{_name}_" in registry else _overwritten(_name)


def _foreach_zero_(self: Sequence[Any]) -> Sequence[Any]:
    """Zeros in each tensor."""
    for t in self:
        t.zero_()
    return self


def _foreach_copy_(self: Sequence[Any], src: Sequence[Any], non_blocking: bool = False) -> Sequence[Any]:
    """The elements of each tensor of `src` in its partner."""
    for t, other in zip(self, _spread(src, len(self), "copy_")):
        t.copy_(other, non_blocking)
    return self


def _foreach_norm(self: Sequence[Any], ord: Any = 2, dtype: Any = None) -> tuple[Any, ...]:
    """The norm of each tensor, flat."""
    return tuple(registry["linalg_vector_norm"](t, ord, dtype=dtype) for t in self)


def _foreach_max(self: Sequence[Any]) -> tuple[Any, ...]:
    """The greatest element of each tensor."""
    return tuple(t.max() for t in self)


def _foreach_clone(self: Sequence[Any]) -> tuple[Any, ...]:
    """A copy of each tensor."""
    return tuple(t.clone() for t in self)


NAMES = sorted(name for name in globals() if name.startswith("_foreach_"))
__all__ = ["NAMES"]
