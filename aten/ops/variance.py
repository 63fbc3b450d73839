"""Variances and standard deviations."""

from typing import Any

import numpy as np

from aten.errors import warn_caller
from aten.meta import Meta
from aten.op import composite, op
from aten.ops.batching import batch_dims
from aten.ops.pieces import reduction
from aten.ops.reduction import axes_of, count, mean, reduced, root, spread
from aten.promotion import category, to_real
from aten.shapes import wrap_dims


def _correction(unbiased: Any, correction: Any) -> Any:
    if correction is not None:
        return correction
    return 1 if unbiased is None or unbiased else 0


def _var_normal(input, dim, correction, keepdim, unbiased):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if isinstance(correction, bool):
        correction, unbiased = None, correction
    if category(input.dtype) < 2:
        raise RuntimeError("std and var only support floating point and complex dtypes")
    dims, correction = wrap_dims(dim, input.ndim), _correction(unbiased, correction)
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
    mean = reduction(np.add, x, axes_of(dim)) / np.array(n, x.dtype)
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
