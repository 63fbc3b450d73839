"""Variances and standard deviations."""

from __future__ import annotations

from typing import Any

import numpy as np

from aten.errors import warn_caller
from aten.meta import Meta
from aten.op import composite, op, ops
from aten.ops.batching import batch_dims
from aten.ops.pieces import reduction
from aten.ops.reduction import axes_of, count, mean, reduced, root, spread
from aten.promotion import category, to_real
from aten.shapes import check_dims, wrap_dims


def _correction(unbiased: Any, correction: Any) -> Any:
    if correction is not None:
        return correction
    return 1 if unbiased is None or unbiased else 0


def _arguments(input, dim, correction, keepdim, unbiased):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    dim = int(dim) if hasattr(dim, "dtype") else dim
    check_dims("var", dim)
    if isinstance(correction, bool):
        correction, unbiased = None, correction
    return input, wrap_dims(dim, input.ndim), _correction(unbiased, correction), keepdim


def _var_normal(input, dim, correction, keepdim, unbiased):
    if category(input.dtype) < 2:
        raise RuntimeError("std and var only support floating point and complex dtypes")
    input, dims, correction, keepdim = _arguments(input, dim, correction, keepdim, unbiased)
    if isinstance(correction, (int, float)):
        n = count(input.shape, dims)
        if isinstance(n, int) and n <= correction:
            warn_caller(
                "std and var: degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input "
                "numel divided by output numel)."
            )
    return input, dims, correction, keepdim


def _deviation(x: np.ndarray, dim: list[int], correction: Any) -> tuple[np.ndarray, np.ndarray]:
    """(mean, variance) with kept dims."""
    n = count(x.shape, dim)
    mean = reduction(np.add, x, axes_of(dim))
    if x.dtype.kind == "c":  # part by part: a NaN of one is none of the other
        mean = np.asarray(mean)
        mean.real, mean.imag = mean.real / np.array(n, mean.real.dtype), mean.imag / np.array(n, mean.real.dtype)
    else:
        mean = mean / np.array(n, x.dtype)
    centred = x - mean
    squares = (centred * centred.conj()).real if x.dtype.kind == "c" else centred * centred
    total = reduction(np.add, squares, axes_of(dim))
    return mean, total / np.array(max(n - correction, 0), squares.dtype)


@op(
    "var(Tensor input, Any dim=None, Any correction=None, bool keepdim=False, *, bool? unbiased=None) -> Tensor",
    tags=["reduction"],
    compute="float32",
    native="reduction",
)
def var(input: Meta, dim: list[int], correction: Any, keepdim: bool) -> Meta:
    """The variance over `dim`: squared deviations summed and divided by n - correction (1: Bessel's)."""
    return reduced(input, dim, keepdim, to_real(input.dtype))


var.normal(_var_normal)


@var.kernel
def _(out, x, dim, correction, keepdim):
    out[...] = _deviation(x, dim, correction)[1].reshape(out.shape)


@var.vjp
def _(g, input, dim, correction, keepdim):
    n = count(input.shape, dim) - correction  # negative where too much is taken off: PyTorch's slope then is, too
    scale = 2 / n if not isinstance(n, (int, float)) or n != 0 else float("inf")
    g = spread(g, dim, keepdim, input.shape)
    centred = input - mean(input, dim, True) if dim else input * 0
    return g * (scale * centred)


@op("var_of_too_few(Tensor input, Scalar correction) -> Tensor", tags=["fused", "function_only", "hidden"])
def var_of_too_few(input: Meta, correction: Any) -> Meta:
    """The variance of all elements, at most as many as are taken off: infinite, or NaN. Its slope is PyTorch's where no dims are
    given, infinite where an element is not the mean."""
    return input.like(sizes=(), dtype=to_real(input.dtype))


@var_of_too_few.kernel
def _(out, x, correction):
    out[...] = _deviation(x, list(range(x.ndim)), correction)[1].reshape(())


var_of_too_few.decompose(lambda input, correction: ops.var(input, list(range(input.ndim)), correction, False))


@var_of_too_few.vjp
def _(g, input, correction):
    slope = ops.where(ops.eq(input, mean(input, list(range(input.ndim)), True)), float("nan"), float("inf"))
    return g * slope.to(input.dtype)


def _is_of_too_few(input, dim, correction, keepdim, unbiased):
    """Whether that is the variance of all elements, and differentiated."""
    if not (dim is None or isinstance(dim, bool)) or not input.requires_grad or not input.ndim:
        return False
    correction, n = _arguments(input, dim, correction, keepdim, unbiased)[2], input.numel()
    return isinstance(n, int) and bool(n <= correction)


@var.special(_is_of_too_few)
def _(input, dim, correction, keepdim, unbiased):
    input, dims, correction, keepdim = _var_normal(input, dim, correction, keepdim, unbiased)
    found = var_of_too_few(input, correction)
    return found.reshape([1] * input.ndim) if keepdim else found


@op(
    "var_mean(Tensor input, Any dim=None, Any correction=None, bool keepdim=False, *, bool? unbiased=None) -> (Tensor, Tensor)",
    tags=["reduction"],
    compute="float32",
    native="reduction",
)
def var_mean(input: Meta, dim: list[int], correction: Any, keepdim: bool) -> tuple[Meta, Meta]:
    """(variance, mean) over `dim`."""
    return reduced(input, dim, keepdim, to_real(input.dtype)), reduced(input, dim, keepdim)


var_mean.normal(_var_normal)


@var_mean.special(_is_of_too_few)
def _(input, dim, correction, keepdim, unbiased):
    return ops.var(input, dim, correction, keepdim, unbiased=unbiased), mean(input, list(range(input.ndim)), keepdim)


@var_mean.kernel
def _(out, x, dim, correction, keepdim):
    mean, variance = _deviation(x, dim, correction)
    out[0][...] = variance.reshape(out[0].shape)
    out[1][...] = mean.reshape(out[1].shape)


@var_mean.vjp
def _(g, input, dim, correction, keepdim):
    total = None
    if g[0] is not None:
        total = var.vjp_fn(g[0], input, dim, correction, keepdim)
    if g[1] is not None:
        part = spread(g[1], dim, keepdim, input.shape) / count(input.shape, dim)
        total = part if total is None else total + part
    return total


@composite("std(Tensor input, Any dim=None, Any correction=None, bool keepdim=False, *, bool? unbiased=None) -> Tensor")
def std(input, dim, correction, keepdim, unbiased):
    """The square root of `var`."""
    return root(var(input, dim, correction, keepdim, unbiased=unbiased))


@composite(
    "std_mean(Tensor input, Any dim=None, Any correction=None, bool keepdim=False, *, bool? unbiased=None) -> (Tensor, Tensor)",
    tags=["function_only"],
)
def std_mean(input, dim, correction, keepdim, unbiased):
    """(standard deviation, mean)."""
    variance, mean = var_mean(input, dim, correction, keepdim, unbiased=unbiased)
    return root(variance), mean


var.batch_fn = batch_dims(var)
var_mean.batch_fn = batch_dims(var_mean, outputs=2)
