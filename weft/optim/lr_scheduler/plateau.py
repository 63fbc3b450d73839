"""Less rate when a metric stops getting better."""

from __future__ import annotations

import math
import warnings
from typing import Any

from weft.optim.lr_scheduler.scheduler import (
    EPOCH_DEPRECATION_WARNING,
    UNSAID,
    LRScheduler,
    check_optimizer,
    set_value,
    values_of,
    warn_of_verbose,
)
from weft.optim.optimizer import Optimizer


class ReduceLROnPlateau(LRScheduler):
    """Multiplies the rate by `factor` once the metric given to `step` was no better for more than `patience` steps.

    mode: whether less ("min") or more ("max") is better; better is by `threshold`, relative ("rel") or absolute ("abs").
    cooldown: steps after a reduction that do not count. eps: smaller changes of the rate are not made.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: list[float] | float = 0,
        eps: float = 1e-8,
        verbose: Any = UNSAID,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        check_optimizer(optimizer)
        warn_of_verbose(verbose)
        self.factor, self.optimizer = factor, optimizer
        groups = len(optimizer.param_groups)
        if isinstance(min_lr, (list, tuple)):
            if len(min_lr) != groups:
                raise ValueError(f"expected {groups} min_lrs, got {len(min_lr)}")
            self.default_min_lr, self.min_lrs = None, list(min_lr)
        else:
            self.default_min_lr, self.min_lrs = min_lr, [min_lr] * groups  # type: ignore[assignment]
        self.patience, self.cooldown, self.eps = patience, cooldown, eps
        self.last_epoch = 0
        self._last_lr = values_of(optimizer, "lr")
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self._reset()
        optimizer._rates_set_by(self)

    def _reset(self) -> None:
        self.best, self.cooldown_counter, self.num_bad_epochs = self.mode_worse, 0, 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Takes the metric of an epoch: a number or a tensor of one."""
        current = float(metrics)
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current, self.best):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(self.last_epoch)
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = values_of(self.optimizer, "lr")

    def _reduce_lr(self, epoch: int) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from when "
                    f"`ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), usually due to a new param group being "
                    "added to the optimizer. Please modify the `min_lrs` field to match the length of the `optimizer` "
                    "param groups."
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                set_value(group, "lr", new)

    @property
    def in_cooldown(self) -> bool:
        return self.cooldown_counter > 0

    def _is_better(self, a: float, best: float) -> bool:
        if self.threshold_mode == "rel":
            return a < best * (1 - self.threshold) if self.mode == "min" else a > best * (1 + self.threshold)
        return a < best - self.threshold if self.mode == "min" else a > best + self.threshold
