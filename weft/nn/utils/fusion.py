"""A normalisation in evaluation mode folded into the weights of the layer before it."""

from __future__ import annotations

import copy
from typing import Any

import aten
from aten import Parameter, Tensor

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _folded(weight: Any, bias: Any, mean: Tensor, var: Tensor, eps: float, gain: Any, shift: Any, shape: list[int]) -> tuple:
    """(weight, bias) of the layer with (out - mean) / sqrt(var + eps) * gain + shift after it; `shape` spreads over the weight."""
    scale = aten.rsqrt(var + eps)
    if gain is not None:
        scale = scale * gain
    offset = -mean if bias is None else bias - mean
    new_bias = offset * scale
    if shift is not None:
        new_bias = new_bias + shift
    new_weight = weight * scale.to(weight.dtype).reshape(shape)
    trained = getattr(weight, "requires_grad", False)
    bias_trained = trained if bias is None else bias.requires_grad
    bias_dtype = weight.dtype if bias is None else bias.dtype
    return Parameter(new_weight.detach(), trained), Parameter(new_bias.to(bias_dtype).detach(), bias_trained)


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """(weight, bias) of a convolution with the normalisation in it; output channels are dim 0, transposed dim 1."""
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    return _folded(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape)


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """(weight, bias) of a Linear with the normalisation in it."""
    return _folded(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A copy of `conv` that computes bn(conv(x)). Raises AssertionError unless both are in evaluation mode."""
    if conv.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    fused = copy.deepcopy(conv)
    assert bn.running_mean is not None and bn.running_var is not None
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A copy of `linear` that computes bn(linear(x)). Raises AssertionError unless both are in evaluation mode and fit."""
    if linear.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    fused = copy.deepcopy(linear)
    # a BatchNorm of one feature after several would broadcast; folding could not
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1")
    assert bn.running_mean is not None and bn.running_var is not None
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused
