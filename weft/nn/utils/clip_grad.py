"""Limits on gradients."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import aten
from aten import Tensor


def _gradients(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    parameters = [parameters] if isinstance(parameters, Tensor) else parameters
    return [p.grad for p in parameters if p.grad is not None]


def get_total_norm(
    tensors: Iterable[Tensor], norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """The norm of all `tensors` as if they were one vector; 0-d. Raises RuntimeError on a non-finite norm if asked to."""
    tensors = list(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return aten.tensor(0.0)
    norms = aten.stack([_norm(g, norm_type) for g in tensors])
    total = norms.amax() if math.isinf(norm_type) else _norm(norms, norm_type)
    if error_if_nonfinite and not bool(total.isfinite()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


def _norm(x: Tensor, p: float) -> Tensor:
    if math.isinf(p):
        return x.abs().amax()
    if p == 2.0:
        return (x * x).sum().sqrt()
    return (x.abs() ** p).sum() ** (1 / p)


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scales all gradients in place so that their common norm is at most `max_norm`; returns the norm before."""
    with aten.no_grad():
        grads = _gradients(parameters)
        total = get_total_norm(grads, norm_type, error_if_nonfinite)
        scale = (float(max_norm) / (total + 1e-6)).clamp(max=1.0)
        for g in grads:
            g.mul_(scale)
    return total


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: Any = None) -> None:
    """Clamps every gradient in place to [-clip_value, clip_value]."""
    with aten.no_grad():
        for g in _gradients(parameters):
            g.clamp_(min=-float(clip_value), max=float(clip_value))
