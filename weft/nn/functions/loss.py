"""Losses that look at values, which only a call on tensors in memory can."""

from __future__ import annotations

from typing import Any

import aten
from aten import Parameter, Tensor
from aten.compiling import is_compiling
from weft.overrides import handle_torch_function, has_torch_function


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-(target * log(input) + (1 - target) * log(1 - input)), logs not below -100. Raises RuntimeError for probabilities
    outside [0, 1], ValueError for other sizes of the target."""
    tensors = (input, target, weight)
    if not all(t is None or type(t) is Tensor for t in tensors) and has_torch_function(tensors):
        named = {"weight": weight, "size_average": size_average, "reduce": reduce, "reduction": reduction}
        return handle_torch_function(binary_cross_entropy, tensors, input, target, **named)
    for name, given_values in (("input", input), ("target", target)):
        if type(given_values) in (Tensor, Parameter) and given_values.device.type == "cpu" and not is_compiling():
            values = given_values.detach()
            if not bool(((values >= 0) & (values <= 1)).all()):
                raise RuntimeError(f"all elements of {name} should be between 0 and 1")
    given: dict[str, Any] = {"size_average": size_average, "reduce": reduce, "reduction": reduction}
    return aten.binary_cross_entropy(input, target, weight, **given)
