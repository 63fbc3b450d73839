"""Elementwise functions that are made of other ops, with a derivative of their own.

What follows from their definition would be wrong where it has a kink that the function has not, or has elsewhere (log(sigmoid(x))
by |x| at 0), or lose digits. A compiler sees the definition; its derivative is traced from the one declared here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten import dtype as dtypes
from aten.derivative import Missing, missing
from aten.meta import Meta
from aten.op import Op, op, ops
from aten.ops.pointwise import finish_pointwise, pointwise_meta
from aten.promotion import category

_HALF = (dtypes.float16, dtypes.bfloat16)


def floating_of(x: Any) -> Any:
    """A tensor in a floating dtype."""
    return x if category(x.dtype) >= 2 else x.to(dtypes.get_default_dtype())


def _wide(x: Any) -> Any:
    return ops.cast(x, dtypes.float32) if getattr(x, "dtype", None) in _HALF else x


def in_float32(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with half types computed in float32 and rounded once."""

    def wide(*args: Any) -> Any:
        dtype = args[0].dtype
        return ops.cast(function(*map(_wide, args)), dtype) if dtype in _HALF else function(*args)

    wide.asks = function.__code__.co_varnames[: function.__code__.co_argcount]  # type: ignore[attr-defined]
    return wide


def _refused(name: str) -> Callable[..., Any]:
    return lambda tangents, *args: Missing(name)()


def closed(declaration: str, definition: Callable[..., Any], derivative: Any, doc: str, *, whole: bool = False) -> Op:
    """A hidden op: `definition(*core arguments)` in ops; derivatives as in `pointwise.py`. None: there is none, and to ask for it
    is an error. whole: as in `Op`."""

    def rule(*args: Any) -> Meta:
        return pointwise_meta(*args)

    rule.__doc__ = doc
    made = op(declaration, tags=("pointwise", "fused", "hidden"), promote="same")(rule)
    made._core = made.schema.params
    made.whole = whole
    made.decompose(in_float32(definition))
    if derivative is None:
        public = made.name.removesuffix("_core")
        made.vjp_fn, made.jvp_fn = missing(public), _refused(public)
        return finish_pointwise(made, None, False)
    several = isinstance(derivative, tuple)
    products = tuple(map(in_float32, derivative if several else (derivative,)))
    return finish_pointwise(made, products if several else products[0], False)


__all__ = ["closed", "floating_of"]
