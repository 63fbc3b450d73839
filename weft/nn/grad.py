"""Gradients of convolutions with respect to their inputs and their weights, as functions."""

from __future__ import annotations

from typing import Any

import aten
from aten import Tensor
from aten.transforms import vjp
from weft.nn.modules.utils import _ntuple


def _gradient(n: int, of: str) -> Any:
    def input_gradient(
        input_size: Any, weight: Tensor, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
    ) -> Tensor:
        input = weight.new_zeros(1).expand(list(input_size))
        return _both(n, input, weight, grad_output, stride, padding, dilation, groups)[0]

    def weight_gradient(
        input: Tensor, weight_size: Any, grad_output: Tensor, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
    ) -> Tensor:
        weight = grad_output.new_zeros(1).expand(list(weight_size))
        return _both(n, input, weight, grad_output, stride, padding, dilation, groups)[1]

    made = input_gradient if of == "input" else weight_gradient
    made.__name__ = made.__qualname__ = f"conv{n}d_{of}"
    made.__doc__ = f"The gradient of conv{n}d with respect to its {of}, from that of its output."
    return made


def _both(n: int, input: Tensor, weight: Tensor, grad: Tensor, *settings: Any) -> tuple[Tensor, Tensor]:
    stride, padding, dilation, groups = settings
    spread = _ntuple(n)
    convolve = getattr(aten, f"conv{n}d")
    call = lambda x, w: convolve(x, w, None, spread(stride), spread(padding), spread(dilation), groups)
    return vjp(call, input, weight)[1](grad)


conv1d_input, conv2d_input, conv3d_input = (_gradient(n, "input") for n in (1, 2, 3))
conv1d_weight, conv2d_weight, conv3d_weight = (_gradient(n, "weight") for n in (1, 2, 3))
