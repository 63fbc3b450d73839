"""Adamax: Adam by the largest gradient instead of the second moment (Kingma, Ba 2015, section 7.1)."""

from __future__ import annotations

from typing import Any

import aten
from aten import Tensor
from weft.optim.optimizer import Optimizer, count, scalar
from weft.optim.settings import check_betas, check_lr, check_range
from weft.optim.step_function import step_all


class Adamax(Optimizer):
    """Steps by the first moment over a decaying maximum of |g|. State per parameter: step, exp_avg, exp_inf."""

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check_range("epsilon value", eps)
        check_betas(betas)
        check_range("weight_decay value", weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    def _init_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"exp_avg": aten.zeros_like(p), "exp_inf": aten.zeros_like(p)}

    def _update(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        m = state["exp_avg"].mul_(beta1).add_(g * (1 - beta1))
        largest = aten.maximum(state["exp_inf"] * beta2, g.abs() + group["eps"])
        state["exp_inf"].copy_(largest)
        p.sub_((m / largest) * (scalar(group["lr"]) / (1 - beta1 ** count(state, group))))


def adamax(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_infs: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    eps: float,
    beta1: float,
    beta2: float,
    lr: float | Tensor,
    weight_decay: float,
) -> None:
    """A step of `Adamax` on lists, in place: the parameters and each part of their state."""
    states = {"exp_avg": exp_avgs, "exp_inf": exp_infs, "step": state_steps}
    group = {
        "betas": (beta1, beta2),
        "eps": eps,
        "lr": lr,
        "weight_decay": weight_decay,
        "maximize": maximize,
        "capturable": capturable,
        "differentiable": differentiable,
    }
    step_all(Adamax, params, grads, states, group)
