"""Adam at the places of sparse gradients alone."""

from __future__ import annotations

from typing import Any

import aten
from aten import Tensor
from weft.optim.optimizer import Optimizer, is_sparse, scalar
from weft.optim.settings import check_betas


class SparseAdam(Optimizer):
    """Adam (Kingma, Ba 2015) whose moments and parameters change only where the gradient has an entry.

    State per parameter: step (a Python int), exp_avg, exp_avg_sq. Raises RuntimeError for dense gradients.
    """

    counts = False  # it counts in a Python number
    sparse = True

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not 0.0 < lr:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not 0.0 < eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        self._refuse("Sparse", "requires dense parameter tensors", lambda p: is_sparse(p))
        self._refuse("Complex", "does not support complex parameters", lambda p: p.is_complex())

    def _refuse(self, kind: str, text: str, test: Any) -> None:
        groups = self.param_groups
        at = [[i, j] for i, group in enumerate(groups) for j, p in enumerate(group["params"]) if test(p)]
        if at:
            raise ValueError(f"{kind} params at indices {at}: SparseAdam {text}")

    def _init_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": 0, "exp_avg": aten.zeros_like(p), "exp_avg_sq": aten.zeros_like(p)}

    def _update(self, p: Tensor, g: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not is_sparse(g):
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        state["step"] += 1
        g = g.coalesce()
        at, values = tuple(g._indices()), g._values()
        if values.numel() == 0:
            return
        (beta1, beta2), t = group["betas"], state["step"]
        m = state["exp_avg"][at] * beta1 + values * (1 - beta1)
        v = state["exp_avg_sq"][at] * beta2 + values * values * (1 - beta2)
        state["exp_avg"].index_put_(at, m)
        state["exp_avg_sq"].index_put_(at, v)
        rate = scalar(group["lr"]) * (1 - beta2**t) ** 0.5 / (1 - beta1**t)
        p.index_put_(at, m / (v.sqrt() + group["eps"]) * -rate, accumulate=True)
