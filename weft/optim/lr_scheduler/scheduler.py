"""LRScheduler: the base of schedules, which counts steps, sets the rates and is saved as plain data."""

from __future__ import annotations

import functools
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from aten import Tensor
from weft.optim.optimizer import Optimizer, scalar

Rate = Any  # a float, or a tensor of one element

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler."
)
_SEE = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"


def values_of(optimizer: Optimizer, name: str) -> list[Rate]:
    """The setting `name` of every group; tensors are copied."""
    return [_copy(group[name]) for group in optimizer.param_groups]


def set_value(group: dict[str, Any], name: str, value: Rate) -> None:
    """Sets a setting of a group: in place where it is a tensor, so that what captured it sees the change."""
    if isinstance(group[name], Tensor):
        group[name].fill_(scalar(value))
    else:
        group[name] = value


def one_a_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """`value` as a list with an entry for each group. Raises ValueError for a list of another length."""
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [_copy(value) for _ in range(count)]
    if len(value) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, "
            f"param_groups has {count}."
        )
    return [_copy(v) for v in value]


def state_of_callable(fn: Any) -> Any:
    """What of a function of the user is saved: the attributes of an object that can be called, nothing of a function."""
    return None if fn is None or isinstance(fn, types.FunctionType) else fn.__dict__.copy()


def _copy(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


UNSAID = "deprecated"
"""The default of `verbose`, which schedules take and do not use."""


def warn_of_verbose(verbose: Any) -> None:
    if verbose != UNSAID:
        warnings.warn(
            "The verbose parameter is deprecated. Please use get_last_lr() to access the learning rate.",
            UserWarning,
            stacklevel=4,
        )


def check_optimizer(optimizer: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


class LRScheduler:
    """Base of schedules. A subclass defines `get_lr`, the rates of all groups at `self.last_epoch`.

    `last_epoch`: -1 starts anew; k goes on after epoch k with an optimizer that was loaded (its groups have `initial_lr`).
    """

    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1, verbose: Any = UNSAID) -> None:
        check_optimizer(optimizer)
        warn_of_verbose(verbose)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _copy(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with last_epoch >= 0"
                )
        self.base_lrs = values_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _watch(optimizer)
        self._initial_step()
        optimizer._rates_set_by(self)

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    # ------------------------------------------------------------------------------------------------------ rates
    def get_last_lr(self) -> list[Rate]:
        """The rates that the last step set."""
        return self._last_lr

    def get_lr(self) -> list[Rate]:
        """The rates at `self.last_epoch`, given those of the groups now."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_lr")

    def step(self, epoch: int | None = None) -> None:
        """Goes on by one epoch, or to `epoch`, and sets the rates. Warns if the optimizer did not step before."""
        if self._step_count == 1:
            self._warn_of_order()
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        with self._asking():
            closed = getattr(self, "_get_closed_form_lr", None)
            self._set(self.get_lr() if epoch is None or closed is None else closed())

    def _set(self, rates: Sequence[Rate]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_value(group, "lr", rate)
        self._last_lr = values_of(self.optimizer, "lr")

    @contextmanager
    def _asking(self) -> Iterator[None]:
        self._get_lr_called_within_step = True
        try:
            yield
        finally:
            self._get_lr_called_within_step = False

    def _warn_if_asked_from_outside(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )

    def _warn_of_order(self) -> None:
        own = self.optimizer.__dict__.get("step")
        if own is not None and not hasattr(own, "_wrapped_by_lr_sched"):
            warnings.warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. Please, "
                f"make sure to call `optimizer.step()` before `lr_scheduler.step()`. {_SEE}",
                UserWarning,
                stacklevel=3,
            )
        elif not self.optimizer._opt_called:
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should "
                "call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this "
                f"will result in PyTorch skipping the first value of the learning rate schedule. {_SEE}",
                UserWarning,
                stacklevel=3,
            )

    # ------------------------------------------------------------------------------------------------------ state
    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer."""
        return {k: v for k, v in self.__dict__.items() if k != "optimizer"}

    def _state_with(self, name: str, value: Any) -> dict[str, Any]:
        """The attributes, of which `name` comes last, as this value."""
        return {**{k: v for k, v in LRScheduler.state_dict(self).items() if k != name}, name: value}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on where `state_dict` was made, with its rates, whether the optimizer is loaded before, later or not."""
        self._load(state_dict)
        if self.optimizer._takes_rates_of(self) and hasattr(self, "_last_lr"):
            for group, rate in zip(self.optimizer.param_groups, self._last_lr):
                set_value(group, "lr", rate)

    def _load(self, state_dict: dict[str, Any]) -> None:
        self.__dict__.update(state_dict)


class _LRScheduler(LRScheduler):
    """The older name of the base."""


def _watch(optimizer: Optimizer) -> None:
    """A `step` that somebody put on the object itself tells of its calls too."""
    own = optimizer.__dict__.get("step")
    if own is None or hasattr(own, "_wrapped_by_lr_sched"):
        return

    @functools.wraps(own)
    def step(*args: Any, **kwargs: Any) -> Any:
        optimizer._opt_called = True
        return own(*args, **kwargs)

    step._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = step  # type: ignore[method-assign]


def functions_of_groups(optimizer: Optimizer, fn: Callable | Sequence[Callable]) -> list[Callable]:
    """One function a group. Raises ValueError for a list of another length."""
    if not isinstance(fn, (list, tuple)):
        return [fn] * len(optimizer.param_groups)  # type: ignore[list-item]
    if len(fn) != len(optimizer.param_groups):
        raise ValueError(f"Expected {len(optimizer.param_groups)} lr_lambdas, but got {len(fn)}")
    return list(fn)
