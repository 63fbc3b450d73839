"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from aten import Tensor
from weft.optim.optimizer import Optimizer, scalar
from weft.optim.settings import check_lr, check_range
from weft.optim.step_function import step_all


class SGD(Optimizer):
    """p -= lr * d with d = g + weight_decay p, through momentum (Sutskever et al. 2013) if asked for.

    State per parameter: momentum_buffer, from the first step with momentum on.
    """

    counts = False
    sparse = True

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
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
                "foreach": foreach,
                "differentiable": differentiable,
                "fused": fused,
            },
        )

    def _update(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        momentum, lr = group["momentum"], scalar(group["lr"])
        if momentum != 0:
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = g.detach().clone()
            else:
                buffer.mul_(momentum).add_(g, alpha=1 - group["dampening"])
            g = g + buffer * momentum if group["nesterov"] else buffer
        if isinstance(lr, Tensor):
            p.sub_(g * lr)
        else:
            p.add_(g, alpha=-lr)


def sgd(
    params: list[Tensor],
    d_p_list: list[Tensor],
    momentum_buffer_list: list[Tensor | None],
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    *,
    weight_decay: float,
    momentum: float,
    lr: float | Tensor,
    dampening: float,
    nesterov: bool,
    maximize: bool,
) -> None:
    """A step of `SGD` on lists, in place: the parameters and each part of their state."""
    states = {"momentum_buffer": momentum_buffer_list}
    group = {
        "weight_decay": weight_decay,
        "momentum": momentum,
        "lr": lr,
        "dampening": dampening,
        "nesterov": nesterov,
        "maximize": maximize,
    }
    step_all(SGD, params, d_p_list, states, group, grad_scale, found_inf)
