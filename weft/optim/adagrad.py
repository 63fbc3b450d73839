"""Adagrad (Duchi, Hazan, Singer 2011)."""

from __future__ import annotations

from typing import Any

import aten
from aten import Tensor
from weft.optim.optimizer import Optimizer, count, is_sparse, scalar
from weft.optim.settings import check_lr, check_range
from weft.optim.step_function import step_all


class Adagrad(Optimizer):
    """Steps by g over the root of the sum of all g^2, sparse gradients at their places alone.

    State per parameter, from the start: step, sum.
    """

    sparse = True

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check_range("lr_decay value", lr_decay)
        check_range("weight_decay value", weight_decay)
        check_range("initial_accumulator_value value", initial_accumulator_value)
        check_range("epsilon value", eps)
        super().__init__(
            params,
            {
                "lr": lr,
                "lr_decay": lr_decay,
                "eps": eps,
                "weight_decay": weight_decay,
                "initial_accumulator_value": initial_accumulator_value,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "fused": fused,
            },
        )
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p] = {"step": self._number(0.0), **self._init_state(p, group)}

    def _init_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        start = self.defaults["initial_accumulator_value"]
        return {"sum": aten.full_like(p, complex(start, start) if p.is_complex() else start)}

    def share_memory(self) -> None:
        """Moves the sums into shared memory."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()

    def _update(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        rate = scalar(group["lr"]) / (1 + (count(state, group) - 1) * group["lr_decay"])
        if is_sparse(g):
            g = g.coalesce()
            at, values = tuple(g._indices()), g._values()
            total = state["sum"].index_put_(at, values * values, accumulate=True)
            p.index_put_(at, -rate * values / (total[at].sqrt() + group["eps"]), accumulate=True)
            return
        total = state["sum"].add_(g * g)
        p.sub_((g / (total.sqrt() + group["eps"])) * rate)


def adagrad(
    params: list[Tensor],
    grads: list[Tensor],
    state_sums: list[Tensor],
    state_steps: list[Tensor],
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: float | Tensor,
    weight_decay: float,
    lr_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """A step of `Adagrad` on lists, in place: the parameters and each part of their state."""
    states = {"sum": state_sums, "step": state_steps}
    group = {
        "lr": lr,
        "weight_decay": weight_decay,
        "lr_decay": lr_decay,
        "eps": eps,
        "maximize": maximize,
        "differentiable": differentiable,
    }
    step_all(Adagrad, params, grads, states, group, grad_scale, found_inf)
