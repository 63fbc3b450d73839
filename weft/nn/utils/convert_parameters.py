"""All parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

import aten
from aten import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def _same_device(parameters: list[Tensor]) -> None:
    if any(p.device != parameters[0].device for p in parameters):
        raise TypeError("Found two parameters on different devices, this is currently not supported.")


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The parameters' elements, one after the other. Raises TypeError where they are on several devices."""
    listed = list(parameters)
    _same_device(listed)
    return aten.cat([p.reshape(-1) for p in listed])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Gives the parameters the elements of `vec`, of which they are windows then. Raises TypeError unless it is a tensor."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    listed = list(parameters)
    _same_device(listed)
    start = 0
    for p in listed:
        p.data = vec[start : start + p.numel()].view_as(p).data
        start += p.numel()
