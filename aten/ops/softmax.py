"""softmax and log_softmax."""

from typing import Any

import numpy as np

from aten.meta import Meta
from aten.op import composite, op, ops, widened
from aten.ops.batching import batch_dims
from aten.promotion import TYPE_NAMES, category
from aten.shapes import is_empty, wrap_dim


def _check(name: str, x: Meta) -> None:
    if category(x.dtype) < 2 and not is_empty(x.numel()):
        raise NotImplementedError(f"\"{name}_lastdim_kernel_impl\" not implemented for '{TYPE_NAMES[x.dtype.name]}'")


def _dtype(input: Any, dim: Any, dtype: Any, *rest: Any) -> Any:
    return dtype or input.dtype


def implicit_dim(ndim: int) -> int:
    """The dim that softmax takes when none is given: 0 for 0, 1 and 3 dimensions, else 1."""
    return 0 if ndim in (0, 1, 3) else 1


def _wrapped(input, dim, *rest):
    return input, wrap_dim(implicit_dim(input.ndim) if dim is None else dim, input.ndim)


@op(
    "softmax(Tensor input, int? dim=None, ScalarType? dtype=None, *, int _stacklevel=3) -> Tensor",
    tags=["reduction", "fused"],
    promote=_dtype,
    compute="float32",
    native="rows",
)
def softmax(input: Meta, dim: int) -> Meta:
    """exp(x) / sum(exp(x)) along `dim`; the maximum is subtracted first (safe softmax; Milakov & Gimelshein 2018).

    Raises IndexError for a dim outside the tensor, NotImplementedError for integers and bool.
    """
    _check("softmax", input)
    return input.like(sizes=input.sizes)


softmax.normal(_wrapped)


@softmax.kernel
def _(out, x, dim):
    if not x.size:
        return
    if not x.ndim:
        out[...] = np.exp(x - x)  # NaN of infinities
        return
    e = np.exp(x - x.max(dim, keepdims=True))
    np.divide(e, e.sum(dim, keepdims=True, dtype=e.dtype), out=out)


@softmax.decompose
@widened
def _(x, dim):
    if category(x.dtype) < 2:
        return ops.clone(x)  # (an empty one)
    if x.ndim == 0 or is_empty(x.shape[dim]):
        return ops.exp(x - x)
    e = (x - ops.amax(x, [dim], True)).exp()
    return e * ops.reciprocal(ops.sum(e, [dim], True))  # as the kernel does: one quotient a row


@softmax.vjp
def _(g, out, dim):
    weighted = g * out
    return weighted - out * (ops.sum(weighted, [dim], True) if g.ndim else weighted)


@softmax.jvp
def _(tangents, input, dim, out):
    weighted = tangents[0] * out
    return weighted - out * (ops.sum(weighted, [dim], True) if input.ndim else weighted)


@op(
    "log_softmax(Tensor input, int? dim=None, ScalarType? dtype=None, *, int _stacklevel=3) -> Tensor",
    tags=["reduction", "fused"],
    promote=_dtype,
    compute="float32",
    native="rows",
)
def log_softmax(input: Meta, dim: int) -> Meta:
    """log(softmax(input, dim)), without the detour."""
    _check("log_softmax", input)
    return input.like(sizes=input.sizes)


log_softmax.normal(_wrapped)


@log_softmax.kernel
def _(out, x, dim):
    if not x.size:
        return
    if not x.ndim:
        out[...] = x - x
        return
    centred = x - x.max(dim, keepdims=True)
    out[...] = centred - np.log(np.exp(centred).sum(dim, keepdims=True, dtype=x.dtype))


@log_softmax.decompose
@widened
def _(x, dim):
    if category(x.dtype) < 2:
        return ops.clone(x)  # (an empty one)
    if x.ndim == 0 or is_empty(x.shape[dim]):
        return x - x
    centred = x - ops.amax(x, [dim], True)
    return centred - ops.sum(centred.exp(), [dim], True).log()


@log_softmax.vjp
def _(g, out, dim):
    return g - out.exp() * (ops.sum(g, [dim], True) if g.ndim else g)


@log_softmax.jvp
def _(tangents, input, dim, out):
    t = tangents[0]
    weighted = t * out.exp()
    return t - (ops.sum(weighted, [dim], True) if t.ndim else weighted)


softmax.batch_fn = batch_dims(softmax)
log_softmax.batch_fn = batch_dims(log_softmax)


@composite(
    "softmin(Tensor input, int? dim=None, ScalarType? dtype=None, *, int _stacklevel=3) -> Tensor",
    tags=["function_only"],
)
def softmin(input, dim, dtype, _stacklevel):
    """softmax(-input)."""
    return softmax(-input, dim, dtype)


@composite(
    "gumbel_softmax(Tensor logits, float tau=1, bool hard=False, float eps=1e-10, int dim=-1) -> Tensor",
    tags=["function_only", "random"],
)
def gumbel_softmax(logits, tau, hard, eps, dim):
    """A sample of a relaxed categorical distribution (Jang et al. 2016); `hard`: one-hot forward, soft gradient."""
    noise = -(1 - ops.rand_like(logits)).log()
    soft = softmax((logits - noise.log()) / tau, dim)
    if not hard:
        return soft
    index = ops.argmax(soft, dim, True)
    one = ops.scatter(ops.zeros_like(logits), wrap_dim(dim, logits.ndim), index, 1.0)
    return one - soft.detach() + soft
