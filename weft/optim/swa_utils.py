"""Averages of a model over training: stochastic weight averaging (Izmailov et al. 2018), exponential moving averages."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from itertools import chain
from typing import Any

import aten
from aten import Tensor
from weft.nn.module import Module
from weft.optim.lr_scheduler.scheduler import LRScheduler, Rate, one_a_group
from weft.optim.optimizer import Optimizer

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


def get_ema_avg_fn(decay: float = 0.999) -> Callable[[Tensor, Tensor, Any], Tensor]:
    """fn(average, value, count): decay * average + (1 - decay) * value."""
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")

    @aten.no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable[[Tensor, Tensor, Any], Tensor]:
    """fn(average, value, count): the mean of count + 1 values."""

    @aten.no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def _on_lists(average: Callable[[Tensor, Tensor, Any], Tensor]) -> Callable[[Sequence, Sequence, Any], None]:
    @aten.no_grad()
    def update(averages: Sequence[Tensor], values: Sequence[Tensor], num_averaged: Any) -> None:
        for a, value in zip(averages, values, strict=True):
            a.copy_(average(a, value, num_averaged))

    return update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[[Sequence, Sequence, Any], None]:
    """get_ema_avg_fn on lists of tensors, in place."""
    return _on_lists(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> Callable[[Sequence, Sequence, Any], None]:
    """get_swa_avg_fn on lists of tensors, in place."""
    return _on_lists(get_swa_avg_fn())


class AveragedModel(Module):
    """A copy of `model` whose parameters are averages of those given to `update_parameters` (all alike if not told how).

    avg_fn(average, value, count) -> average, or multi_avg_fn on lists of them, in place. use_buffers: buffers are averaged
    as well, otherwise copied. `n_averaged` counts.
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable[[Tensor, Tensor, Any], Tensor] | None = None,
        multi_avg_fn: Callable[[Sequence, Sequence, Any], None] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", aten.tensor(0, dtype=aten.int64, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Takes the parameters of `model` into the averages."""
        averages = [p.detach() for p in self._averaged(self.module)]
        values = [p.detach() for p in self._averaged(model)]
        values = [value.to(a.device) for a, value in zip(averages, values)]
        if self.n_averaged == 0:
            for a, value in zip(averages, values):
                a.copy_(value)
        elif self.avg_fn is None:
            for dtype in dict.fromkeys(a.dtype for a in averages):
                alike = [(a, v) for a, v in zip(averages, values) if a.dtype is dtype]
                update = self.multi_avg_fn or get_swa_multi_avg_fn()
                update([a for a, _ in alike], [value for _, value in alike], self.n_averaged)
        else:
            for a, value in zip(averages, values):
                a.copy_(self.avg_fn(a, value, self.n_averaged))
        if not self.use_buffers:
            for mine, theirs in zip(self.module.buffers(), model.buffers()):
                mine.detach().copy_(theirs.detach().to(mine.device))
        self.n_averaged += 1

    def _averaged(self, model: Module) -> Iterable[Tensor]:
        return chain(model.parameters(), model.buffers()) if self.use_buffers else model.parameters()


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Sets the running statistics of all batch norms to those of one pass over `loader` (batches, or lists of which the
    first is the input)."""
    norms = {m: m.momentum for m in model.modules() if hasattr(m, "reset_running_stats") and hasattr(m, "momentum")}
    if not norms:
        return
    training = model.training
    model.train()
    with aten.no_grad():
        for norm in norms:
            norm.reset_running_stats()
            norm.momentum = None  # the mean of all batches
        for batch in loader:
            batch = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(batch if device is None else batch.to(device))
    for norm, momentum in norms.items():
        norm.momentum = momentum
    model.train(training)


_ANNEAL: dict[str, Callable[[float], float]] = {
    "cos": lambda t: (1 - math.cos(math.pi * t)) / 2,
    "linear": lambda t: t,
}


class SWALR(LRScheduler):
    """From the rate to `swa_lr` in anneal_epochs steps, along a cosine or a line. May be chained."""

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for rate, group in zip(one_a_group("swa_lr", optimizer, swa_lr), optimizer.param_groups):
            group["swa_lr"] = rate
        if anneal_strategy not in _ANNEAL:
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _done(self, step: int) -> float:
        """The share of the way that lies behind at `step`."""
        return _ANNEAL[self._anneal_strategy](max(0.0, min(1.0, step / max(1, self.anneal_epochs))))

    def get_lr(self) -> list[Rate]:
        self._warn_if_asked_from_outside()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._done(step - 1), self._done(step)
        rates = []
        for group in self.optimizer.param_groups:
            goal, rate = group["swa_lr"], group["lr"]
            start = goal if before == 1 else (rate - before * goal) / (1 - before)
            rates.append(goal * now + start * (1 - now))
        return rates
