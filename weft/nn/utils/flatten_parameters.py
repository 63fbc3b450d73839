"""All parameters as one vector, and back."""

from collections.abc import Iterable

import aten
from aten import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    return aten.cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    start = 0
    for p in parameters:
        p.data = vec[start : start + p.numel()].view_as(p).data
        start += p.numel()
