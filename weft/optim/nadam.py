"""NAdam: Adam with Nesterov's momentum (Dozat 2016)."""

from __future__ import annotations

from typing import Any

import aten
from aten import Tensor
from weft.optim.optimizer import Optimizer, count, root, scalar
from weft.optim.settings import check_betas, check_lr, check_range
from weft.optim.step_function import step_all


class NAdam(Optimizer):
    """Steps by the gradient and the first moment, weighted by a momentum that grows with the steps, over the second's root.

    State per parameter: step, mu_product (0-d), exp_avg, exp_avg_sq.
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
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
        check_range("momentum_decay value", momentum_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "momentum_decay": momentum_decay,
                "decoupled_weight_decay": decoupled_weight_decay,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "differentiable": differentiable,
            },
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for values in self.state.values():
            if isinstance(values.get("mu_product"), (int, float)):
                values["mu_product"] = self._number(values["mu_product"])

    def _init_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {
            "mu_product": self._number(1.0, p.device if group["capturable"] or group.get("fused") else None),
            "exp_avg": aten.zeros_like(p),
            "exp_avg_sq": aten.zeros_like(p),
        }

    def _update(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        lr, t = scalar(group["lr"]), count(state, group)
        mu, mu_next = (beta1 * (1 - 0.5 * 0.96 ** (s * group["momentum_decay"])) for s in (t, t + 1))
        product = state["mu_product"].mul_(mu)
        product = product.item() if isinstance(t, float) else product.to(aten.float64)
        m = state["exp_avg"].mul_(beta1).add_(g * (1 - beta1))
        v = state["exp_avg_sq"].mul_(beta2).add_(g * g * (1 - beta2))
        denominator = v.sqrt() / root(1 - beta2**t) + group["eps"]
        p.sub_((g / denominator) * (lr * (1 - mu) / (1 - product)))
        p.sub_((m / denominator) * (lr * mu_next / (1 - product * mu_next)))


def nadam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    mu_products: list[Tensor],
    state_steps: list[Tensor],
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: float | Tensor,
    weight_decay: float,
    momentum_decay: float,
    eps: float,
) -> None:
    """A step of `NAdam` on lists, in place: the parameters and each part of their state."""
    states = {"exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs, "mu_product": mu_products, "step": state_steps}
    group = {
        "betas": (beta1, beta2),
        "decoupled_weight_decay": decoupled_weight_decay,
        "lr": lr,
        "weight_decay": weight_decay,
        "momentum_decay": momentum_decay,
        "eps": eps,
        "maximize": maximize,
        "capturable": capturable,
        "differentiable": differentiable,
    }
    step_all(NAdam, params, grads, states, group)
