"""Activations: the flag `inplace`, and the old choice of a `dim`. Like all functions here that are not ops themselves, they hand
themselves, and not the op, to a `__torch_function__`."""

from __future__ import annotations

import warnings
from typing import Any

import aten
from aten import Tensor
from weft.overrides import handle_torch_function, has_torch_function_unary


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    if type(input) is not Tensor and has_torch_function_unary(input):
        return handle_torch_function(relu, (input,), input, inplace=inplace)
    return input.relu_() if inplace else aten.relu(input)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    if type(input) is not Tensor and has_torch_function_unary(input):
        return handle_torch_function(silu, (input,), input, inplace=inplace)
    return aten.silu_(input) if inplace else aten.silu(input)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    if type(input) is not Tensor and has_torch_function_unary(input):
        return handle_torch_function(selu, (input,), input, inplace=inplace)
    return aten.selu_(input) if inplace else aten.selu(input)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    if type(input) is not Tensor and has_torch_function_unary(input):
        return handle_torch_function(celu, (input,), input, alpha=alpha, inplace=inplace)
    return aten.celu_(input, alpha) if inplace else aten.celu(input, alpha)


def rrelu_(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Tensor:
    if type(input) is not Tensor and has_torch_function_unary(input):
        return handle_torch_function(rrelu_, (input,), input, lower, upper, training)
    return aten.rrelu(input, lower, upper, training, True)


def _get_softmax_dim(name: str, ndim: int, stacklevel: int) -> int:
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    if type(input) is not Tensor and has_torch_function_unary(input):
        return handle_torch_function(softmax, (input,), input, dim, _stacklevel=_stacklevel, dtype=dtype)
    if dim is None:
        dim = _get_softmax_dim("softmax", input.dim(), _stacklevel)
    return aten.softmax(input, dim, dtype=dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    if type(input) is not Tensor and has_torch_function_unary(input):
        return handle_torch_function(log_softmax, (input,), input, dim, _stacklevel=_stacklevel, dtype=dtype)
    if dim is None:
        dim = _get_softmax_dim("log_softmax", input.dim(), _stacklevel)
    return aten.log_softmax(input, dim, dtype=dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    if type(input) is not Tensor and has_torch_function_unary(input):
        return handle_torch_function(softmin, (input,), input, dim, _stacklevel=_stacklevel, dtype=dtype)
    if dim is None:
        dim = _get_softmax_dim("softmin", input.dim(), _stacklevel)
    return aten.softmax(-input, dim, dtype=dtype)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    if type(logits) is not Tensor and has_torch_function_unary(logits):
        return handle_torch_function(gumbel_softmax, (logits,), logits, tau=tau, hard=hard, eps=eps, dim=dim)
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    return aten.gumbel_softmax(logits, tau, hard, eps, dim)
