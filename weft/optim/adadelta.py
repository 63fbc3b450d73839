"""Adadelta (Zeiler 2012)."""

from __future__ import annotations

from typing import Any

import aten
from aten import Tensor
from weft.optim.optimizer import Optimizer, scalar
from weft.optim.settings import check_lr, check_range
from weft.optim.step_function import step_all


class Adadelta(Optimizer):
    """Steps by g times the running size of steps over that of gradients. State: step, square_avg, acc_delta."""

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_range("epsilon value", eps)
        check_range("weight_decay value", weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "rho": rho,
                "eps": eps,
                "weight_decay": weight_decay,
                "maximize": maximize,
                "capturable": capturable,
                "foreach": foreach,
                "differentiable": differentiable,
            },
        )

    def _init_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"square_avg": aten.zeros_like(p), "acc_delta": aten.zeros_like(p)}

    def _update(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        rho, eps = group["rho"], group["eps"]
        squares = state["square_avg"].mul_(rho).add_(g * g * (1 - rho))
        step = ((state["acc_delta"] + eps).sqrt() / (squares + eps).sqrt()) * g
        state["acc_delta"].mul_(rho).add_(step * step * (1 - rho))
        p.sub_(step * scalar(group["lr"]))


def adadelta(
    params: list[Tensor],
    grads: list[Tensor],
    square_avgs: list[Tensor],
    acc_deltas: list[Tensor],
    state_steps: list[Tensor],
    capturable: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: float | Tensor,
    rho: float,
    eps: float,
    weight_decay: float,
    maximize: bool,
) -> None:
    """A step of `Adadelta` on lists, in place: the parameters and each part of their state."""
    states = {"square_avg": square_avgs, "acc_delta": acc_deltas, "step": state_steps}
    group = {
        "lr": lr,
        "rho": rho,
        "eps": eps,
        "weight_decay": weight_decay,
        "maximize": maximize,
        "capturable": capturable,
        "differentiable": differentiable,
    }
    step_all(Adadelta, params, grads, states, group)
