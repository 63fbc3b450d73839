"""Adam (Kingma, Ba 2015) and AdamW (Loshchilov, Hutter 2019)."""

from __future__ import annotations

from typing import Any

import aten
from aten import Tensor
from weft.optim.optimizer import Optimizer, check_range


class Adam(Optimizer):
    """Steps by the first moment of the gradient over the root of its second, both corrected for their start at 0.

    State per parameter: step (0-d float32), exp_avg, exp_avg_sq, and max_exp_avg_sq with `amsgrad`.
    """

    decoupled = False

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_range("learning rate", lr)
        check_range("epsilon value", eps)
        check_range("beta parameter at index 0", betas[0], high=1.0)
        check_range("beta parameter at index 1", betas[1], high=1.0)
        check_range("weight_decay value", weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "amsgrad": amsgrad,
                "maximize": maximize,
            },
        )

    def _state(self, p: Tensor, amsgrad: bool) -> dict[str, Any]:
        state = self.state[p]
        if "step" not in state:
            state["step"] = aten.tensor(0.0)
            state["exp_avg"] = aten.zeros_like(p)
            state["exp_avg_sq"] = aten.zeros_like(p)
            if amsgrad:
                state["max_exp_avg_sq"] = aten.zeros_like(p)
        return state

    def _update(self, group: dict[str, Any], params: list[Tensor]) -> None:
        beta1, beta2 = group["betas"]
        lr, eps, decay = group["lr"], group["eps"], group["weight_decay"]
        for p in params:
            state = self._state(p, group["amsgrad"])
            g = -p.grad if group["maximize"] else p.grad
            step = state["step"].add_(1)
            if decay != 0:
                if self.decoupled:
                    p.mul_(1 - lr * decay)
                else:
                    g = g + p * decay
            m = state["exp_avg"].mul_(beta1).add_(g, alpha=1 - beta1)
            v = state["exp_avg_sq"].mul_(beta2).add_(g * g, alpha=1 - beta2)
            if group["amsgrad"]:
                v = state["max_exp_avg_sq"].copy_(aten.maximum(state["max_exp_avg_sq"], v))
            correction1, correction2 = 1 - beta1**step, (1 - beta2**step).sqrt()
            p.sub_((m / (v.sqrt() / correction2 + eps)) * (lr / correction1))


class AdamW(Adam):
    """Adam with weight decay applied to the parameter instead of the gradient."""

    decoupled = True

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)
