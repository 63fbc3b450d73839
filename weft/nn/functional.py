"""Functions of neural networks, with PyTorch's signatures. Most are ops of aten under the same name; what differs is the
arguments that only this face has: `inplace`, `training`, and the order of embedding's."""

from __future__ import annotations

import warnings
from typing import Any

import aten
from aten import Tensor
from weft.nn.linear_cross_entropy import LinearCrossEntropyOptions

_REDUCTIONS = ("mean", "sum", "none")


def _inplace(function: Any, input: Tensor, inplace: bool, *args: Any) -> Tensor:
    """function(input, *args), written into `input` if asked to."""
    result = function(input, *args)
    return input.copy_(result) if inplace else result


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias. input: (*, in), weight: (out, in) or (in), bias: (out)."""
    return aten.linear(input, weight, bias)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """out[..., k] = input1 @ weight[k] @ input2 + bias[k]."""
    flat1, flat2 = input1.reshape(-1, input1.shape[-1]), input2.reshape(-1, input2.shape[-1])
    out = ((flat1 @ weight) * flat2).sum(-1).t()
    out = out if bias is None else out + bias
    return out.reshape(*input1.shape[:-1], weight.shape[0])


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """weight[input]. Raises IndexError outside [0, rows); the row `padding_idx` gets no gradient."""
    if max_norm is not None or scale_grad_by_freq or sparse:
        raise NotImplementedError("embedding: max_norm, scale_grad_by_freq and sparse are not supported")
    if padding_idx is None:
        return aten.embedding(weight, input)
    if not -weight.shape[0] <= padding_idx < weight.shape[0]:
        raise AssertionError("Padding_idx must be within num_embeddings")
    padding_idx %= weight.shape[0]
    rows = aten.embedding(weight, input)
    return aten.where((input == padding_idx).unsqueeze(-1), rows.detach(), rows)


def one_hot(input: Tensor, num_classes: int = -1) -> Tensor:
    return aten.one_hot(input, num_classes)


# ------------------------------------------------------------------------------------------------ activations
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    return input.relu_() if inplace else aten.relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    return hardtanh(input, 0.0, 6.0, inplace)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    return aten.hardtanh(input, min_val, max_val, inplace)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x Φ(x), or its tanh approximation (Hendrycks, Gimpel 2016)."""
    return aten.gelu(input, approximate=approximate)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    return _inplace(aten.silu, input, inplace)


def sigmoid(input: Tensor) -> Tensor:
    return aten.sigmoid(input)


def tanh(input: Tensor) -> Tensor:
    return aten.tanh(input)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    return _inplace(lambda x: aten.where(x > 0, x, alpha * aten.expm1(x)), input, inplace)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    return _inplace(lambda x: aten.where(x > 0, x, alpha * aten.expm1(x / alpha)), input, inplace)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    scale, alpha = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
    return _inplace(lambda x: scale * aten.where(x > 0, x, alpha * aten.expm1(x)), input, inplace)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    return _inplace(lambda x: aten.where(x > 0, x, x * negative_slope), input, inplace)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    return aten.prelu(input, weight)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta x)) / beta; x itself where beta x > threshold."""
    scaled = input * beta
    return aten.where(scaled > threshold, input, aten.log1p(aten.exp(aten.clamp(scaled, max=threshold))) / beta)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    return _inplace(lambda x: x * aten.tanh(softplus(x)), input, inplace)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    return _inplace(lambda x: aten.clamp(x + 3, 0, 6) / 6, input, inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    return _inplace(lambda x: x * aten.clamp(x + 3, 0, 6) / 6, input, inplace)


def logsigmoid(input: Tensor) -> Tensor:
    return aten.clamp(input, max=0) - aten.log1p(aten.exp(-aten.abs(input)))


def softsign(input: Tensor) -> Tensor:
    return input / (1 + aten.abs(input))


def tanhshrink(input: Tensor) -> Tensor:
    return input - aten.tanh(input)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    if lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return aten.where(input > lambd, input - lambd, aten.where(input < -lambd, input + lambd, input * 0))


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    return aten.where(aten.abs(input) <= lambd, aten.zeros_like(input), input)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    if input.shape[dim] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {input.shape[dim]}")
    a, b = input.chunk(2, dim)
    return a * aten.sigmoid(b)


def _softmax_dim(dim: int | None, ndim: int) -> int:
    return (0 if ndim in (0, 1, 3) else 1) if dim is None else dim


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    return aten.softmax(input, _softmax_dim(dim, input.dim()), dtype=dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    return aten.log_softmax(input, _softmax_dim(dim, input.dim()), dtype=dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    return softmax(-input, dim, dtype=dtype)


# -------------------------------------------------------------------------------------- normalisation, dropout
def layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    return aten.layer_norm(input, normalized_shape, weight, bias, eps)


def rms_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    return aten.rms_norm(input, normalized_shape, weight, eps)


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """input / max(norm, eps) along `dim`."""
    denominator = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return input / denominator if out is None else aten.div(input, denominator, out=out)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return _inplace(aten.dropout, input, inplace, p, training)


# ---------------------------------------------------------------------------------------------------- attention
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query @ key.T * scale + mask) @ value; scale defaults to 1 / sqrt(E).

    query: (*, L, E), key: (*, S, E), value: (*, S, Ev) → (*, L, Ev).
    """
    if enable_gqa and query.shape[-3] != key.shape[-3]:
        groups = query.shape[-3] // key.shape[-3]
        key, value = key.repeat_interleave(groups, -3), value.repeat_interleave(groups, -3)
    return aten.scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale=scale)


# ------------------------------------------------------------------------------------------------------- losses
def _reduce(loss: Tensor, reduction: str) -> Tensor:
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction == "none":
        return loss
    raise ValueError(f"{reduction} is not a valid value for reduction")


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    return aten.cross_entropy(
        input, target, weight, ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing
    )


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    return aten.nll_loss(input, target, weight, ignore_index=ignore_index, reduction=reduction)


def mse_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    difference = input - target
    return _reduce(difference * difference, reduction)


def l1_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    return _reduce(aten.abs(input - target), reduction)


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    z = aten.abs(input - target)
    return _reduce(aten.where(z <= delta, 0.5 * z * z, delta * (z - 0.5 * delta)), reduction)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    z = aten.abs(input - target)
    return _reduce(aten.where(z < beta, 0.5 * z * z / beta, z - 0.5 * beta), reduction)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """target (log target - input), with input log-probabilities; 0 where the target is 0."""
    if log_target:
        loss = aten.exp(target) * (target - input)
    else:
        loss = aten.where(target > 0, target * aten.log(target), aten.zeros_like(target)) - target * input
    return loss.sum() / input.shape[0] if reduction == "batchmean" else _reduce(loss, reduction)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """-(t log x + (1 - t) log(1 - x)), logarithms not below -100. input: probabilities, of target's sizes."""
    if input.shape != target.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they have the same size."
        )
    loss = -(target * aten.log(input).clamp(min=-100) + (1 - target) * aten.log1p(-input).clamp(min=-100))
    return _reduce(loss if weight is None else loss * weight, reduction)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    if input.shape != target.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    log_weight = 1 if pos_weight is None else (pos_weight - 1) * target + 1
    loss = (1 - target) * input - log_weight * logsigmoid(input)
    return _reduce(loss if weight is None else loss * weight, reduction)


def pad(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """Pads the last len(pad) / 2 dims, last first: with a value, or by reflecting, repeating the border, wrapping."""
    return aten.pad(input, list(pad), mode, value)


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: LinearCrossEntropyOptions | None = None,
) -> Tensor:
    """`cross_entropy` of input @ linear_weight.T + linear_bias; with options in pieces of rows, so that never all logits
    exist. Options are ignored, with a warning, where there is no way in pieces: places, smoothing, probabilities."""
    rows = None
    if options is not None:
        if linear_weight.ndim > 2 or label_smoothing != 0.0 or target.dtype is not aten.int64 or reduction not in _REDUCTIONS:
            warnings.warn(
                "linear_cross_entropy: ``options`` ignored; chunked path needs reduction in {'mean','sum','none'}, "
                f"label_smoothing == 0, target.dtype == int64, out_features == (). Got reduction={reduction!r}, "
                f"label_smoothing={label_smoothing}, target.dtype={target.dtype}.",
                stacklevel=2,
            )
        else:
            batches = input.shape[0] if input.ndim == 2 else 1
            rows = options.rows(batches, input.shape[-1], linear_weight.shape[0])
    return aten.linear_cross_entropy(
        input,
        linear_weight,
        target,
        linear_bias=linear_bias,
        weight=weight,
        reduction=reduction,
        ignore_index=ignore_index,
        label_smoothing=label_smoothing,
        rows=rows,
    )


def __getattr__(name: str) -> Any:
    """Every other function of neural networks is the op of that name."""
    op = aten.registry.get({"unfold": "im2col", "fold": "col2im"}.get(name, name))
    if op is None:
        raise AttributeError(f"module 'weft.nn.functional' has no attribute '{name}'")
    globals()[name] = op
    return op
