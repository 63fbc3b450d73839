"""Adafactor (Shazeer, Stern 2018)."""

from __future__ import annotations

from typing import Any

import aten
from aten import Tensor
from weft.optim.optimizer import Optimizer, count, scalar
from weft.optim.settings import check_lr


class Adafactor(Optimizer):
    """Adam's second moment as a product of its row and column means; steps relative to the parameter's size.

    State per parameter: step, and row_var and col_var (matrices and more) or variance (vectors).
    """

    decays = "none"  # `_update` does it, once it has taken the parameter's size

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not 0.0 <= eps[0]:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not 0.0 <= eps[1]:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not 1.0 <= d:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not 0.0 <= weight_decay:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        super().__init__(
            params,
            {
                "lr": lr,
                "beta2_decay": beta2_decay,
                "eps": eps,
                "d": d,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
            },
        )

    def _init_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        if p.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        if p.dim() < 2:
            return {"variance": aten.zeros_like(p)}
        return {
            "row_var": p.new_zeros([*p.shape[:-1], 1]),
            "col_var": p.new_zeros([*p.shape[:-2], 1, p.shape[-1]]),
        }

    def _update(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        eps1, eps2 = group["eps"]
        eps1 = aten.finfo(p.dtype).eps if eps1 is None else eps1
        lr, t = scalar(group["lr"]), count(state, group)
        weight = t ** group["beta2_decay"]
        size = aten.linalg_vector_norm(p) / p.numel() ** 0.5
        rate = size.clamp(min=eps2) * _smaller(lr, 1 / t**0.5)
        if group["weight_decay"] != 0:
            p.mul_(1 - lr * group["weight_decay"])
        squares = g * g
        if g.dim() > 1:
            rows, columns = state["row_var"], state["col_var"]
            rows.add_((squares.mean(-1, keepdim=True) - rows) * weight)
            columns.add_((squares.mean(-2, keepdim=True) - columns) * weight)
            variance = (rows * columns) / rows.mean(-2, keepdim=True).clamp(min=eps1)
        else:
            variance = state["variance"]
            variance.add_((squares - variance) * weight)
        update = variance.clamp(min=eps1 * eps1).rsqrt() * g
        clip = (aten.linalg_vector_norm(update) / (update.numel() ** 0.5 * group["d"])).clamp(min=1.0)
        p.sub_(update * (rate / clip))


def _smaller(a: Any, b: Any) -> Any:
    """min(a, b) of numbers and 0-d tensors."""
    if not isinstance(a, Tensor) and not isinstance(b, Tensor):
        return min(a, b)
    return b.clamp(max=a) if isinstance(b, Tensor) else a.clamp(max=b)
