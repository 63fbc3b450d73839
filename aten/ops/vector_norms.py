"""Norms of vectors: of all elements, or of those along some dims."""

from __future__ import annotations

from typing import Any

from aten.later import later
from aten.meta import Meta
from aten.op import composite, op, ops
from aten.ops.batching import batch_dims
from aten.ops.reduction import keep, largest_size, reduced, smallest_size, sum
from aten.promotion import TYPE_NAMES, category, promote_types, to_real
from aten.shapes import check_dims, is_empty, is_int, is_one, wrap_dims


def _check_identity(x: Any, p: Any, dim: Any, dims: list[int]) -> None:
    """The extreme of no elements is an error."""
    whole = dim is None or (not isinstance(dim, int) and len(dim) == 0)
    empty = [d for d in dims if is_empty(x.shape[d])]
    if empty:
        where = "an empty tensor because the" if whole else f"the dimension {empty[0]}because this dimension is empty and the"
        raise RuntimeError(f"linalg.vector_norm cannot compute the {p:g} norm on {where} operation does not have an identity")


def vector_norm(x: Any, p: Any, dim: Any, keepdim: bool) -> Any:
    """The p-norm of the elements along `dim`; gradients are 0 where the norm is."""
    if isinstance(p, complex):
        raise RuntimeError("linalg.vector_norm: Expected a non-complex scalar as the order of norm.")
    dims = wrap_dims(dim, x.ndim)
    if p < 0 or p == float("inf"):
        _check_identity(x, p, dim, dims)
    if p == 0:
        return sum(ops.where(ops.eq(x, 0), x.abs(), 1.0), dims or None, keepdim)
    if p in (1, float("inf"), -float("inf")):
        if p == 1 or not dims:
            return sum(x.abs(), dims, keepdim) if dims else x.abs()
        return (largest_size if p > 0 else smallest_size)(x, dims, keepdim)
    return power_norm(x, dims, p, keepdim)


@op(
    "power_norm(Tensor input, int[] dim, Scalar p, bool keepdim) -> Tensor",
    tags=["reduction", "fused", "function_only", "hidden"],
    native="reduction",
)
def power_norm(input: Meta, dim: list[int], p: Any, keepdim: bool) -> Meta:
    """The norm of an order p that is neither 1 nor infinite. It saves its argument and result, as PyTorch's do: two tensors of
    the argument's dtype, whatever hooks of saved tensors make of them."""
    return reduced(input, dim, keepdim, to_real(input.dtype))


@power_norm.decompose
def _(x, dims, p, keepdim):
    if all(is_one(x.shape[d]) for d in dims):  # whose powers may be infinite, or none
        return sum(x.abs(), dims, keepdim) if dims else x.abs()
    if p == 2:
        squares = ops.square(ops.real(x)) + ops.square(ops.imag(x)) if x.dtype.is_complex else x * x
        return sum(squares, dims, keepdim).sqrt()
    where, size = ops.where, x.abs()
    if not p < 0:  # (of order NaN all is NaN)
        return sum(size**p, dims, keepdim) ** (1 / p)
    nothing = ops.eq(size, 0)
    total = sum(where(nothing, 1.0, where(nothing, 1.0, size) ** p), dims, keepdim)
    return where(ops.any(nothing, dims, keepdim) & ops.eq(total, total), 0.0, total ** (1 / p))  # (a NaN stays)


@power_norm.vjp
def _(g, input, dim, p, keepdim, out):
    """0 where the norm is, and for zeros of orders below 1, whose slope is infinite. Nothing is divided by 0, so that second
    derivatives are no NaN either (between 1 and 2 those of zeros are infinite)."""
    where, norm, g = ops.where, keep(out, dim, keepdim), keep(g, dim, keepdim)
    zero = ops.eq(norm, 0)
    norm = where(zero, 1.0, norm)
    if p == 2:
        return input * where(zero, 0.0, g / norm)
    size = input.abs()
    if p > 2:
        return input * size ** (p - 2) * where(zero, 0.0, g / norm ** (p - 1))
    if p > 1:
        return ops.sgn(input) * size ** (p - 1) * where(zero, 0.0, g / norm ** (p - 1))
    nothing = ops.eq(size, 0)
    power = where(nothing, 0.0, where(nothing, 1.0, size) ** (p - 1))
    return ops.sgn(input) * power * where(zero, 0.0, g * norm ** (1 - p))


power_norm.batch_fn = batch_dims(power_norm)


def _check_wider(dtype: Any, asked: Any) -> None:
    if asked.is_complex is not dtype.is_complex:
        kind = "complex" if dtype.is_complex else "real"
        raise RuntimeError(f"linalg.vector_norm: dtype should be {kind} for {kind} inputs, but got {TYPE_NAMES[asked.name]}")
    if promote_types(dtype, asked) is not asked:
        raise RuntimeError(
            f"linalg.vector_norm: the dtype of the input ({TYPE_NAMES[dtype.name]}) should be convertible without narrowing to the "
            f"specified dtype ({TYPE_NAMES[asked.name]})"
        )


@composite(
    "linalg_vector_norm(Tensor input, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    tags=["function_only"],
    native="reduction",
)
def linalg_vector_norm(input, ord, dim, keepdim, dtype):
    """The vector norm of order `ord` along `dim`."""
    if dtype is not None and category(input.dtype) >= 2 and category(dtype) >= 2:
        _check_wider(input.dtype, dtype)
    x = input if dtype is None else input.to(dtype)
    if category(x.dtype) < 2:
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {TYPE_NAMES[x.dtype.name]}"
        )
    return vector_norm(x, ord, dim, keepdim)


@composite(
    "norm(Tensor input, Any p='fro', Any dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", native="reduction"
)
def norm(input, p, dim, keepdim, dtype):
    """The p-norm; 'fro' is the square root of the sum of squares; 'nuc' the sum of singular values."""
    x = input if dtype is None else input.to(dtype)
    if category(x.dtype) < 2:
        raise RuntimeError(
            f"norm(): input dtype should be either floating point or complex. Got {TYPE_NAMES[x.dtype.name]} instead."
        )
    if p == "nuc":
        return ops.linalg_matrix_norm(x, "nuc", [-2, -1] if dim is None else dim, keepdim)
    if p is None or p == "fro":
        p = 2
    if isinstance(p, str):
        raise RuntimeError(f"norm(): the norms that have names are 'fro' and 'nuc', not {p!r}")
    if hasattr(p, "dtype") and p.requires_grad:
        raise TypeError("linalg_vector_norm(): argument 'ord' (position 2) must be Number, not Tensor")
    dim = int(dim) if hasattr(dim, "dtype") else dim
    check_dims("linalg_vector_norm", dim)
    return vector_norm(x, p, None if dim is None else [dim] if is_int(dim) else list(dim), keepdim)


norm.positional_out = later("aten.older_forms", "norms_out")


@composite("dist(Tensor input, Tensor other, Scalar p=2) -> Tensor", compute="float32")
def dist(input, other, p):
    """The p-norm of input - other."""
    return vector_norm(input - other, p, None, False)


__all__ = ["vector_norm"]
