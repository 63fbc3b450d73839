"""Parameters broadcast to one shape, probabilities and logits."""

from __future__ import annotations

import functools
from collections.abc import Callable
from numbers import Number
from typing import Any

import aten
from aten import Tensor

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant = 0.57721566490153286060


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Numbers and tensors as tensors of one shape; numbers take dtype and device of the first tensor. ValueError for others."""
    if not all(isinstance(v, (Tensor, Number)) for v in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
        )
    first = next((v for v in values if isinstance(v, Tensor)), None)
    dtype = aten.get_default_dtype() if first is None else first.dtype
    device = None if first is None else first.device
    return tuple(
        aten.broadcast_tensors(*[v if isinstance(v, Tensor) else aten.tensor(v, dtype=dtype, device=device) for v in values])
    )


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    """Draws of the normal distribution of mean 0 and variance 1."""
    return aten.normal(aten.zeros(shape, dtype=dtype, device=device), aten.ones(shape, dtype=dtype, device=device))


def _sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The sum over the last `dim` dims."""
    return value if dim == 0 else value.reshape((*value.shape[: value.ndim - dim], -1)).sum(-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities at least eps away from 0 and 1."""
    eps = aten.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """sigmoid, or softmax along the last dim."""
    return aten.sigmoid(logits) if is_binary else aten.softmax(logits, -1)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """log(p / (1 - p)), or log(p)."""
    clamped = clamp_probs(probs)
    return aten.log(clamped) - aten.log1p(-clamped) if is_binary else aten.log(clamped)


class lazy_property:
    """A property that is computed once, then kept as an attribute."""

    def __init__(self, wrapped: Callable[[Any], Any]):
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with aten.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The lower triangle row by row, from diagonal `diag`."""
    n = mat.shape[-1]
    if diag < -n or diag >= n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = aten.tril_indices(n, n, diag)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """The inverse of `tril_matrix_to_vec`."""
    n = round((-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2)
    if len(aten.tril_indices(n, n, diag)[0]) != vec.shape[-1]:
        raise ValueError(
            f"The size of last dimension is {vec.shape[-1]} which cannot be expressed as the lower triangular part of a "
            f"square D x D matrix."
        )
    rows, columns = aten.tril_indices(n, n, diag)
    flat = vec.new_zeros((*vec.shape[:-1], n * n))
    places = (rows * n + columns).expand(vec.shape)
    return flat.scatter(-1, places, vec).reshape((*vec.shape[:-1], n, n))
