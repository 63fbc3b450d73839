"""Schedules of the learning rate: each is a factor, a function of the step, of every group's first rate."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from weft.optim.optimizer import Optimizer


class LambdaLR:
    """lr = initial lr * lr_lambda(step); one function, or one a group."""

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | Sequence[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        self.optimizer, self.last_epoch = optimizer, last_epoch
        groups = optimizer.param_groups
        self.lr_lambdas = [lr_lambda] * len(groups) if callable(lr_lambda) else list(lr_lambda)
        if len(self.lr_lambdas) != len(groups):
            raise ValueError(f"Expected {len(groups)} lr_lambdas, but got {len(self.lr_lambdas)}")
        for group in groups:
            group.setdefault("initial_lr", group["lr"])
        self.base_lrs = [group["initial_lr"] for group in groups]
        self.step()

    def get_last_lr(self) -> list[float]:
        return [group["lr"] for group in self.optimizer.param_groups]

    def step(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        for group, base, factor in zip(self.optimizer.param_groups, self.base_lrs, self.lr_lambdas):
            group["lr"] = base * factor(self.last_epoch)

    def state_dict(self) -> dict[str, Any]:
        return {"last_epoch": self.last_epoch, "base_lrs": list(self.base_lrs)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.last_epoch, self.base_lrs = state_dict["last_epoch"], list(state_dict["base_lrs"])


class StepLR(LambdaLR):
    """Multiplies the rate by gamma every `step_size` steps."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        super().__init__(optimizer, lambda step: gamma ** (step // step_size), last_epoch)


class ExponentialLR(LambdaLR):
    """Multiplies the rate by gamma every step."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        super().__init__(optimizer, lambda step: gamma**step, last_epoch)


class LinearLR(LambdaLR):
    """From start_factor to end_factor in `total_iters` equal steps."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        super().__init__(
            optimizer,
            lambda step: start_factor + (end_factor - start_factor) * min(step, total_iters) / total_iters,
            last_epoch,
        )


class CosineAnnealingLR:
    """Half a cosine from the initial rate to eta_min in T_max steps (Loshchilov, Hutter 2017)."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.optimizer, self.T_max, self.eta_min, self.last_epoch = optimizer, T_max, eta_min, last_epoch
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", group["lr"])
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.step()

    def get_last_lr(self) -> list[float]:
        return [group["lr"] for group in self.optimizer.param_groups]

    def step(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        wave = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        for group, base in zip(self.optimizer.param_groups, self.base_lrs):
            group["lr"] = self.eta_min + (base - self.eta_min) * wave

    def state_dict(self) -> dict[str, Any]:
        return {"last_epoch": self.last_epoch, "base_lrs": list(self.base_lrs)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.last_epoch, self.base_lrs = state_dict["last_epoch"], list(state_dict["base_lrs"])
