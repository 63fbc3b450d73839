"""Reductions. Core form: `dim` is an explicit list of non-negative dims (argmax: an int or None)."""

from __future__ import annotations

from typing import Any

import numpy as np

from aten import _native
from aten import dtype as dtypes
from aten.meta import Meta
from aten.op import Op, composite, op, ops, widened
from aten.ops.batching import batch_dims, is_tensor
from aten.ops.closed import closed
from aten.ops.pieces import reduce_into, reduction
from aten.promotion import TYPE_NAMES, category, to_real
from aten.shapes import is_empty, product, reduced_sizes, refuse_many, wrap_dim, wrap_dims


def spread(g: Any, dim: list[int], keepdim: bool, sizes: Any) -> Any:
    """A gradient of reduced sizes, shown with the sizes before the reduction."""
    if not keepdim:
        for d in sorted(dim):
            g = g.unsqueeze(d)
    return g.expand(list(sizes))


def count(sizes: Any, dim: list[int]) -> Any:
    """Number of elements that a reduction over `dim` combines."""
    return product(sizes[d] for d in dim)


def keep(x: Any, dim: list[int], keepdim: bool) -> Any:
    """A reduced tensor with the reduced dims as size 1."""
    if not keepdim:
        for d in sorted(dim):
            x = x.unsqueeze(d)
    return x


def axes_of(dim: list[int]) -> tuple[int, ...]:
    return tuple(dim)


def reduced(x: Meta, dim: list[int], keepdim: bool, dtype: Any = None) -> Meta:
    return x.like(sizes=reduced_sizes(x.sizes, dim, keepdim), dtype=dtype)


def _sum_dtype(input: Any, dim: Any, keepdim: Any, dtype: Any) -> Any:
    return dtype or (input.dtype if category(input.dtype) >= 2 else dtypes.int64)


def _mean_dtype(input: Any, dim: Any, keepdim: Any, dtype: Any) -> Any:
    found = dtype or input.dtype
    if category(found) < 2:
        words = "Input dtype" if dtype is None else "Optional dtype"
        raise RuntimeError(
            f"mean(): could not infer output dtype. {words} must be either a floating point or complex dtype. Got: "
            f"{TYPE_NAMES[found.name]}"
        )
    return found


@op(
    "sum(Tensor input, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    tags=["reduction", "dtype_of_out"],
    promote=_sum_dtype,
    compute="float32",
    native="reduction",
)
def sum(input: Meta, dim: list[int], keepdim: bool) -> Meta:
    """The sum over `dim` (all dims if None or empty). Integers and bool are summed in int64."""
    return reduced(input, dim, keepdim)


def _wrapped(input, dim, keepdim, *rest):
    return input, wrap_dims(dim, input.ndim), keepdim


def _wrapped_or_none(input, dim, keepdim):
    """As PyTorch's `any` and `all`: an empty list is no dim, only None is all of them."""
    if dim is not None and not isinstance(dim, int) and len(dim) == 0:
        return input, [], keepdim
    return input, wrap_dims(dim, input.ndim), keepdim


def _asks_narrow(input: Any, dim: Any, keepdim: Any, dtype: Any) -> bool:
    return dtype is not None and category(dtype) < 2 and dtype is not dtypes.int64


@sum.special(_asks_narrow)
def _(input, dim, keepdim, dtype):
    """In int64, which wraps to the same."""
    return sum(input.to(dtype), dim, keepdim).to(dtype)


sum.normal(_wrapped)
sum.kernel(lambda out, x, dim, keepdim: reduce_into(out, np.add, x, axes_of(dim), keepdim))
sum.vjp(lambda g, dim, keepdim, input_meta: spread(g, dim, keepdim, input_meta.sizes))
sum.jvp(lambda tangents, input, dim, keepdim, out: sum(tangents[0], dim, keepdim) if dim else tangents[0])


@op(
    "mean(Tensor input, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    tags=["reduction"],
    promote=_mean_dtype,
    compute="float32",
    native="reduction",
)
def mean(input: Meta, dim: list[int], keepdim: bool) -> Meta:
    """The mean over `dim` (all dims if None or empty); NaN over nothing."""
    return reduced(input, dim, keepdim)


mean.normal(_wrapped)


@mean.kernel
def _(out, x, dim, keepdim):
    total = reduction(np.add, x, axes_of(dim)).reshape(out.shape)
    out[...] = np.divide(total, np.array(count(x.shape, dim), x.dtype))


mean.vjp(lambda g, dim, keepdim, input_meta: spread(g, dim, keepdim, input_meta.sizes) / count(input_meta.sizes, dim))
mean.jvp(lambda tangents, input, dim, keepdim, out: mean(tangents[0], dim, keepdim) if dim else tangents[0])


@op(
    "prod(Tensor input, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    tags=["reduction", "dtype_of_out"],
    promote=_sum_dtype,
    compute="float32",
    native="reduction",
)
def prod(input: Meta, dim: list[int], keepdim: bool) -> Meta:
    """The product over `dim` (all dims if None). Integers and bool are multiplied in int64."""
    return reduced(input, dim, keepdim)


@prod.special(_asks_narrow)
def _(input, dim, keepdim, dtype):
    return prod(input.to(dtype), dim, keepdim).to(dtype)


prod.normal(_wrapped)
prod.kernel(lambda out, x, dim, keepdim: reduce_into(out, np.multiply, x, axes_of(dim), keepdim))


def _product_of_others(x: Any, dim: list[int], out: Any) -> Any:
    """At each element the product over `dim` of the other ones; out: the product of all, with kept dims."""
    if not dim:
        return ops.ones_like(x)
    if not _native.is_grad_enabled():
        where, zero = ops.where, ops.eq(x, 0)
        rest, zeros = where(zero, 1.0, x), sum(zero, dim, True)
        found = where(zero, where(ops.eq(zeros, 1), prod(rest, dim, True), out), out / rest)
        if x.device.type == "cpu" and not _native.is_tracer(x) and not bool(ops.isnan(out).any()):  # nothing is to be hidden
            return found
        odd = ops.logical_not(ops.isfinite(x))
        hidden = odd & ops.gt(zeros, 0) & ops.eq(sum(odd, dim, True), 1)  # the one element that is not finite sees zeros alone
        if len(dim) == x.ndim:
            hidden = hidden | ops.gt(zeros, 1)  # as in PyTorch, which does not look further
        return where(hidden & ops.isnan(out), 0.0, found)
    # What is differentiated further may not divide by zero: products of those before and of those after.
    last = [d for d in range(x.ndim) if d not in dim] + list(dim)
    flat = x.permute(last).flatten(x.ndim - len(dim))
    ones = ops.narrow(ops.ones_like(flat), -1, 0, 1) if flat.shape[-1] else flat
    before = ops.cumprod(ops.cat([ones, flat.narrow(-1, 0, flat.shape[-1] - 1)], -1), -1) if flat.shape[-1] else flat
    back = flat.flip([-1])
    after = ops.cumprod(ops.cat([ones, back.narrow(-1, 0, flat.shape[-1] - 1)], -1), -1).flip([-1]) if flat.shape[-1] else flat
    others = (before * after).reshape([x.shape[d] for d in last])
    return others.permute([last.index(d) for d in range(x.ndim)])


@prod.vjp
def _(g, input, dim, keepdim, out):
    return spread(g, dim, keepdim, input.shape) * _product_of_others(input, dim, keep(out, dim, keepdim)).conj()


@prod.jvp
def _(tangents, input, dim, keepdim, out):
    product = tangents[0] * _product_of_others(input, dim, keep(out, dim, keepdim))
    return sum(product, dim, keepdim) if dim else product


def _wrapped_all(input, dim, keepdim):
    """What has no dims reduces all, which must not be empty."""
    if not dim and is_empty(input.numel()) and input.ndim:
        raise RuntimeError(
            "amax, amin: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' "
            "argument."
        )
    return _wrapped(input, dim, keepdim)


def _extreme(name: str, ufunc: Any) -> Op:
    @op(f"{name}(Tensor input, int[1]? dim=(), bool keepdim=False) -> Tensor", tags=["reduction"], native="reduction")
    def rule(input: Meta, dim: list[int], keepdim: bool) -> Meta:
        for d in dim:
            if is_empty(input.sizes[d]):
                raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")
        return reduced(input, dim, keepdim)

    @rule.kernel
    def _(out, x, dim, keepdim):
        out[...] = ufunc.reduce(x, axis=axes_of(dim), keepdims=keepdim)

    @rule.vjp
    def _(g, input, dim, keepdim, out):
        """Equal extremes share the gradient evenly."""
        chosen = ops.eq(input, keep(out, dim, keepdim))
        share = keep(g, dim, keepdim) / sum(chosen, dim, True)
        return ops.where(chosen, share, share * 0)  # NaN equals nothing: then the share is infinite, and all are NaN

    rule.normal(_wrapped_all)
    rule.batch_fn = batch_dims(rule)
    return rule


amax = _extreme("amax", np.maximum)
amin = _extreme("amin", np.minimum)


def _extreme_size(name: str, extreme: Op) -> Op:
    """The extreme of absolute values: a norm of infinite order. Unlike where the extreme itself is asked for, a NaN counts as one
    of the extremes in the derivative, and so keeps to itself."""

    @op(f"{name}(Tensor input, int[1]? dim=(), bool keepdim=False) -> Tensor", tags=["reduction", "fused", "hidden"])
    def rule(input: Meta, dim: list[int], keepdim: bool) -> Meta:
        return extreme.rule(input.like(dtype=to_real(input.dtype)), dim, keepdim)

    rule.decompose(lambda input, dim, keepdim: extreme(input.abs(), dim, keepdim))

    @rule.vjp
    def _(g, input, dim, keepdim, out):
        size = input.abs()
        chosen = ops.eq(size, keep(out, dim, keepdim)) | ops.isnan(size)
        return ops.sgn(input) * ops.where(chosen, keep(g, dim, keepdim) / sum(chosen, dim, True), 0.0)

    rule.normal(_wrapped_all)
    rule.batch_fn = batch_dims(rule)
    return rule


largest_size = _extreme_size("largest_size", amax)
smallest_size = _extreme_size("smallest_size", amin)


def _truth(name: str, ufunc: Any) -> None:
    @op(f"{name}(Tensor input, int[1]? dim=None, bool keepdim=False) -> Tensor", tags=["reduction"], native="reduction")
    def rule(input: Meta, dim: list[int], keepdim: bool) -> Meta:
        return reduced(input, dim, keepdim, dtypes.uint8 if input.dtype is dtypes.uint8 else dtypes.bool)

    rule.kernel(lambda out, x, dim, keepdim: np.copyto(out, ufunc.reduce(x != 0, axis=axes_of(dim), keepdims=keepdim)))
    rule.normal(_wrapped_or_none)
    rule.batch_fn = batch_dims(rule)


_truth("any", np.logical_or)
_truth("all", np.logical_and)


def _arg_extreme(name: str, numpy_name: str) -> None:
    pick = getattr(np, numpy_name)

    @op(f"{name}(Tensor input, int? dim=None, bool keepdim=False) -> Tensor", tags=["reduction"], native="reduction")
    def rule(input: Meta, dim: int | None, keepdim: bool) -> Meta:
        if category(input.dtype) == 0:
            raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")
        if dim is None:
            if is_empty(input.numel()):
                raise IndexError(
                    f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                    f"reduction dim "
                    "with the 'dim' argument."
                )
            return input.like(sizes=(1,) * input.ndim if keepdim else (), dtype=dtypes.int64)
        if input.ndim and is_empty(input.sizes[dim]):
            raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")
        return reduced(input, [dim] if input.ndim else [], keepdim, dtypes.int64)

    @rule.kernel
    def _(out, x, dim, keepdim):
        if x.dtype.kind not in "biuf":
            x = x.astype(np.float32)  # bfloat16
        if dim is None or x.ndim == 0:
            out[...] = pick(x)
        else:
            out[...] = pick(x, axis=dim, keepdims=keepdim)

    @rule.normal
    def _(input, dim, keepdim):
        if dim is None:
            return input, None, keepdim
        refuse_many(input.ndim)
        return input, wrap_dim(dim, input.ndim), keepdim

    @rule.batch
    def _(size, dims, x, dim, keepdim):
        x = x.movedim(dims[0], 0)
        if dim is None:
            out = rule(x.reshape([size, product(x.shape[1:])]), 1, False)
            return (out.reshape([size] + [1] * (x.ndim - 1)) if keepdim else out), 0
        return (rule(x, dim + 1, keepdim) if x.ndim > 1 else rule(x.unsqueeze(1), 1, False)), 0


_arg_extreme("argmax", "argmax")
_arg_extreme("argmin", "argmin")


# --------------------------------------------------------------------------------- extremes with their positions
def _indexed(name: str, pick: Any) -> Op:
    @op(
        f"{name}_dim(Tensor input, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        tags=["reduction", "function_only"],
    )
    def rule(input: Meta, dim: int, keepdim: bool) -> tuple[Meta, Meta]:
        if input.ndim and is_empty(input.sizes[dim]):
            raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")
        out = reduced(input, [dim] if input.ndim else [], keepdim)
        return out, out.like(dtype=dtypes.int64)

    @rule.kernel
    def _(out, x, dim, keepdim):
        wide = x.astype(np.float32) if x.dtype.kind not in "biuf" else x
        if x.ndim == 0:
            out[0][...], out[1][...] = x, 0
            return
        at = pick(wide, axis=dim, keepdims=True)
        out[0][...] = np.take_along_axis(x, at, dim).reshape(out[0].shape)
        out[1][...] = at.reshape(out[1].shape)

    @rule.vjp
    def _(g, input_meta, dim, keepdim, indices):
        return put_along(g[0], indices, dim, keepdim, input_meta)

    @rule.normal
    def _(input, dim, keepdim):
        refuse_many(input.ndim)
        return input, wrap_dim(dim, input.ndim), keepdim

    rule.batch_fn = batch_dims(rule, outputs=2)
    return rule


def put_along(g: Any, index: Any, dim: int, keepdim: bool, meta: Meta) -> Any:
    """The gradient of picking one element along `dim` by index: zeros with g at the picked places."""
    if g is None:
        return None
    if meta.ndim == 0:
        return g
    if not keepdim:
        g, index = g.unsqueeze(dim), index.unsqueeze(dim)
    zeros = ops.full(list(meta.sizes), 0, dtype=g.dtype, device=meta.device)
    return ops.scatter(zeros, dim, index, g)


max_dim = _indexed("max", np.argmax)
min_dim = _indexed("min", np.argmin)
for _made in (sum, mean, prod):
    _made.batch_fn = batch_dims(_made)


def _extreme_of_all(name: str, full: Op) -> Op:
    """The extreme of all elements where it is differentiated: unlike amax, NaNs that it may be share its gradient."""

    @op(f"{name}_of_all(Tensor input) -> Tensor", tags=["fused", "function_only", "hidden"])
    def rule(input: Meta) -> Meta:
        return input.like(sizes=())

    rule.decompose(lambda input: full(input, list(range(input.ndim)), False))

    @rule.vjp
    def _(g, input, out):
        chosen = ops.logical_or(ops.eq(input, out), ops.isnan(input))  # (one NaN, and the extreme is NaN)
        return ops.where(chosen, g / sum(chosen), 0)

    return rule


def _max_or_min(name: str) -> None:
    full, along, pair = (amax, max_dim, "maximum") if name == "max" else (amin, min_dim, "minimum")
    of_all = _extreme_of_all(name, full)

    @composite(f"{name}(Tensor input, Any dim=None, bool keepdim=False, *, Tensor? other=None) -> Any")
    def definition(input, dim, keepdim, other):
        """Without dim: the extreme of all. With dim: (values, indices). With a tensor: elementwise."""
        if other is not None or is_tensor(dim):
            return getattr(ops, pair)(input, dim if other is None else other)
        if dim is None:
            if input.numel() == 0:
                raise RuntimeError(
                    f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                    f"reduction dim "
                    "with the 'dim' argument."
                )
            recorded = input.requires_grad and category(input.dtype) == 2
            return of_all(input) if recorded else full(input, [], False)
        values, indices = along(input, dim, keepdim)
        return _return_type(name)((values, indices))


def _return_type(name: str) -> Any:
    return getattr(ops, f"{name}_dim").schema.result_type


_max_or_min("max")
_max_or_min("min")


@composite("aminmax(Tensor input, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)", native="reduction")
def aminmax(input, dim, keepdim):
    """(amin, amax)."""
    dims = [] if dim is None else [wrap_dim(dim, input.ndim)]
    if input.ndim == 0:
        dims = []
    return aminmax.schema.result_type((amin(input, dims, keepdim), amax(input, dims, keepdim)))


@composite("nansum(Tensor input, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", native="reduction")
def nansum(input, dim, keepdim, dtype):
    """`sum` with NaN as 0."""
    return sum(zero_nans(input), dim, keepdim, dtype=dtype)


closed(
    "zero_nans_core(Tensor input) -> Tensor",
    lambda x: ops.where(ops.isnan(x), 0, x),
    lambda t, x: t * ops.eq(x, x),  # (NaN where a sum of none is divided by none)
    "input with 0 where it is NaN.",
)


@composite("zero_nans(Tensor input) -> Tensor", tags=["function_only", "hidden"], native="chain")
def zero_nans(input):
    """input with 0 where it is NaN."""
    return ops.zero_nans_core(input)


@composite("nanmean(Tensor input, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor")
def nanmean(input, dim, keepdim, dtype):
    """The mean of the elements that are not NaN."""
    number = ops.logical_not(ops.isnan(input))
    return nansum(input, dim, keepdim, dtype=dtype) / sum(number, dim, keepdim)


@composite("count_nonzero(Tensor input, int[*]? dim=None) -> Tensor", native="reduction")
def count_nonzero(input, dim):
    """How many elements are not 0."""
    return sum(ops.ne(input, 0), dim)


# -------------------------------------------------------------------------------------------- logsumexp and norms
@op(
    "logsumexp(Tensor input, int[1] dim, bool keepdim=False) -> Tensor",
    tags=["reduction", "fused"],
    promote="float",
    compute="float32",
    native="reduction",
)
def logsumexp(input: Meta, dim: list[int], keepdim: bool) -> Meta:
    """log(sum(exp(input))) over `dim`, without overflow."""
    return reduced(input, dim, keepdim)


logsumexp.normal(_wrapped)


@logsumexp.kernel
def _(out, x, dim, keepdim):
    real, axes = x.real, axes_of(dim)
    top = (reduction(np.maximum, real, axes) if x.size else np.full(reduced_sizes(x.shape, dim, True), -np.inf)).astype(x.dtype)
    top = np.where(np.isinf(top), np.zeros((), x.dtype), top)
    total = np.log(reduction(np.add, np.exp(x - top), axes)) + top
    out[...] = total.reshape(out.shape)


@logsumexp.decompose
@widened
def _(input, dim, keepdim):
    if any(is_empty(input.shape[d]) for d in dim):
        return sum(input, dim, keepdim).log()
    size = ops.real(input) if input.dtype.is_complex else input
    top = amax(size, dim, True) if dim else size
    top = ops.where(ops.isinf(top), 0.0, top)
    e = (input - top).exp()
    total = (sum(e, dim, True) if dim else e).log() + top
    return total if keepdim else total.squeeze(dim)


@logsumexp.vjp
def _(g, input, dim, keepdim, out):
    return keep(g, dim, keepdim) * (input - keep(out, dim, keepdim)).exp().conj()


@logsumexp.jvp
def _(tangents, input, dim, keepdim, out):
    product = tangents[0] * (input - keep(out, dim, keepdim)).exp()
    return sum(product, dim, keepdim) if dim else product


logsumexp.batch_fn = batch_dims(logsumexp)


@op("root(Tensor input) -> Tensor", tags=["fused", "function_only", "hidden"])
def root(input: Meta) -> Meta:
    """sqrt with gradient 0 (not NaN) at 0. Saves its result alone: no mask that a hook of saved tensors could cast."""
    return input.like()


root.decompose(lambda input: input.sqrt())


@root.vjp
def _(g, out):
    zero = ops.eq(out, 0)
    return ops.where(zero, 0.0, g / (2 * ops.where(zero, 1.0, out)))  # (divided by no 0: second derivatives are no NaN)


root.batch_fn = lambda size, dims, x: (root(x), dims[0])


__all__ = ["amax", "amin", "axes_of", "count", "keep", "mean", "reduced", "root", "spread", "sum"]
