"""L-BFGS (Nocedal 1980), with a line search for the strong Wolfe conditions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import aten
from aten import Tensor
from weft.optim.line_search import strong_wolfe
from weft.optim.optimizer import Optimizer, is_sparse, scalar
from weft.optim.settings import check_lr


class LBFGS(Optimizer):
    """Quasi-Newton steps on all parameters (one group) as one vector; `step` needs a closure, called several times.

    State, of the first parameter: func_evals, n_iter, and d (direction), t (its step), old_dirs, old_stps, ro, H_diag,
    prev_flat_grad, prev_loss.
    """

    counts = False

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_lr(lr)
        super().__init__(
            params,
            {
                "lr": lr,
                "max_iter": max_iter,
                "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
                "tolerance_grad": tolerance_grad,
                "tolerance_change": tolerance_change,
                "history_size": history_size,
                "line_search_fn": line_search_fn,
            },
        )
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @property
    def _params(self) -> list[Tensor]:
        return self.param_groups[0]["params"]

    def _gradient(self) -> Tensor:
        parts = []
        for p in self._params:
            g = aten.zeros_like(p) if p.grad is None else p.grad
            g = g.to_dense() if is_sparse(g) else g
            parts.append((aten.view_as_real(g.contiguous()) if g.is_complex() else g).reshape(-1))
        return aten.cat(parts)

    def _move(self, t: Any, direction: Tensor) -> None:
        offset = 0
        for p in self._params:
            p = aten.view_as_real(p) if p.is_complex() else p
            p.add_(direction[offset : offset + p.numel()].view_as(p) * t)
            offset += p.numel()

    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Up to `max_iter` steps; returns the first loss. `closure` clears gradients, runs backward, returns the loss."""

        def evaluate() -> Any:
            with aten.enable_grad():
                return closure()

        with aten.no_grad():
            return self._iterate(evaluate)

    def _iterate(self, closure: Callable[[], Any]) -> Any:
        group = self.param_groups[0]
        lr, tolerance = scalar(group["lr"]), group["tolerance_change"]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = closure()
        loss, evaluations = float(first_loss), 1
        state["func_evals"] += 1
        g = self._gradient()
        if g.abs().max() <= group["tolerance_grad"]:
            return first_loss
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            d = self._direction(state, g, group["history_size"])
            state["prev_flat_grad"], state["prev_loss"], state["d"] = g.clone(), loss, d
            previous = loss
            t = state["t"] = min(1.0, 1.0 / g.abs().sum()) * lr if state["n_iter"] == 1 else lr
            slope = g.dot(d)
            if slope > -tolerance:
                break
            if group["line_search_fn"] is not None:
                loss, g, t, calls = self._search(closure, t, d, loss, g, slope, group["max_eval"] - evaluations)
                state["t"] = t
                self._move(t, d)
            else:
                self._move(t, d)
                calls = 0
                if iteration != group["max_iter"]:  # nobody would look at the last
                    loss, calls = float(closure()), 1
                    g = self._gradient()
            evaluations += calls
            state["func_evals"] += calls
            if (
                evaluations >= group["max_eval"]
                or g.abs().max() <= group["tolerance_grad"]
                or (d * t).abs().max() <= tolerance
                or abs(loss - previous) < tolerance
            ):
                break
        return first_loss

    @staticmethod
    def _direction(state: dict[str, Any], g: Tensor, history: int) -> Tensor:
        """-H g, with the inverse Hessian H told by the last `history` steps, to which the newest is added first."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return -g
        dirs, steps, ro = state["old_dirs"], state["old_stps"], state["ro"]
        y, s = g - state["prev_flat_grad"], state["d"] * state["t"]
        ys = y.dot(s)
        if ys > 1e-10:
            if len(dirs) == history:
                for kept in (dirs, steps, ro):
                    kept.pop(0)
            dirs.append(y)
            steps.append(s)
            ro.append(1.0 / ys)
            state["H_diag"] = ys / y.dot(y)
        q, weights = -g, []
        for y, s, r in zip(reversed(dirs), reversed(steps), reversed(ro)):
            weights.append(s.dot(q) * r)
            q = q - y * weights[-1]
        state["al"] = [*reversed(weights), *([None] * (history - len(weights)))]
        q = q * state["H_diag"]
        for y, s, r, a in zip(dirs, steps, ro, reversed(weights)):
            q = q + s * (a - y.dot(q) * r)
        return q

    def _search(
        self, closure: Callable[[], Any], t: Any, d: Tensor, loss: float, g: Tensor, slope: Tensor, limit: int
    ) -> tuple[float, Tensor, Any, int]:
        if self.param_groups[0]["line_search_fn"] != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        start = [p.clone() for p in self._params]

        def at(t: Any) -> tuple[float, Tensor]:
            self._move(t, d)
            loss, g = float(closure()), self._gradient()
            for p, value in zip(self._params, start):
                p.copy_(value)
            return loss, g

        return strong_wolfe(at, t, d, loss, g, slope, limit)
