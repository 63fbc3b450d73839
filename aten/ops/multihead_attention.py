"""Attention of several heads, of projected queries, keys and values, as a composite."""

from typing import Any

from aten import dtype as dtypes
from aten.errors import warn_caller
from aten.op import composite, ops
from aten.promotion import category
from aten.scalar.unpatched import math
from aten.shapes import show


@composite(
    "multi_head_attention_forward(Tensor query, Tensor key, Tensor value, int embed_dim_to_check, int num_heads, "
    "Tensor? in_proj_weight, Tensor? in_proj_bias, Tensor? bias_k, Tensor? bias_v, bool add_zero_attn, float dropout_p, "
    "Tensor out_proj_weight, Tensor? out_proj_bias, bool training=True, Tensor? key_padding_mask=None, "
    "bool need_weights=True, Tensor? attn_mask=None, bool use_separate_proj_weight=False, Tensor? q_proj_weight=None, "
    "Tensor? k_proj_weight=None, Tensor? v_proj_weight=None, Tensor? static_k=None, Tensor? static_v=None, "
    "bool average_attn_weights=True, bool is_causal=False) -> Any",
    tags=["function_only", "random"],
)
def multi_head_attention_forward(
    query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k, bias_v, add_zero_attn,
    dropout_p, out_proj_weight, out_proj_bias, training, key_padding_mask, need_weights, attn_mask,
    use_separate_proj_weight, q_proj_weight, k_proj_weight, v_proj_weight, static_k, static_v, average_attn_weights,
    is_causal,
):  # fmt: skip
    """Attention of several heads, [L, N, E] or [L, E] in and out; with need_weights also the weights.

    Masks are bool (True: not seen) or floating (added). is_causal says that attn_mask is the causal one.
    """
    batched = _check_dims(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = (x.unsqueeze(1) for x in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, n, width = query.shape
    _check_sizes(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    if key_padding_mask is not None and attn_mask is not None and key_padding_mask.dtype is not attn_mask.dtype:
        _warn_mismatched("key_padding_mask", "attn_mask")
    causal = is_causal and key_padding_mask is None and not need_weights
    weights = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else ops.chunk(in_proj_weight, 3, 0)
    biases = (None, None, None) if in_proj_bias is None else ops.chunk(in_proj_bias, 3, 0)
    q, k, v = (ops.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases))
    added = 0
    if bias_k is not None:
        k = ops.cat([k, bias_k.expand([1, n, width])], 0)
        v = ops.cat([v, bias_v.expand([1, n, width])], 0)
        added += 1
    heads = lambda x: x.reshape([x.shape[0], n, num_heads, width // num_heads]).permute([1, 2, 0, 3])
    given = lambda x: x.reshape([n, num_heads, -1, width // num_heads])
    q, k, v = heads(q), heads(k) if static_k is None else given(static_k), heads(v) if static_v is None else given(static_v)
    if add_zero_attn:
        zero = k.new_zeros([n, num_heads, 1, width // num_heads])
        k, v, added = ops.cat([k, zero], 2), ops.cat([v, zero], 2), added + 1
    mask = None if causal else _merged(attn_mask, key_padding_mask, n, num_heads, length, k.shape[2], added, q.dtype)
    rate, shown = dropout_p if training else 0.0, None
    if need_weights:
        shown = _weights(q, k, mask, rate)
        out = shown @ v
        shown = ops.mean(shown, [1]) if average_attn_weights else shown
        shown = shown if batched else shown.squeeze([0])
    else:
        out = ops.scaled_dot_product_attention(q, k, v, mask, rate, causal)
    out = out.permute([2, 0, 1, 3]).reshape([length * n, width])
    out = ops.linear(out, out_proj_weight, out_proj_bias).reshape([length, n, out_proj_weight.shape[0]])
    return (out if batched else out.squeeze([1])), shown


def _check_dims(query: Any, key: Any, value: Any, padding: Any, mask: Any, heads: int) -> bool:
    """Whether there is a batch. Raises AssertionError for numbers of dims that do not go together."""
    if query.ndim not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {query.ndim}-D query tensor")
    n, kind = query.ndim, "batched" if query.ndim == 3 else "unbatched"
    if key.ndim != n or value.ndim != n:
        raise AssertionError(
            f"For {kind} ({n}-D) `query`, expected `key` and `value` to be {n}-D but found {key.ndim}-D and {value.ndim}-D "
            "tensors respectively"
        )
    if padding is not None and padding.ndim != n - 1:
        raise AssertionError(
            f"For {kind} ({n}-D) `query`, expected `key_padding_mask` to be `None` or {n - 1}-D but found {padding.ndim}-D "
            "tensor instead"
        )
    if mask is not None:
        if mask.ndim not in (2, 3):
            raise AssertionError(
                f"For {kind} ({n}-D) `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found {mask.ndim}-D tensor instead"
            )
        if n == 2 and mask.ndim == 3 and tuple(mask.shape) != (heads, query.shape[0], key.shape[0]):
            raise AssertionError(f"Expected `attn_mask` shape to be {(heads, query.shape[0], key.shape[0])} but got {mask.shape}")
    return n == 3


def _check_sizes(query: Any, key: Any, value: Any, expected: int, heads: int, separate: bool) -> None:
    width = query.shape[2]
    if width != expected:
        raise AssertionError(f"was expecting embedding dimension of {expected}, but got {width}")
    if width % heads:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {heads}")
    if separate:
        if not _same(key.shape[:2], value.shape[:2]):
            raise AssertionError(f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
    elif not _same(key.shape, value.shape):
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")


def _same(a: Any, b: Any) -> bool:
    return len(a) == len(b) and all(bool(x == y) for x, y in zip(a, b))


def _warn_mismatched(name: str, other: str) -> None:
    warn_caller(f"Support for mismatched {name} and {other} is deprecated. Use same type for both instead.")


def _additive(mask: Any, name: str, dtype: Any) -> Any:
    """A mask of forbidden places (bool) or of summands, as summands."""
    if mask.dtype is not dtypes.bool and category(mask.dtype) != 2:
        raise AssertionError(f"only bool and floating types of {name} are supported")
    return ops.where(mask, -math.inf, ops.zeros([], dtype=dtype)) if mask.dtype is dtypes.bool else mask


def _merged(mask: Any, padding: Any, n: Any, heads: int, length: Any, keys: Any, added: int, dtype: Any) -> Any:
    """Both masks as one of summands, broadcastable to [N, heads, L, S]; `added` keys at the end are always seen."""
    if mask is not None:
        mask = _additive(mask, "attn_mask", dtype)
        expected = (length, keys - added) if mask.ndim == 2 else (n * heads, length, keys - added)
        if not _same(mask.shape, expected):
            raise RuntimeError(f"The shape of the {mask.ndim}D attn_mask is {mask.shape}, but should be {expected}.")
        mask = ops.constant_pad_nd(mask, [0, added], 0)
        mask = mask if mask.ndim == 2 else mask.reshape([n, heads, length, keys])
    if padding is not None:
        padding = _additive(padding, "key_padding_mask", dtype)
        if not _same(padding.shape, (n, keys - added)):
            raise AssertionError(f"Expected key_padding_mask of sizes {show([n, keys - added])}, but got {show(padding.shape)}")
        padding = ops.constant_pad_nd(padding, [0, added], 0).unsqueeze(1).unsqueeze(1)
        mask = padding if mask is None else mask + padding
    return mask


def _weights(q: Any, k: Any, mask: Any, dropout_p: float) -> Any:
    scores = (q * (1 / math.sqrt(q.shape[-1]))) @ k.transpose(-2, -1)
    weights = ops.softmax(scores if mask is None else scores + mask, -1)
    return ops.dropout(weights, dropout_p) if dropout_p else weights
