"""RAdam: Adam whose adaptive rate is rectified while its variance is large (Liu et al. 2020)."""

from __future__ import annotations

from typing import Any

import aten
from aten import Tensor
from weft.optim.optimizer import Optimizer, count, root, scalar
from weft.optim.settings import check_betas, check_lr, check_range
from weft.optim.step_function import step_all


class RAdam(Optimizer):
    """Adam from the step on at which its second moment is worth more than 5 samples; before, momentum alone.

    State per parameter: step, exp_avg, exp_avg_sq.
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
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
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "decoupled_weight_decay": decoupled_weight_decay,
                "differentiable": differentiable,
            },
        )

    def _init_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"exp_avg": aten.zeros_like(p), "exp_avg_sq": aten.zeros_like(p)}

    def _update(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        lr, t = scalar(group["lr"]), count(state, group)
        m = state["exp_avg"].mul_(beta1).add_(g * (1 - beta1))
        v = state["exp_avg_sq"].mul_(beta2).add_(g * g * (1 - beta2))
        correction1, correction2 = 1 - beta1**t, 1 - beta2**t
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * t * beta2**t / correction2
        if isinstance(t, float) and length <= 5:
            p.sub_(m / correction1 * lr)
            return
        rate = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
        if isinstance(rate, Tensor):
            rate = rate.clamp(min=0)  # below, where it is not taken, it has no root
        adaptive = (root(correction2) / (v.sqrt() + group["eps"])) * root(rate)
        if isinstance(length, Tensor):
            adaptive = aten.where(length > 5, adaptive, 1.0)
        p.sub_(m / correction1 * lr * adaptive)


def radam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: float | Tensor,
    weight_decay: float,
    eps: float,
) -> None:
    """A step of `RAdam` on lists, in place: the parameters and each part of their state."""
    states = {"exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs, "step": state_steps}
    group = {
        "betas": (beta1, beta2),
        "decoupled_weight_decay": decoupled_weight_decay,
        "lr": lr,
        "weight_decay": weight_decay,
        "eps": eps,
        "maximize": maximize,
        "capturable": capturable,
        "differentiable": differentiable,
    }
    step_all(RAdam, params, grads, states, group)
