"""Scans along one dimension: cumulative sums, products, extremes."""

from typing import Any

import numpy as np

from aten import _native
from aten import dtype as dtypes
from aten.float8 import is_float8
from aten.meta import Meta
from aten.op import Op, inplace_of, op, ops
from aten.ops.batching import batch_dims
from aten.ops.by_definition import by_definition
from aten.promotion import TYPE_NAMES, category
from aten.shapes import product, wrap_dim


def reverse_cumsum(x: Any, dim: int) -> Any:
    """Sums from each element to the end of the dimension."""
    if x.ndim == 0:
        return x
    flip = ops.flip
    return flip(cumsum(flip(x, [dim]), dim), [dim])


def _dtype(input: Any, dim: Any, dtype: Any) -> Any:
    return dtype or (input.dtype if category(input.dtype) >= 2 else dtypes.int64)


def _wrapped(input, dim, dtype=None):
    return input, wrap_dim(dim, input.ndim)


@op(
    "cumsum(Tensor input, int dim, *, ScalarType? dtype=None) -> Tensor",
    tags=["scan", "dtype_of_out"],
    promote=_dtype,
    compute="float32",
    native="scan",
)
def cumsum(input: Meta, dim: int) -> Meta:
    """Sums of the elements up to each one. Integers and bool are summed in int64."""
    return input.like(sizes=input.sizes)


cumsum.kernel(lambda out, x, dim: np.cumsum(x, axis=dim, out=out) if x.ndim else np.copyto(out, x))
cumsum.vjp(lambda g, dim: reverse_cumsum(g, dim))
cumsum.jvp(lambda tangents, input, dim, out: cumsum(tangents[0], dim))


@op(
    "cumprod(Tensor input, int dim, *, ScalarType? dtype=None) -> Tensor",
    tags=["scan", "dtype_of_out"],
    promote=_dtype,
    compute="float32",
    native="scan",
)
def cumprod(input: Meta, dim: int) -> Meta:
    """Products of the elements up to each one. Integers and bool are multiplied in int64."""
    return input.like(sizes=input.sizes)


cumprod.kernel(lambda out, x, dim: np.cumprod(x, axis=dim, out=out) if x.ndim else np.copyto(out, x))


def _row_products(x: Any, dim: int) -> Any:
    """C[..., i, k]: the product of the elements up to k with element i left out, 0 for k < i. Derivatives of any order
    follow from it, at zeros as well, at the price of the square of the row's length."""
    n = x.shape[dim]
    row = x.movedim(dim, -1)
    eye = ops.eye(n, dtype=dtypes.bool, device=x.device)
    return ops.triu(cumprod(ops.where(eye, 1.0, row.unsqueeze(-2)), -1), 0)


def _may_hold_zeros(x: Any) -> bool:
    return _native.is_tracer(x) or bool(ops.eq(x, 0).any())


_MANY = 16384  # elements from which on it pays to ask whether one is zero


@cumprod.vjp
def _(g, input, dim, out):
    """Sum of g * out over later places, over x; at the first zero with that zero left out; 0 after it."""
    if input.ndim == 0:
        return g
    if _native.is_grad_enabled() and _may_hold_zeros(input):
        rows = g.movedim(dim, -1).unsqueeze(-2) * _row_products(input, dim).conj()
        return rows.sum(-1).movedim(-1, dim)
    return cumprod_backward(g, input, out, dim)


@op(
    "cumprod_backward(Tensor grad, Tensor input, Tensor out, int dim) -> Tensor",
    tags=["fused", "function_only", "hidden"],
)
def cumprod_backward(grad: Meta, input: Meta, out: Meta, dim: int) -> Meta:
    """The gradient of what `cumprod` made `out` of. Whole, it looks for zeros first."""
    return grad.like(sizes=grad.sizes)


@cumprod_backward.decompose
def _without_looking(g: Any, input: Any, out: Any, dim: int) -> Any:
    x = input.conj()
    where, zero = ops.where, ops.eq(x, 0)
    zeros = cumsum(zero, dim)
    rest = where(zero, 1.0, x)
    before = reverse_cumsum(where(ops.eq(zeros, 0), g * out.conj(), 0.0), dim) / rest  # behind a zero may be what is not finite
    without = cumprod(where(zero & ops.eq(zeros, 1), 1.0, x), dim)
    at_first = reverse_cumsum(where(ops.eq(zeros, 1), g * without, 0.0), dim)
    return where(ops.eq(zeros, 0), before, where(zero & ops.eq(zeros, 1), at_first, 0.0))


def _by_zeros(g: Any, input: Any, out: Any, dim: int) -> Any:
    if product(input.shape) >= _MANY and not _may_hold_zeros(input):
        return reverse_cumsum(g * out.conj(), dim) / input.conj()
    return _without_looking(g, input, out, dim)


cumprod_backward.kernel(by_definition(_by_zeros))


def _extreme(name: str, running: np.ufunc) -> Op:
    @op(f"{name}(Tensor input, int dim) -> (Tensor values, Tensor indices)", tags=["scan"], native="scan")
    def rule(input: Meta, dim: int) -> tuple[Meta, Meta]:
        return input.like(sizes=input.sizes), input.like(sizes=input.sizes, dtype=dtypes.int64)

    rule.__doc__ = "The extreme of the elements up to each one, and where it stands (the last of equal ones)."

    @rule.kernel
    def _(out, x, dim):
        values, indices = out
        if x.ndim == 0:
            values[...], indices[...] = x, 0
            return
        if not x.size:
            return
        running.accumulate(x, axis=dim, out=values)  # a NaN stays
        places = np.arange(x.shape[dim]).reshape([-1] + [1] * (x.ndim - 1 - dim % x.ndim))
        np.maximum.accumulate(np.where((x == values) | (x != x), places, 0), axis=dim, out=indices)
        if x.dtype.kind not in "biu":  # of zeros of either sign the one that stands there
            values[...] = np.take_along_axis(x, indices, dim)

    @rule.vjp
    def _(g, input_meta, dim, indices):
        if g[0] is None or input_meta.ndim == 0:
            return g[0]
        zeros = ops.full(list(input_meta.sizes), 0, dtype=g[0].dtype, device=input_meta.device)
        return ops.scatter_add(zeros, dim, indices, g[0])

    rule.normal(_wrapped)
    rule.batch_fn = batch_dims(rule, outputs=2)
    return rule


cummax = _extreme("cummax", np.maximum)
cummin = _extreme("cummin", np.minimum)


@op(
    "logcumsumexp(Tensor input, int dim) -> Tensor",
    tags=["scan", "out_as_result"],
    promote="float",
    compute="float32",
    native="scan",
)
def logcumsumexp(input: Meta, dim: int) -> Meta:
    """log of the sums of exp(input) up to each element, without overflow."""
    return input.like(sizes=input.sizes)


@logcumsumexp.kernel
def _(out, x, dim):
    if x.dtype.kind != "c" or not x.ndim or not x.size:
        out[...] = np.logaddexp.accumulate(x, axis=dim) if x.ndim and x.size else x
        return
    rows, results = np.moveaxis(x, dim, 0), np.moveaxis(out, dim, 0)
    total = rows[0]
    results[0] = total
    for i in range(1, len(rows)):
        above = total.real > rows[i].real
        high, low = np.where(above, total, rows[i]), np.where(above, rows[i], total)
        total = np.where(np.isinf(high.real) & (high.real < 0), high, high + np.log1p(np.exp(low - high)))
        results[i] = total


@logcumsumexp.vjp
def _(g, input, dim, out):
    """exp(x) * sum over later places of g * exp(-out), positive and negative g apart, in logs."""
    if input.ndim == 0:
        return g
    flip, where = ops.flip, ops.where
    if _native.is_grad_enabled() or input.dtype.is_complex:  # in logs the derivative with respect to a g of 0 is lost
        x, y, rows = input.movedim(dim, -1), out.movedim(dim, -1), g.movedim(dim, -1)
        n = x.shape[-1]
        later = ops.triu(ops.ones([n, n], dtype=dtypes.bool, device=x.device))
        parts = where(later, where(later, x.unsqueeze(-1) - y.unsqueeze(-2), 0.0).exp(), 0.0)
        return (rows.unsqueeze(-2) * parts.conj()).sum(-1).movedim(-1, dim)

    def later(weight):
        logs = where(weight > 0, weight, 1.0).log()
        logs = where(weight > 0, logs, -float("inf")) - out
        return (flip(logcumsumexp(flip(logs, [dim]), dim), [dim]) + input).exp()

    return later(g) - later(-g)


@logcumsumexp.jvp
def _(tangents, input, dim, out):
    if input.ndim == 0:
        return tangents[0]
    x, y, rows = input.movedim(dim, -1), out.movedim(dim, -1), tangents[0].movedim(dim, -1)
    n = x.shape[-1]
    later = ops.triu(ops.ones([n, n], dtype=dtypes.bool, device=x.device))
    parts = ops.where(later, ops.where(later, x.unsqueeze(-1) - y.unsqueeze(-2), 0.0).exp(), 0.0)
    return (rows.unsqueeze(-1) * parts).sum(-2).movedim(-1, dim)


for _made in (cumsum, cumprod, logcumsumexp):
    _made.normal(_wrapped)
    _made.batch_fn = batch_dims(_made)


def _refuses(name: str, input: Any, dtype: Any) -> None:
    narrow = dtype is dtypes.bool and input.ndim and input.numel()
    if narrow or is_float8(dtype or input.dtype):
        raise NotImplementedError(f"\"{name}_out_cpu\" not implemented for '{TYPE_NAMES[(dtype or input.dtype).name]}'")


def _in_its_own_dtype(made: Op) -> None:
    """What is summed or multiplied is not bool, and in place of the tensor's dtype alone."""

    def refuses_in_place(public: tuple[Any, ...]) -> None:
        input, dim, dtype = public
        wrap_dim(dim, input.ndim)
        if dtype is not None and dtype is not input.dtype:
            names = TYPE_NAMES[input.dtype.name], TYPE_NAMES[dtype.name]
            raise RuntimeError("Bad in-place call: input tensor dtype {} and output tensor dtype {} should match".format(*names))
        _refuses(made.name, input, input.dtype)

    made.refuses = lambda public: _refuses(made.name, public[0], public[2])
    made.inplace = inplace_of(made)
    made.inplace.refuses = refuses_in_place

    @made.in_place
    def _(input, dim, dtype):
        return NotImplemented if input.dtype is not dtypes.bool else input  # (of one element, or none: what is not refused)


_in_its_own_dtype(cumsum)
_in_its_own_dtype(cumprod)
__all__ = ["cumprod", "cumsum", "reverse_cumsum"]
