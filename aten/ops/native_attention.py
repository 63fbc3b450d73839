"""The forms of attention that PyTorch has under torch.ops.aten: what `scaled_dot_product_attention` is made of there."""

from typing import Any

from aten.dtype import bool as bool_
from aten.dtype import float32
from aten.op import composite, ops
from aten.ops.attention import causal_mask
from aten.scalar.unpatched import math

_HIDDEN = ["hidden"]


@composite("_safe_softmax(Tensor input, int dim, ScalarType? dtype=None) -> Tensor", tags=_HIDDEN)
def safe_softmax(input, dim, dtype):
    """`softmax`, with zeros, and no gradient, where all of a row is -inf."""
    empty = ops.all(input == -math.inf, dim, keepdim=True)
    return ops.where(empty, 0.0, ops.softmax(ops.where(empty, 0.0, input), dim, dtype))


def _shown_mask(input: Any, mask: Any, kind: Any) -> Any:
    """A mask of the input's sizes, from one of keys [B, L] (kind 1) or of pairs [L, L] (kind 0)."""
    if mask.dtype is not bool_:
        raise RuntimeError("Mask should be a boolean tensor")
    if mask.ndim != 2 or input.ndim != 4 or kind == 2:
        if list(mask.shape) != list(input.shape):
            raise RuntimeError("For mask_type == 2 mask shape should match input shape")
        return mask
    if kind not in (0, 1):
        raise RuntimeError("Mask Type should be 0 (src_mask), 1 (src_key_padding_mask), or 2 (default_mask)")
    (batch, _, rows, _), (first, length) = input.shape, mask.shape
    if first != (batch if kind == 1 else rows) or length != rows:
        raise RuntimeError(f"For mask_type == {kind} mask shape should be {'(B, L)' if kind == 1 else '(L, L)'}")
    shown = mask.reshape([batch, 1, 1, length]) if kind == 1 else mask.reshape([1, 1, rows, length])
    return shown.expand(list(input.shape))


@composite("_masked_softmax(Tensor input, BoolTensor mask, int? dim=None, int? mask_type=None) -> Tensor", tags=_HIDDEN)
def masked_softmax(input, mask, dim, mask_type):
    """`softmax` of what the mask leaves (False), 0 elsewhere; NaN without a gradient where it leaves nothing."""
    mask, dim = _shown_mask(input, mask, mask_type), -1 if dim is None else dim
    empty = ops.all(mask, dim, keepdim=True)
    weights = ops.softmax(ops.where(empty, 0.0, ops.where(mask, -math.inf, input)), dim)
    return ops.where(mask, ops.where(empty, math.nan, 0.0).to(input.dtype), weights)


def _scores(query: Any, key: Any, mask: Any, causal: bool, scale: float | None) -> Any:
    """What softmax is taken of."""
    scores = (query * (query.shape[-1] ** -0.5 if scale is None else scale)) @ key.transpose(-2, -1)
    if causal:
        if mask is not None:
            raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
        mask = causal_mask(query.shape[-2], key.shape[-2], query.device)
    if mask is None:
        return scores
    return ops.where(mask, scores, -math.inf) if mask.dtype is bool_ else scores + mask


@composite(
    "_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, "
    "bool is_causal=False, Tensor? dropout_mask=None, *, float? scale=None, bool enable_gqa=False) -> (Tensor, Tensor)",
    tags=["hidden", "random"],
)
def attention_with_weights(query, key, value, attn_mask, dropout_p, is_causal, dropout_mask, scale, enable_gqa):
    """(attention, its weights). `dropout_mask` says which weights are kept instead of chance."""
    if enable_gqa:
        groups = query.shape[-3] // key.shape[-3]
        key, value = ops.repeat_interleave(key, groups, -3), ops.repeat_interleave(value, groups, -3)
    weights = safe_softmax(_scores(query, key, attn_mask, is_causal, scale), -1)
    if dropout_p > 0 and dropout_mask is not None:
        kept = ops.where(dropout_mask, weights, 0)
        return kept @ (value * (1 / (1 - dropout_p))), kept
    if dropout_p > 0:
        weights = ops.dropout(weights, dropout_p)
    return weights @ value, weights


@composite(
    "_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0.0, "
    "bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor, Tensor)",
    tags=_HIDDEN,
)
def attention_with_logsumexp(query, key, value, dropout_p, is_causal, attn_mask, scale):
    """(attention, the logarithm of each row's sum). Raises RuntimeError for dropout, and for tensors not of four dims."""
    if query.ndim != 4 or key.ndim != 4 or value.ndim != 4:
        raise RuntimeError("scaled_dot_product_attention_flash_attention: Accept only 4 dims inputs shape of {B, H, T, K}")
    if dropout_p:
        raise RuntimeError("scaled_dot_product_attention_flash_attention: Currently do not support dropout > 0")
    out = ops.scaled_dot_product_attention(query, key, value, attn_mask, 0.0, is_causal, scale=scale)
    scores = _scores(query, key, attn_mask, is_causal, scale)
    return out, ops.logsumexp(scores.to(float32) if query.dtype.itemsize == 2 else scores, -1)


def _of_cuda(name: str, parameters: str) -> None:
    """A kernel that PyTorch has for CUDA alone. Its name is there, for tables of ops and for graphs that are compared."""

    @composite(f"{name}({parameters}) -> Any", tags=_HIDDEN)
    def definition(query, *rest):
        """Raises NotImplementedError: `scaled_dot_product_attention` is what chooses a kernel here."""
        place = query.device.type.upper()
        raise NotImplementedError(
            f"Could not run 'aten::{name}' with arguments from the '{place}' backend. Call scaled_dot_product_attention, which "
            "chooses among the kernels that there are."
        )


_GIVEN = "Tensor query, Tensor key, Tensor value, "
_of_cuda(
    "_flash_attention_forward",
    _GIVEN + "Tensor? cum_seq_q, Tensor? cum_seq_k, int max_q, int max_k, float dropout_p, bool is_causal, "
    "bool return_debug_mask, *, float? scale=None, int? window_size_left=None, int? window_size_right=None, "
    "Tensor? seqused_k=None, Tensor? alibi_slopes=None",
)
_of_cuda(
    "_efficient_attention_forward",
    _GIVEN + "Tensor? bias, Tensor? cu_seqlens_q, Tensor? cu_seqlens_k, int? max_seqlen_q, int? max_seqlen_k, float dropout_p, "
    "int custom_mask_type, bool compute_log_sumexp=False, *, float? scale=None, Tensor? seqlen_k=None, int? window_size=None",
)
_of_cuda(
    "_scaled_dot_product_flash_attention",
    _GIVEN + "float dropout_p=0.0, bool is_causal=False, bool return_debug_mask=False, *, float? scale=None",
)
_of_cuda(
    "_scaled_dot_product_efficient_attention",
    _GIVEN + "Tensor? attn_bias, bool compute_log_sumexp, float dropout_p=0.0, bool is_causal=False, *, float? scale=None",
)
_of_cuda(
    "_scaled_dot_product_cudnn_attention",
    _GIVEN + "Tensor? attn_bias, bool compute_log_sumexp, float dropout_p=0.0, bool is_causal=False, "
    "bool return_debug_mask=False, *, float? scale=None",
)
