"""Functions of neural networks, with PyTorch's signatures. They are the ops of aten under the same name, but for those here:
what this face alone has is a flag `inplace`, a default `dim` of softmax, and the order of embedding's arguments."""

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


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    return input.relu_() if inplace else aten.relu(input)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    return _inplace(aten.silu, input, inplace)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    return _inplace(aten.selu, input, inplace)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    return _inplace(aten.celu, input, inplace, alpha)


def _softmax_dim(dim: int | None, ndim: int) -> int:
    return (0 if ndim in (0, 1, 3) else 1) if dim is None else dim


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    return aten.softmax(input, _softmax_dim(dim, input.dim()), dtype=dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    return aten.log_softmax(input, _softmax_dim(dim, input.dim()), dtype=dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    return softmax(-input, dim, dtype=dtype)


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """input / max(norm, eps) along `dim`."""
    denominator = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return input / denominator if out is None else aten.div(input, denominator, out=out)


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
