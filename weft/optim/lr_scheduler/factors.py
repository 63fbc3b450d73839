"""Schedules that multiply the rate: by a function of the epoch, or by the ratio of two of its values.

Those of a ratio may be chained: a step multiplies whatever the rate is by then.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from weft.optim.lr_scheduler.scheduler import (
    UNSAID,
    LRScheduler,
    Rate,
    functions_of_groups,
    state_of_callable,
    values_of,
)
from weft.optim.optimizer import Optimizer


class _Lambdas(LRScheduler):
    """Schedules by functions of the user, which are saved by their attributes if they are objects."""

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | Sequence[Callable],
        last_epoch: int = -1,
        verbose: Any = UNSAID,
    ) -> None:
        self.optimizer = optimizer
        self.lr_lambdas = functions_of_groups(optimizer, lr_lambda)
        for fn in self.lr_lambdas:
            if not callable(fn):
                raise TypeError(f"lr_lambda should be a function, but got {type(fn).__name__}")
        super().__init__(optimizer, last_epoch, verbose)

    def state_dict(self) -> dict[str, Any]:
        return self._state_with("lr_lambdas", [state_of_callable(fn) for fn in self.lr_lambdas])

    def _load(self, state_dict: dict[str, Any]) -> None:
        super()._load({k: v for k, v in state_dict.items() if k != "lr_lambdas"})
        for fn, attributes in zip(self.lr_lambdas, state_dict["lr_lambdas"]):
            if attributes is not None:
                fn.__dict__.update(attributes)


class LambdaLR(_Lambdas):
    """lr = initial lr * lr_lambda(epoch); one function, or one a group."""

    def get_lr(self) -> list[Rate]:
        self._warn_if_asked_from_outside()
        return [base * fn(self.last_epoch) for base, fn in zip(self.base_lrs, self.lr_lambdas, strict=True)]


class MultiplicativeLR(_Lambdas):
    """lr = lr * lr_lambda(epoch) at every step; one function, or one a group."""

    def get_lr(self) -> list[Rate]:
        self._warn_if_asked_from_outside()
        rates = values_of(self.optimizer, "lr")
        if self._is_initial:
            return rates
        return [rate * fn(self.last_epoch) for rate, fn in zip(rates, self.lr_lambdas, strict=True)]


class _Factor(LRScheduler):
    """lr = initial lr * factor(epoch)."""

    _steps_on_resuming = False
    """Whether making one with `last_epoch` >= 0 applies the step to the epoch after it, or the rate already has it."""

    def factor(self, epoch: int) -> float:
        raise NotImplementedError

    def ratio(self, epoch: int) -> float:
        """factor(epoch) / factor(epoch - 1), as PyTorch works it out: rounded otherwise, the rates would differ."""
        raise NotImplementedError

    def get_lr(self) -> list[Rate]:
        self._warn_if_asked_from_outside()
        rates, epoch = values_of(self.optimizer, "lr"), self.last_epoch
        if epoch == 0:
            return [rate * self.factor(0) for rate in rates]
        before = self.factor(epoch - 1)
        if before == self.factor(epoch) or (self._is_initial and not self._steps_on_resuming):
            return rates
        if before == 0:
            return self._get_closed_form_lr()
        ratio = self.ratio(epoch)
        return [rate * ratio for rate in rates]

    def _get_closed_form_lr(self) -> list[Rate]:
        return [base * self.factor(self.last_epoch) for base in self.base_lrs]


class StepLR(_Factor):
    """Multiplies the rate by gamma every `step_size` epochs."""

    _steps_on_resuming = True

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1, verbose: Any = UNSAID
    ) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch, verbose)

    def factor(self, epoch: int) -> float:
        return self.gamma ** (epoch // self.step_size)

    def ratio(self, epoch: int) -> float:
        return self.gamma


class MultiStepLR(_Factor):
    """Multiplies the rate by gamma at each epoch of `milestones`."""

    _steps_on_resuming = True

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1, verbose: Any = UNSAID
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch, verbose)

    def factor(self, epoch: int) -> float:
        return self.gamma ** bisect_right(sorted(self.milestones.elements()), epoch)

    def ratio(self, epoch: int) -> float:
        return self.gamma ** self.milestones[epoch]


class ConstantLR(LRScheduler):
    """The rate times `factor` for `total_iters` epochs, then the rate."""

    def __init__(
        self, optimizer: Optimizer, factor: float = 1 / 3, total_iters: int = 5, last_epoch: int = -1, verbose: Any = UNSAID
    ) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch, verbose)

    def get_lr(self) -> list[Rate]:
        self._warn_if_asked_from_outside()
        rates = values_of(self.optimizer, "lr")
        if self.last_epoch == 0:
            return [rate * self.factor for rate in rates]
        if self.last_epoch != self.total_iters:
            return rates
        return [rate * (1.0 / self.factor) for rate in rates] if self.factor != 0 else list(self.base_lrs)

    def _get_closed_form_lr(self) -> list[Rate]:
        return [base * (1 if self.last_epoch >= self.total_iters else self.factor) for base in self.base_lrs]


class LinearLR(_Factor):
    """The rate times a factor from start_factor to end_factor in `total_iters` equal steps."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
        verbose: Any = UNSAID,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch, verbose)

    def factor(self, epoch: int) -> float:
        done = min(epoch, self.total_iters) / self.total_iters if self.total_iters else 0.0
        return self.start_factor + (self.end_factor - self.start_factor) * done

    def ratio(self, epoch: int) -> float:
        rise = self.end_factor - self.start_factor
        return 1.0 + rise / (self.total_iters * self.start_factor + (epoch - 1) * rise)


class ExponentialLR(_Factor):
    """Multiplies the rate by gamma every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1, verbose: Any = UNSAID) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch, verbose)

    def factor(self, epoch: int) -> float:
        return self.gamma**epoch

    def ratio(self, epoch: int) -> float:
        return self.gamma


class PolynomialLR(_Factor):
    """The rate times (1 - epoch / total_iters) ** power, 0 from `total_iters` on."""

    def __init__(
        self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1, verbose: Any = UNSAID
    ) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch, verbose)

    def factor(self, epoch: int) -> float:
        return (1 - min(epoch, self.total_iters) / self.total_iters) ** self.power if self.total_iters else 1.0

    def ratio(self, epoch: int) -> float:
        return ((1.0 - epoch / self.total_iters) / (1.0 - (epoch - 1) / self.total_iters)) ** self.power
