"""The step of an optimizer as a function on lists: parameters, gradients and each part of their state, written in place."""

from __future__ import annotations

from typing import Any

import aten
from aten import Tensor
from weft.optim.optimizer import Optimizer


def step_all(
    cls: type[Optimizer],
    params: list[Tensor],
    grads: list[Tensor],
    states: dict[str, list[Any]],
    group: dict[str, Any],
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> None:
    """Steps each of `params` as an optimizer of class `cls` with the settings `group` would.

    states: for each name of the optimizer's state the values of all parameters; an empty list where it is not used. Values
    that are None (a momentum before its first step) are made and put into the list. grad_scale: what the gradients are
    divided by; found_inf: where it is not 0 nothing is done.
    """
    if found_inf is not None and found_inf.item() != 0:
        return
    optimizer = object.__new__(cls)
    with aten.set_grad_enabled(bool(group.get("differentiable", False)) and aten.is_grad_enabled()):
        for i, (p, g) in enumerate(zip(params, grads)):
            if getattr(g, "is_sparse", False) and not cls.sparse:
                raise RuntimeError(optimizer._refusal_of_sparse())
            state = {name: values[i] for name, values in states.items() if values and values[i] is not None}
            optimizer._advance(p, g if grad_scale is None else g / grad_scale, state, group)
            for name, values in states.items():
                if values and values[i] is None:
                    values[i] = state.get(name)
