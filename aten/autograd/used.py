"""Tensors whose history was used up within a compiled graph: their backward says what eager's second walk says."""

from __future__ import annotations

from typing import Any

from aten import _native
from aten._native import Tensor


def used_up(tensor: Tensor, *leaves: Tensor) -> Tensor:
    """A tensor without history gets one, of these leaves, that can no longer be walked."""
    if not leaves:  # (they were made where the history was)
        leaves = (_native.empty((0,), tensor.dtype, tensor.device, (1,)).requires_grad_(),)
    _native.record("CompiledBackward", _refuse, leaves, (tensor,), ())
    return tensor


def _refuse(node: Any, grads: tuple) -> tuple:
    raise RuntimeError(
        "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). "
        "Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True "
        "if you need to backward through the graph a second time or if you need to access saved tensors after calling backward."
    )
