"""Cyclical rates (Smith 2017) and the one-cycle policy (Smith, Topin 2019), with momentum running the other way."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from weft.optim.lr_scheduler.scheduler import (
    UNSAID,
    LRScheduler,
    Rate,
    check_optimizer,
    one_a_group,
    set_value,
    state_of_callable,
)
from weft.optim.optimizer import Optimizer


class _WithMomentum(LRScheduler):
    """Schedules that set the momentum too: `momentum`, or the first of `betas`."""

    def _init_momentum(self, base: Any, highest: Any, last_epoch: int) -> tuple[list, list]:
        defaults = self.optimizer.defaults
        if "momentum" not in defaults and "betas" not in defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in defaults
        highest = one_a_group("max_momentum", self.optimizer, highest)
        base = one_a_group("base_momentum", self.optimizer, base)
        if last_epoch == -1:
            for group, low, high in zip(self.optimizer.param_groups, base, highest):
                self._set_momentum(group, high)
                group["max_momentum"], group["base_momentum"] = high, low
        return base, highest

    def _set_momentum(self, group: dict[str, Any], value: float) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


_SCALES: dict[str, tuple[str, Callable[[float, float], float]]] = {  # mode: what x counts, scale of (gamma, x)
    "triangular": ("cycle", lambda gamma, x: 1.0),
    "triangular2": ("cycle", lambda gamma, x: 1 / 2.0 ** (x - 1)),
    "exp_range": ("iterations", lambda gamma, x: gamma**x),
}


class CyclicLR(_WithMomentum):
    """Straight lines between base_lr and max_lr, up in step_size_up steps and down in step_size_down, scaled a cycle.

    scale_fn: a function of the cycle's or the iteration's number (`scale_mode`) in place of those of `mode`.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
        verbose: Any = UNSAID,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = one_a_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, base_lrs):
                set_value(group, "lr", rate)
        self.max_lrs = one_a_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in _SCALES and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma, self._scale_fn_custom = mode, gamma, scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else _SCALES[mode][0]
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._init_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch, verbose)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The height of a cycle: of its number, or of the iteration's."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        return _SCALES[self.mode][1](self.gamma, x)

    def get_lr(self) -> list[Rate]:
        """Also sets the momentum."""
        self._warn_if_asked_from_outside()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums):
                self._set_momentum(group, high - (high - low) * height * scale)
        return [low + (high - low) * height * scale for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        return self._state_with("_scale_fn_custom", state_of_callable(self._scale_fn_custom))

    def _load(self, state_dict: dict[str, Any]) -> None:
        super()._load({k: v for k, v in state_dict.items() if k != "_scale_fn_custom"})
        if state_dict["_scale_fn_custom"] is not None and self._scale_fn_custom is not None:
            self._scale_fn_custom.__dict__.update(state_dict["_scale_fn_custom"])


def _cosine(start: float, end: float, done: float) -> float:
    return end + (start - end) / 2 * (1 + math.cos(math.pi * done))


def _line(start: float, end: float, done: float) -> float:
    return start + (end - start) * done


_ANNEAL = {"cos": _cosine, "linear": _line}


class OneCycleLR(_WithMomentum):
    """From max_lr / div_factor up to max_lr, and down to 1 / final_div_factor of the start, in `total_steps` steps.

    With `three_phase` down to the start first. Momentum runs between max_momentum and base_momentum the other way.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
        verbose: Any = UNSAID,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        if total_steps is not None:
            self.total_steps = _positive("total_steps", total_steps)
        else:
            self.total_steps = _positive("epochs", epochs) * _positive("steps_per_epoch", steps_per_epoch)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in _ANNEAL:
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._schedule_phases = _phases(float(pct_start * self.total_steps), self.total_steps - 1, three_phase)
        self._anneal_func_type = anneal_strategy
        highest = one_a_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, high in zip(optimizer.param_groups, highest):
                group["initial_lr"], group["max_lr"] = high / div_factor, high
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._init_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch, verbose)

    def get_lr(self) -> list[Rate]:
        """Also sets the momentum. Raises ValueError past `total_steps`."""
        self._warn_if_asked_from_outside()
        step, start = self.last_epoch, 0.0
        if step > self.total_steps:
            raise ValueError(
                f"Tried to step {step} times. The specified number of total steps is {self.total_steps}"
            )
        for phase in self._schedule_phases:
            if step <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            start = phase["end_step"]
        done = (step - start) / (phase["end_step"] - start)
        anneal, rates = _ANNEAL[self._anneal_func_type], []
        for group in self.optimizer.param_groups:
            rates.append(anneal(group[phase["start_lr"]], group[phase["end_lr"]], done))
            if self.cycle_momentum:
                ends = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._set_momentum(group, anneal(*ends, done))
        return rates


def _positive(name: str, value: Any) -> int:
    if not isinstance(value, int) or value <= 0:
        raise ValueError(f"Expected positive integer {name}, but got {value}")
    return value


def _phases(top: float, last: int, three: bool) -> list[dict[str, Any]]:
    """The phases of a cycle: where each ends, and between which settings of a group it runs."""

    def phase(end: float, *settings: str) -> dict[str, Any]:
        names = ("start_lr", "end_lr", "start_momentum", "end_momentum")
        return {"end_step": end, **dict(zip(names, settings))}

    up = phase(top - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum")
    if not three:
        return [up, phase(last, "max_lr", "min_lr", "base_momentum", "max_momentum")]
    return [
        up,
        phase(2 * top - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
        phase(last, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
    ]
