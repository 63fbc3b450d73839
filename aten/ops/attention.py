"""Scaled dot-product attention."""

from typing import Any

import numpy as np

from aten import _native
from aten import dtype as dtypes
from aten.laid_out import laid_out_as
from aten.meta import Meta, contiguous_strides, dense_strides, known_equal, same_size
from aten.op import op, ops
from aten.ops.batching import materialize
from aten.ops.random import reserve
from aten.promotion import TYPE_NAMES, category
from aten.scalar.unpatched import math
from aten.shapes import broadcast, is_empty, product
from aten.symbolic.symint import sym_sqrt


@op(
    "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, "
    "bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
    tags=["fused", "function_only"],
    compute="float32",
    native="join",
)
def scaled_dot_product_attention(
    query: Meta, key: Meta, value: Meta, attn_mask: Any, dropout_p: float, is_causal: bool, scale: float
) -> Meta:
    """softmax(query @ key.T * scale + mask) @ value.

    query [..., L, E], key [..., S, E], value [..., S, V]. A bool mask keeps where True; a float one is added.
    `is_causal` lets position i see keys up to i. scale is by default 1 / sqrt(E).
    """
    for name, x in (("query", query), ("key", key), ("value", value)):
        if x.ndim < 2:
            raise RuntimeError(f"scaled_dot_product_attention: {name} must be at least 2-D, but got {x.ndim}-D")
        if x.dtype is not query.dtype:
            raise RuntimeError(
                "Expected query, key, and value to have the same dtype, but got query.dtype: "
                f"{query.dtype.name} key.dtype: {key.dtype.name} and value.dtype: {value.dtype.name} instead."
            )
    if category(query.dtype) < 2:
        raise NotImplementedError(f"\"scaled_dot_product_attention\" not implemented for '{TYPE_NAMES[query.dtype.name]}'")
    if not same_size(query.sizes[-1], key.sizes[-1]) or not same_size(key.sizes[-2], value.sizes[-2]):
        raise RuntimeError(
            f"scaled_dot_product_attention: sizes do not match: query {list(query.sizes)}, key {list(key.sizes)}, "
            f"value {list(value.sizes)}"
        )
    batch = broadcast(query.sizes[:-2], key.sizes[:-2], value.sizes[:-2])
    lies_so = _lies_as_query(query, key, value, attn_mask)
    return query.like(sizes=(*batch, query.sizes[-2], value.sizes[-1]), strides=dense_strides(query) if lies_so else None)


def _lies_as_query(query: Meta, key: Meta, value: Meta, mask: Any) -> bool:
    """Whether the result lies as the query does, without gaps, so that heads which were moved before the positions can be moved
    back for nothing: PyTorch's does where its flash kernel takes these. (`fast_join.cpp` says the same.)"""
    if query.ndim != 4 or key.ndim != 4 or value.ndim != 4 or (mask is not None and mask.requires_grad):
        return False
    alike = all(map(known_equal, (*query.sizes[:2], query.sizes[3]), (*value.sizes[:2], value.sizes[3])))
    alike &= all(map(known_equal, query.sizes[:2], key.sizes[:2]))
    filled = not any(is_empty(n) for n in (*query.sizes, *key.sizes))
    return alike and filled and all(type(x.strides[3]) is int and x.strides[3] == 1 for x in (query, key, value))


@scaled_dot_product_attention.normal
def _(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa):
    if attn_mask is not None and is_causal:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if attn_mask is not None and attn_mask.dtype not in (dtypes.bool, dtypes.float32, query.dtype):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{attn_mask.dtype.name} and  query.dtype: {query.dtype.name} instead."
        )
    if scale is None:
        size = query.shape[-1]
        scale = 1 / sym_sqrt(size) if type(size) is not int or size else 1.0  # (of no numbers all scores are 0)
    return query, key, value, attn_mask, dropout_p, is_causal, scale


scaled_dot_product_attention.special(lambda q, k, v, mask, dropout_p, causal, scale, enable_gqa: dropout_p > 0 or enable_gqa)(
    lambda q, k, v, mask, dropout_p, causal, scale, enable_gqa: _with_dropout(q, k, v, mask, dropout_p, causal, scale, enable_gqa)
)


def _with_dropout(q, k, v, mask, dropout_p, causal, scale, enable_gqa):
    """The two forms outside the core: random weights, and fewer heads of keys than of queries."""
    if not dropout_p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout_p:g}")
    if enable_gqa:
        groups = q.shape[-3] // k.shape[-3]
        k, v = ops.repeat_interleave(k, groups, -3), ops.repeat_interleave(v, groups, -3)
    if dropout_p == 0:
        return scaled_dot_product_attention(q, k, v, mask, 0.0, causal, scale=scale)
    args = scaled_dot_product_attention.normal_fn(q, k, v, mask, dropout_p, causal, scale, False)
    if q.device.type == "cuda" and dropout_p < 1 and q.dtype is not dtypes.float64:
        sizes = (*broadcast(q.shape[:-2], k.shape[:-2], v.shape[:-2]), q.shape[-2], k.shape[-2])
        return dropout_attention(q, k, v, mask, causal, args[6], dropout_p, *reserve(product(sizes), None, q.dtype))
    return _as(ops.dropout(_weights(q, k, mask, causal, args[6]), dropout_p), v) @ v


def causal_mask(rows: Any, columns: Any, device: Any) -> Any:
    """True where column <= row."""
    return ops.le(ops.arange(columns, device=device).unsqueeze(0), ops.arange(rows, device=device).unsqueeze(1))


@op(
    "dropout_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask, bool is_causal, float scale, float p, int seed, "
    "int offset) -> Tensor",
    tags=["random", "fused", "function_only"],
    compute="float32",
)
def dropout_attention(
    query: Meta, key: Meta, value: Meta, attn_mask: Any, is_causal: bool, scale: float, p: float, seed: Any, offset: Any
) -> Meta:
    """Attention whose weights are dropped as `dropout` would drop them: for devices, where no weight need be stored."""
    return scaled_dot_product_attention.function(query, key, value, attn_mask, 0.0, is_causal, scale)


@dropout_attention.decompose
def _(query, key, value, attn_mask, is_causal, scale, p, seed, offset):
    weights = ops.dropout_philox(_weights(query, key, attn_mask, is_causal, scale), p, seed, offset)
    return _as(weights, value) @ value


@dropout_attention.vjp
def _(g, needs, query, key, value, attn_mask, out, is_causal, scale, p, seed, offset):
    if needs[3] or _native.is_grad_enabled():
        return _gradients(
            g, needs, query, key, value, attn_mask, is_causal, scale, lambda x: ops.dropout_philox(x, p, seed, offset)
        )
    return *dropout_attention_backward(g, query, key, value, attn_mask, out, is_causal, scale, p, seed, offset), None


def _product(left: Any, right: Any) -> Any:
    """left @ right^T, of halves as float32: what is summed of hundreds of scores, or is their exp, was not rounded."""
    product = left @ right.transpose(-2, -1)
    return ops.cast(product, dtypes.float32) if product.dtype.itemsize == 2 else product


def _weights(query: Any, key: Any, mask: Any, causal: bool, scale: float, again: bool = False) -> Any:
    """softmax(query @ key^T * scale), of halves as float32. again: derivatives will be taken, to which NaN times 0 is NaN."""
    half = query.dtype.itemsize == 2
    scores = _product(query, key) * scale if half else _product(query * scale, key)
    if causal:
        mask = causal_mask(query.shape[-2], key.shape[-2], query.device)
    if mask is not None:
        scores = ops.where(mask, scores, -math.inf) if mask.dtype is dtypes.bool else scores + mask
    if mask is None or causal or is_empty(key.shape[-2]):
        return ops.softmax(scores, -1)
    empty = ops.eq(ops.amax(scores, [-1], True), -math.inf)  # a row that sees nothing attends to nothing
    return ops.where(empty, 0.0, ops.softmax(ops.where(empty, 0.0, scores) if again else scores, -1))


@scaled_dot_product_attention.decompose
def _(query, key, value, attn_mask, dropout_p, is_causal, scale):
    found = _as(_weights(query, key, attn_mask, is_causal, scale), value) @ value
    q, k, v = map(Meta.of, (query, key, value))
    moved = _lies_as_query(q, k, v, attn_mask) and not q.is_contiguous()
    return laid_out_as(found, dense_strides(q)) if moved else found


def _as(x: Any, like: Any) -> Any:
    return x if x.dtype is like.dtype else ops.cast(x, like.dtype)


@scaled_dot_product_attention.vjp
def _(g, needs, query, key, value, attn_mask, out, is_causal, scale):
    """In ops that can be differentiated again where gradients are recorded; else as one op."""
    if needs[3] or _native.is_grad_enabled():
        return _gradients(g, needs, query, key, value, attn_mask, is_causal, scale)
    return *scaled_dot_product_attention_backward(g, query, key, value, attn_mask, out, is_causal, scale), None


def _gradients(g, needs, query, key, value, attn_mask, is_causal, scale, dropped=lambda x: x):
    """The weights are made again; dS = P * (dP - sum(dP * P)). `dropped`: what becomes of them, and of their gradient."""
    p = _weights(query, key, attn_mask, is_causal, scale, _native.is_grad_enabled())
    gq = gk = gv = gm = None
    if needs[2]:
        gv = _as(dropped(p), g).transpose(-2, -1) @ g
    if needs[0] or needs[1] or needs[3]:
        gp = dropped(_product(g, value))
        weighted = gp * p
        gs = weighted - p * ops.sum(weighted, [-1], True)
        gm = _as(gs, attn_mask) if needs[3] else None
        gs = _as(gs, query)
        if needs[0]:
            gq = (gs @ key) * scale
        if needs[1]:
            gk = gs.transpose(-2, -1) @ (query * scale)
    return gq, gk, gv, gm


@op(
    "scaled_dot_product_attention_backward(Tensor grad, Tensor query, Tensor key, Tensor value, Tensor? attn_mask, "
    "Tensor output, bool is_causal, float scale) -> (Tensor, Tensor, Tensor)",
    tags=["fused", "function_only"],
    compute="float32",
)
def scaled_dot_product_attention_backward(
    grad: Meta, query: Meta, key: Meta, value: Meta, attn_mask: Any, output: Meta, is_causal: bool, scale: float
) -> tuple[Meta, Meta, Meta]:
    """Gradients of query, key and value, with the batch sizes of `output`. Not differentiable itself."""
    batch = output.sizes[:-2]
    moved = _lies_as_query(query, key, value, attn_mask)  # then positions come before heads, as they do where these are linear's
    return tuple([query.like((*batch, *x.sizes[-2:]), strides=_heads_last(x) if moved else None) for x in (query, key, value)])


def _heads_last(x: Meta) -> tuple[Any, ...]:
    n, heads, rows, width = x.sizes
    image, row, head, one = contiguous_strides((n, rows, heads, width))
    return image, head, row, one


@scaled_dot_product_attention_backward.decompose
def _(grad, query, key, value, attn_mask, output, is_causal, scale):
    return _gradients(grad, (True, True, True, False), query, key, value, attn_mask, is_causal, scale)[:3]


@op(
    "dropout_attention_backward(Tensor grad, Tensor query, Tensor key, Tensor value, Tensor? attn_mask, Tensor output, "
    "bool is_causal, float scale, float p, int seed, int offset) -> (Tensor, Tensor, Tensor)",
    tags=["random", "fused", "function_only"],
    compute="float32",
)
def dropout_attention_backward(
    grad: Meta, query: Meta, key: Meta, value: Meta, attn_mask: Any, output: Meta, is_causal: bool, scale: float, p: float,
    seed: Any, offset: Any,
) -> tuple[Meta, Meta, Meta]:  # fmt: skip
    """Gradients of query, key and value, the same weights being dropped. Not differentiable itself."""
    return scaled_dot_product_attention_backward.function(grad, query, key, value, attn_mask, output, is_causal, scale)


@dropout_attention_backward.decompose
def _(grad, query, key, value, attn_mask, output, is_causal, scale, p, seed, offset):
    dropped = lambda x: ops.dropout_philox(x, p, seed, offset)
    return _gradients(grad, (True, True, True, False), query, key, value, attn_mask, is_causal, scale, dropped)[:3]


def _like_scores(mask: Any, q: np.ndarray) -> Any:
    """A mask as kernels take it: a float32 one may be given for scores of any dtype."""
    return mask if mask is None or mask.dtype == bool else mask.astype(q.dtype, copy=False)


@scaled_dot_product_attention_backward.kernel
def _(outs, g, q, k, v, mask, out, is_causal, scale):
    mask = _like_scores(mask, q)
    given = [x if x is None else _native.from_numpy(x) for x in (*outs, g, q, k, v, mask, out)]
    if _native.attention_derivative_into(*given, is_causal, scale):
        return
    p = _softmax_of_scores(q, k, mask, is_causal, scale)
    gp = np.matmul(g, np.swapaxes(v, -1, -2))
    gs = p * (gp - (gp * p).sum(-1, keepdims=True, dtype=p.dtype)) * np.array(scale, p.dtype)
    for to, left, right in zip(outs, (gs, np.swapaxes(gs, -1, -2), np.swapaxes(p, -1, -2)), (k, q, g)):
        np.matmul(left, right, out=to)


@scaled_dot_product_attention.kernel
def _(out, q, k, v, mask, dropout_p, is_causal, scale):
    mask = _like_scores(mask, q)
    given = [x if x is None else _native.from_numpy(x) for x in (out, q, k, v, mask)]
    if not _native.attention_into(*given, is_causal, scale):
        np.matmul(_softmax_of_scores(q, k, mask, is_causal, scale), v, out=out)


def _softmax_of_scores(q, k, mask, is_causal, scale):
    scores = np.matmul(q * np.array(scale, q.dtype), np.swapaxes(k, -1, -2))
    if is_causal:
        mask = np.tri(q.shape[-2], k.shape[-2], dtype=bool)
    if mask is not None:
        scores = np.where(mask, scores, np.array(-np.inf, scores.dtype)) if mask.dtype == bool else scores + mask
    if not scores.size:
        return scores
    top = scores.max(-1, keepdims=True)
    e = np.exp(scores - np.where(np.isneginf(top), np.zeros((), top.dtype), top))
    total = e.sum(-1, keepdims=True, dtype=e.dtype)
    return e / np.where(total == 0, np.ones((), e.dtype), total)


@scaled_dot_product_attention.batch
def _(n, dims, q, k, v, mask, dropout_p, is_causal, scale):
    q, k, v = (materialize(x, d, n) for x, d in zip((q, k, v), dims))
    ndim = max(q.ndim, k.ndim, v.ndim)
    q, k, v = (x.reshape([n, *([1] * (ndim - x.ndim)), *x.shape[1:]]) for x in (q, k, v))
    if mask is not None and dims[3] is not None:
        mask = materialize(mask, dims[3], n)
        mask = mask.reshape([n, *([1] * (q.ndim - mask.ndim)), *mask.shape[1:]])
    return scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal, scale=scale), 0
