"""Rprop (Riedmiller, Braun 1993)."""

from __future__ import annotations

from typing import Any

import aten
from aten import Tensor
from weft.optim.optimizer import Optimizer
from weft.optim.settings import check_lr
from weft.optim.step_function import step_all


class Rprop(Optimizer):
    """Steps by a size that each element grows while its gradient keeps its sign, and shrinks (resting) where it turns.

    State per parameter: step, prev (the gradient before), step_size.
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(
            params,
            {
                "lr": lr,
                "etas": etas,
                "step_sizes": step_sizes,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    def _init_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        lr = float(group["lr"])
        return {
            "prev": aten.zeros_like(p),
            "step_size": aten.full_like(p, complex(lr, lr) if p.is_complex() else lr),
        }

    def _update(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        shrink, grow = group["etas"]
        kept = g * state["prev"]
        one = aten.ones_like(kept)  # of the parameter's dtype: where of numbers alone makes the default dtype
        factor = aten.where(kept > 0, one * grow, aten.where(kept < 0, shrink, one))
        size = state["step_size"]
        size.copy_((size * factor).clamp(*group["step_sizes"]))
        g = aten.where(kept < 0, 0, g)
        p.sub_(g.sign() * size)
        state["prev"].copy_(g)


def rprop(
    params: list[Tensor],
    grads: list[Tensor],
    prevs: list[Tensor],
    step_sizes: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    maximize: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    step_size_min: float,
    step_size_max: float,
    etaminus: float,
    etaplus: float,
) -> None:
    """A step of `Rprop` on lists, in place: the parameters and each part of their state."""
    states = {"prev": prevs, "step_size": step_sizes, "step": state_steps}
    group = {
        "step_sizes": (step_size_min, step_size_max),
        "etas": (etaminus, etaplus),
        "maximize": maximize,
        "capturable": capturable,
        "differentiable": differentiable,
    }
    step_all(Rprop, params, grads, states, group)
