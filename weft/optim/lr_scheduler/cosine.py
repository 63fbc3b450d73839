"""Cosine annealing (Loshchilov, Hutter 2017)."""

from __future__ import annotations

import math
from typing import Any

from weft.optim.lr_scheduler.scheduler import UNSAID, LRScheduler, Rate, values_of
from weft.optim.optimizer import Optimizer


class CosineAnnealingLR(LRScheduler):
    """A cosine from the initial rate to eta_min in T_max epochs, and back in as many. May be chained."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1, verbose: Any = UNSAID) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch, verbose)

    def _wave(self, epoch: int) -> float:
        """From 2 at the start to 0 at the bottom."""
        return 1 + math.cos(math.pi * epoch / self.T_max)

    def get_lr(self) -> list[Rate]:
        self._warn_if_asked_from_outside()
        rates, epoch, low = values_of(self.optimizer, "lr"), self.last_epoch, self.eta_min
        if self._is_initial:
            return rates
        if self._step_count == 1 and epoch > 0:
            return self._get_closed_form_lr()
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # the epoch before was at the bottom: nothing to scale
            return [rate + (base - low) * (1 - math.cos(math.pi / self.T_max)) / 2 for rate, base in zip(rates, self.base_lrs)]
        return [self._wave(epoch) / self._wave(epoch - 1) * (rate - low) + low for rate in rates]

    def _get_closed_form_lr(self) -> list[Rate]:
        return [self.eta_min + (base - self.eta_min) * self._wave(self.last_epoch) / 2 for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """A cosine from the initial rate to eta_min in T_0 epochs, then again, each time T_mult times as long.

    `step(epoch)` takes fractions of epochs, for a step a batch.
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1, verbose: Any = UNSAID
    ) -> None:
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0, self.T_i, self.T_mult, self.eta_min = T_0, T_0, T_mult, eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch, verbose)

    def get_lr(self) -> list[Rate]:
        self._warn_if_asked_from_outside()
        wave = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * wave for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        if self._step_count == 1:
            self._warn_of_order()
        self._step_count += 1
        if epoch is None and self.last_epoch >= 0:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            epoch = 0 if epoch is None else epoch
            if epoch < 0:
                raise ValueError(f"Expected non-negative epoch, but got {epoch}")
            self._place(epoch)
        self.last_epoch = math.floor(epoch)
        with self._asking():
            self._set(self.get_lr())

    def _place(self, epoch: float) -> None:
        """Where `epoch` lies: T_cur epochs into a cosine of T_i."""
        self.T_i = self.T_0
        if self.T_mult == 1:
            self.T_cur = epoch % self.T_0
            return
        while epoch >= self.T_i:
            epoch -= self.T_i
            self.T_i *= self.T_mult
        self.T_cur = epoch
