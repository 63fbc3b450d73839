"""Averaged SGD (Polyak, Juditsky 1992)."""

from __future__ import annotations

from typing import Any

import aten
from aten import Tensor
from weft.optim.optimizer import Optimizer, count, scalar
from weft.optim.settings import check_lr, check_range
from weft.optim.step_function import step_all


class ASGD(Optimizer):
    """SGD with a decaying rate, and beside it the average of the parameters from step `t0` on.

    State per parameter: step, eta (the rate), mu (the weight of the next value in the average), all 0-d, and ax, the average.
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check_range("weight_decay value", weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "lambd": lambd,
                "alpha": alpha,
                "t0": t0,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for values in self.state.values():
            for name in ("eta", "mu"):
                if isinstance(values.get(name), (int, float)):
                    values[name] = self._number(values[name])

    def _init_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"eta": self._number(float(group["lr"])), "mu": self._number(1.0), "ax": aten.zeros_like(p)}

    def _update(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        lambd, lr, t = group["lambd"], scalar(group["lr"]), count(state, group)
        eta, mu, average = state["eta"], state["mu"], state["ax"]
        rate_now = eta.item() if isinstance(t, float) else eta.to(aten.float64)  # 1 - lambd * eta is rounded to p's dtype alone
        p.mul_(1 - lambd * rate_now)
        p.sub_(g * rate_now)
        average.copy_(aten.where(mu == 1, p, average + (p - average) * mu))
        rate = lr / (1 + lambd * lr * t) ** group["alpha"]
        eta.copy_(rate) if isinstance(rate, Tensor) else eta.fill_(rate)
        late = t - group["t0"]
        mu.copy_(1 / late.clamp(min=1)) if isinstance(late, Tensor) else mu.fill_(1 / max(1.0, late))


def asgd(
    params: list[Tensor],
    grads: list[Tensor],
    axs: list[Tensor],
    mus: list[Tensor],
    etas: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lambd: float,
    lr: float | Tensor,
    t0: float,
    alpha: float,
    weight_decay: float,
) -> None:
    """A step of `ASGD` on lists, in place: the parameters and each part of their state."""
    states = {"ax": axs, "mu": mus, "eta": etas, "step": state_steps}
    group = {
        "lambd": lambd,
        "lr": lr,
        "t0": t0,
        "alpha": alpha,
        "weight_decay": weight_decay,
        "maximize": maximize,
        "capturable": capturable,
        "differentiable": differentiable,
    }
    step_all(ASGD, params, grads, states, group)
