"""Functions of neural networks, with PyTorch's signatures. They are the ops of aten under the same name, but for those here and
in weft.nn.functions: flags `inplace`, old names and defaults with their warnings, look-ups."""

from __future__ import annotations

import warnings
from typing import Any

import aten
import weft as torch  # (programs reach the package through the files that import it)
from aten import Tensor
from weft.nn import _reduction as _Reduction  # noqa: F401
from weft.nn.functions.activation import (  # noqa: F401
    _get_softmax_dim,
    celu,
    gumbel_softmax,
    log_softmax,
    relu,
    rrelu_,
    selu,
    silu,
    softmax,
    softmin,
)
from weft.nn.functions.attention import _canonical_mask, _in_projection, _in_projection_packed, _none_or_dtype  # noqa: F401
from weft.nn.functions.embedding import _no_grad_embedding_renorm_, embedding, embedding_bag  # noqa: F401
from weft.nn.functions.loss import binary_cross_entropy  # noqa: F401
from weft.nn.functions.pooling import WITH_INDICES
from weft.nn.functions.resize import (  # noqa: F401
    GRID_SAMPLE_INTERPOLATION_MODES,
    GRID_SAMPLE_PADDING_MODES,
    affine_grid,
    grid_sample,
    upsample,
    upsample_bilinear,
    upsample_nearest,
)
from weft.nn.modules.utils import _list_with_default, _pair, _single, _triple  # noqa: F401
from weft.overrides import handle_torch_function, has_torch_function, has_torch_function_unary, has_torch_function_variadic  # noqa: F401

_REDUCTIONS = ("mean", "sum", "none")
globals().update(WITH_INDICES)


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """input / max(norm, eps) along `dim`."""
    if type(input) is not Tensor and has_torch_function_unary(input):
        return handle_torch_function(normalize, (input,), input, p=p, dim=dim, eps=eps, out=out)
    denominator = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return input / denominator if out is None else aten.div(input, denominator, out=out)


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
    options: torch.nn.LinearCrossEntropyOptions | None = None,  # type: ignore[valid-type]
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


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """`conv1d` of sequences (T, N, C) with weights (K, C, O)."""
    return aten.conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad).permute(2, 0, 1)


_RENAMED = {"unfold": "im2col", "fold": "col2im", "native_channel_shuffle": "channel_shuffle"}


_OPS = (
    "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d "
    "alpha_dropout avg_pool1d avg_pool2d avg_pool3d batch_norm bilinear binary_cross_entropy_with_logits celu_ channel_shuffle "
    "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d cosine_embedding_loss cosine_similarity "
    "cross_entropy ctc_loss dropout dropout1d dropout2d dropout3d elu elu_ feature_alpha_dropout fold fractional_max_pool2d "
    "fractional_max_pool3d gaussian_nll_loss gelu glu group_norm grouped_mm hardshrink hardsigmoid hardswish hardtanh hardtanh_ "
    "hinge_embedding_loss huber_loss instance_norm interpolate kl_div l1_loss layer_norm leaky_relu leaky_relu_ linear "
    "local_response_norm logsigmoid lp_pool1d lp_pool2d lp_pool3d margin_ranking_loss max_pool1d max_pool2d max_pool3d "
    "max_unpool1d max_unpool2d max_unpool3d mish mse_loss multi_head_attention_forward multi_margin_loss multilabel_margin_loss "
    "multilabel_soft_margin_loss native_channel_shuffle nll_loss one_hot pad pairwise_distance pdist pixel_shuffle "
    "pixel_unshuffle poisson_nll_loss prelu relu6 relu_ rms_norm rrelu scaled_dot_product_attention selu_ sigmoid "
    "smooth_l1_loss soft_margin_loss softplus softshrink softsign tanh tanhshrink threshold threshold_ triplet_margin_loss "
    "triplet_margin_with_distance_loss unfold"
)  # the functions that are ops and have no rule here: what `dir` and `import *` know of


def __getattr__(name: str) -> Any:
    """Every other function of neural networks is the op of that name."""
    if name == "grad":
        import weft.nn.grad as gradients

        return gradients
    op = aten.registry.get(_RENAMED.get(name, name))
    if op is None:
        raise AttributeError(f"module 'weft.nn.functional' has no attribute '{name}'")
    globals()[name] = op
    return op


def __dir__() -> list[str]:
    return sorted({*globals(), "grad"})


globals().update({name: __getattr__(name) for name in _OPS.split()})
