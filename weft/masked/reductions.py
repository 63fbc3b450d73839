"""Reductions over the elements where a mask is True.

All take `mask`, broadcastable to the input (None: every element counts), and `dtype`, that of the result. Along dims without any
element that counts, the result is the reduction's identity (0, 1, -inf …), or NaN where there is none (mean, var, median).
"""

from __future__ import annotations

from typing import Any

import aten
from aten import Tensor
from weft.masked.mask import broadcast_mask, dims_of, filled


def _widened(input: Tensor, dtype: Any) -> Any:
    if dtype is not None:
        return dtype
    return input.dtype if input.is_floating_point() or input.is_complex() else aten.int64


def sum(input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The sum over `dim` (an int, several or None for all); of integers in int64."""
    dims = dims_of(dim, input.ndim)
    return filled(input, mask, "sum").sum(dims, keepdim=bool(keepdim), dtype=_widened(input, dtype))


def prod(input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The product over `dim` (an int, several or None for all); of integers in int64."""
    result, dtype = filled(input, mask, "prod"), _widened(input, dtype)
    for d in reversed(dims_of(dim, input.ndim)):
        result = result.prod(d, keepdim=bool(keepdim), dtype=dtype)
    return result.to(dtype)


def _extreme(name: str, identity: str) -> Any:
    def reduction(
        input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
    ) -> Tensor:
        dims = dims_of(dim, input.ndim)
        return getattr(aten, name)(filled(input, mask, identity), dims, bool(keepdim)).to(input.dtype if dtype is None else dtype)

    return _named(reduction, name, f"The {identity}imum over `dim` (an int, several or None for all).")


def _place(name: str, identity: str) -> Any:
    def reduction(
        input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
    ) -> Tensor:
        return getattr(aten, name)(filled(input, mask, identity), dim, bool(keepdim)).to(input.dtype if dtype is None else dtype)

    return _named(reduction, name, f"The index of the {identity}imum along `dim`, or in the flattened input, in the input's dtype.")


def _named(function: Any, name: str, doc: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


amax, amin = _extreme("amax", "max"), _extreme("amin", "min")
argmax, argmin = _place("argmax", "max"), _place("argmin", "min")


def _count(input: Tensor, dim: Any, keepdim: bool, mask: Tensor | None) -> Tensor:
    """How many elements count."""
    ones = aten.ones(input.shape, dtype=aten.int64, device=input.device)
    return sum(ones, dim, keepdim=keepdim, mask=mask)


def mean(input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The mean over `dim` (an int, several or None for all)."""
    total = sum(input, dim, keepdim=keepdim, dtype=input.dtype if dtype is None else dtype, mask=mask)
    return total / _count(input, dim, keepdim, mask)


def median(input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The (lower) median along `dim`. Raises ValueError for integers where no element counts."""
    floating = input.is_floating_point()
    (along,) = dims_of(dim, max(input.ndim, 1))
    values = aten.nanmedian(filled(input if floating else input.to(aten.float32), mask, "ignored"), along, keepdim).values
    if floating:
        return values
    if values.isnan().any():
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return values.to(input.dtype if dtype is None else dtype)


def logsumexp(input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """log(sum(exp(input))) over `dim` (an int, several or None for all)."""
    values = aten.logsumexp(filled(input, mask, "max"), dims_of(dim, input.ndim), keepdim=keepdim)
    return values.to(input.dtype if dtype is None else dtype)


def logaddexp(
    input: Tensor, other: Tensor, *, dtype: Any = None, input_mask: Tensor | None = None, other_mask: Tensor | None = None
) -> Tensor:
    """log(exp(input) + exp(other)), of the elements where each one's mask is True."""
    values = aten.logaddexp(filled(input, input_mask, "max"), filled(other, other_mask, "max"))
    return values.to(input.dtype if dtype is None else dtype)


def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: Any = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The vector norm of order `ord` over `dim` (an int, several or None for all)."""
    ord = 2.0 if ord is None else ord
    values = filled(input, mask, "min" if ord == float("-inf") else "sum")
    return aten.linalg_vector_norm(
        values, ord, dims_of(dim, input.ndim), bool(keepdim), dtype=input.dtype if dtype is None else dtype
    )


def var(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The variance over `dim` (an int, several or None for all): the sum of squares by the count less `correction` (1)."""
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    less = float(correction) if correction is not None else 0.0 if unbiased is False else 1.0
    inexact = input.is_floating_point() or input.is_complex()
    dtype = (input.dtype if inexact else aten.float32) if dtype is None else dtype
    computed = dtype if dtype.is_floating_point or dtype.is_complex else aten.float32
    centre = sum(input, dim, keepdim=True, dtype=dtype, mask=mask) / _count(input, dim, True, mask)
    away = input - centre
    total = sum(away * away.conj(), dim, keepdim=keepdim, dtype=computed, mask=mask)
    count: Tensor = _count(input, dim, keepdim, mask)
    if less != 0:
        count = (count.to(computed.to_real()) - less).clamp_min(0)
    return (total / count).to(dtype)


def std(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The root of `var`."""
    return var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask).sqrt()


__all__ = [
    "amax", "amin", "argmax", "argmin", "broadcast_mask", "logaddexp", "logsumexp", "mean", "median", "norm", "prod", "std", "sum",
    "var",
]  # fmt: skip
