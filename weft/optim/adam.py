"""Adam (Kingma, Ba 2015), with AMSGrad (Reddi et al. 2018)."""

from __future__ import annotations

from typing import Any

import aten
from aten import Tensor
from weft.optim.optimizer import Optimizer, count, root, scalar
from weft.optim.settings import check_betas, check_lr, check_range
from weft.optim.step_function import step_all


class Adam(Optimizer):
    """Steps by the first moment of the gradient over the root of its second, both corrected for their start at 0.

    State per parameter: step (0-d float32), exp_avg, exp_avg_sq, and max_exp_avg_sq with `amsgrad`.
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and foreach and not capturable:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        check_lr(lr)
        check_range("epsilon value", eps)
        _check_tensor_betas(betas, bool(foreach), capturable)
        check_betas(betas)
        check_range("weight_decay value", weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": tuple(map(scalar, betas)),
                "eps": eps,
                "weight_decay": weight_decay,
                "amsgrad": amsgrad,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "differentiable": differentiable,
                "fused": fused,
                "decoupled_weight_decay": decoupled_weight_decay,
            },
        )

    def _refusal_of_sparse(self) -> str:
        return "Adam does not support sparse gradients, please consider SparseAdam instead"

    def _init_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        state = {"exp_avg": aten.zeros_like(p), "exp_avg_sq": aten.zeros_like(p)}
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = aten.zeros_like(p)
        return state

    def _update(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        if group["foreach"] and isinstance(group["lr"], Tensor) and not group["capturable"]:
            raise RuntimeError("lr as a Tensor is not supported for capturable=False and foreach=True")
        m = state["exp_avg"].mul_(beta1).add_(g * (1 - beta1))
        v = state["exp_avg_sq"].mul_(beta2).add_(g * g * (1 - beta2))
        if group["amsgrad"]:
            v = aten.maximum(state["max_exp_avg_sq"], v)
            state["max_exp_avg_sq"].copy_(v)
        t = count(state, group)
        lr, correction = scalar(group["lr"]), root(1 - beta2**t)
        p.sub_((m / (v.sqrt() / correction + group["eps"])) * (lr / (1 - beta1**t)))


def _check_tensor_betas(betas: Any, foreach: bool, capturable: bool) -> None:
    tensors = [isinstance(b, Tensor) for b in betas]
    if any(tensors) and not all(tensors):
        raise ValueError("betas must be either both floats or both Tensors")
    for i, beta in enumerate(betas):
        if isinstance(beta, Tensor):
            if foreach and not capturable:
                raise ValueError(f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True")
            if beta.numel() != 1:
                raise ValueError(f"Tensor betas[{i}] must be 1-element")


def adam(
    params: list[Tensor],
    grads: list[Tensor],
    exp_avgs: list[Tensor],
    exp_avg_sqs: list[Tensor],
    max_exp_avg_sqs: list[Tensor],
    state_steps: list[Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    fused: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_complex: bool = False,
    decoupled_weight_decay: bool = False,
    *,
    amsgrad: bool,
    beta1: float,
    beta2: float,
    lr: float | Tensor,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """A step of `Adam` on lists, in place: the parameters and each part of their state."""
    states = {"exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs, "max_exp_avg_sq": max_exp_avg_sqs, "step": state_steps}
    group = {
        "betas": (beta1, beta2),
        "decoupled_weight_decay": decoupled_weight_decay,
        "amsgrad": amsgrad,
        "lr": lr,
        "weight_decay": weight_decay,
        "eps": eps,
        "maximize": maximize,
        "foreach": foreach,
        "capturable": capturable,
        "differentiable": differentiable,
    }
    step_all(Adam, params, grads, states, group, grad_scale, found_inf)
