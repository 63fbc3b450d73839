"""Several schedules of one optimizer as one: one after another, or all at each step."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from weft.optim.lr_scheduler.plateau import ReduceLROnPlateau
from weft.optim.lr_scheduler.scheduler import UNSAID, LRScheduler, set_value, values_of, warn_of_verbose
from weft.optim.optimizer import Optimizer


class _Combined(LRScheduler):
    _schedulers: Sequence[LRScheduler]

    def _check(self, optimizer: Optimizer | None, schedulers: Sequence[LRScheduler], to_be: str) -> Optimizer:
        name = type(self).__name__
        if len(schedulers) < 1:
            raise ValueError(f"{name} expects at least one scheduler{to_be}, but got no scheduler.")
        for i, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                    f"specified when calling `step`, but got one at index {i} in the given schedulers sequence."
                )
            optimizer = scheduler.optimizer if optimizer is None else optimizer
            if optimizer is not scheduler.optimizer:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                    f"{type(scheduler).__name__} at index {i} has {scheduler.optimizer}, which is different from "
                    f"{type(optimizer).__name__}."
                )
        assert optimizer is not None
        return optimizer

    def state_dict(self) -> dict[str, Any]:
        return self._state_with("_schedulers", [s.state_dict() for s in self._schedulers])

    def _load(self, state_dict: dict[str, Any]) -> None:
        super()._load({k: v for k, v in state_dict.items() if k != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"]):
            scheduler._load(state)


class SequentialLR(_Combined):
    """schedulers[0] up to epoch milestones[0], then schedulers[1] from its start, and so on."""

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: list[LRScheduler],
        milestones: list[int],
        last_epoch: int = -1,
        verbose: Any = UNSAID,
    ) -> None:
        self._check(optimizer, schedulers, "")
        warn_of_verbose(verbose)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of milestone "
                f"points, but got number of schedulers {len(schedulers)} and the number of milestones to be equal to "
                f"{len(milestones)}"
            )
        self._schedulers, self._milestones = schedulers, milestones
        self.last_epoch, self.optimizer = last_epoch + 1, optimizer
        for group in optimizer.param_groups:
            set_value(group, "lr", group["initial_lr"])
        _undo_first_step(self)
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()
        optimizer._rates_set_by(self)

    def step(self) -> None:  # type: ignore[override]
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[i]
        if i > 0 and self._milestones[i - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


def _undo_first_step(scheduler: LRScheduler) -> None:
    """Every schedule made its first step when it was made; only the first of them is to have made it."""
    if isinstance(scheduler, _Combined):
        for inner in scheduler._schedulers:
            _undo_first_step(inner)
    elif hasattr(scheduler, "last_epoch"):
        scheduler.last_epoch -= 1


class ChainedScheduler(_Combined):
    """Steps all schedulers at each step; each multiplies what the one before it has set."""

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        self.optimizer = self._check(optimizer, schedulers, " to be chained")
        self._schedulers = schedulers
        self._last_lr = values_of(self.optimizer, "lr")
        self.optimizer._rates_set_by(self)

    def step(self) -> None:  # type: ignore[override]
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = values_of(self.optimizer, "lr")

    def _update_lr(self, epoch: int | None = None) -> None:
        for scheduler in self._schedulers:
            scheduler._update_lr(epoch)
        self._last_lr = values_of(self.optimizer, "lr")
