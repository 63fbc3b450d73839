"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from aten import Tensor
from weft.optim.optimizer import Optimizer, check_range


class SGD(Optimizer):
    """p -= lr * d with d = g + weight_decay p, through momentum (Sutskever et al. 2013) if asked for."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
    ) -> None:
        check_range("learning rate", lr)
        check_range("momentum value", momentum)
        check_range("weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
                "maximize": maximize,
            },
        )

    def _update(self, group: dict[str, Any], params: list[Tensor]) -> None:
        momentum, lr = group["momentum"], group["lr"]
        for p in params:
            d = -p.grad if group["maximize"] else p.grad
            if group["weight_decay"] != 0:
                d = d + p * group["weight_decay"]
            if momentum != 0:
                state = self.state[p]
                buffer = state.get("momentum_buffer")
                if buffer is None:
                    buffer = state["momentum_buffer"] = d.clone()
                else:
                    buffer.mul_(momentum).add_(d, alpha=1 - group["dampening"])
                d = d + buffer * momentum if group["nesterov"] else buffer
            p.add_(d, alpha=-lr)
