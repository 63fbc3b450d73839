"""Modules whose calls are checkpointed: what they compute is computed again in backward instead of being kept."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from enum import Enum, auto
from typing import Any

from aten.autograd.graph import save_on_cpu
from weft.nn.module import Module
from weft.utils.checkpoint import checkpoint

_WRAPPED = "_checkpoint_wrapped_module"
_PREFIX = _WRAPPED + "."


class CheckpointImpl(Enum):
    """How `checkpoint` does it."""

    REENTRANT = auto()
    NO_REENTRANT = auto()


class ActivationWrapper(Module):
    """A module around another, under whose names parameters and state dicts go on."""

    def __init__(self, mod: Module) -> None:
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self._register_state_dict_hook(self._post_state_dict_hook)
        self.register_load_state_dict_pre_hook(self._pre_load_state_dict_hook)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__(_WRAPPED), name)

    def __getitem__(self, key: int) -> Any:
        return self._checkpoint_wrapped_module.__getitem__(key)  # type: ignore[operator]

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(_PREFIX, ""), parameter

    @staticmethod
    def _post_state_dict_hook(module: Module, state_dict: dict[str, Any], prefix: str, *args: Any) -> dict[str, Any]:
        for key in [k for k in state_dict if k.startswith(prefix + _PREFIX)]:
            state_dict[prefix + key[len(prefix + _PREFIX) :]] = state_dict.pop(key)
        return state_dict

    @staticmethod
    def _pre_load_state_dict_hook(module: Module, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        for key in [k for k in state_dict if k.startswith(prefix)]:
            state_dict[prefix + _PREFIX + key[len(prefix) :]] = state_dict.pop(key)


class OffloadWrapper(ActivationWrapper):
    """What the module keeps for backward is kept on the CPU."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        with save_on_cpu(pin_memory=False):
            return self._checkpoint_wrapped_module(*args, **kwargs)


class CheckpointWrapper(ActivationWrapper):
    """What the module computes is computed again in backward; kwargs go to `checkpoint`, or to `checkpoint_fn`."""

    def __init__(
        self,
        mod: Module,
        checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
        checkpoint_fn: Callable | None = None,
        **checkpoint_fn_kwargs: Any,
    ) -> None:
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        if checkpoint_fn is None:
            checkpoint_fn = functools.partial(checkpoint, use_reentrant=checkpoint_impl is CheckpointImpl.REENTRANT)
        self.checkpoint_fn = functools.partial(checkpoint_fn, **checkpoint_fn_kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.checkpoint_fn(self._checkpoint_wrapped_module, *args, **kwargs)


def offload_wrapper(module: Module) -> Module:
    """The module in an `OffloadWrapper`."""
    return OffloadWrapper(module)


def checkpoint_wrapper(
    module: Module,
    checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
    checkpoint_fn: Callable | None = None,
    **checkpoint_fn_kwargs: Any,
) -> Module:
    """The module in a `CheckpointWrapper`."""
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def apply_activation_checkpointing(
    model: Module,
    checkpoint_wrapper_fn: Callable[[Module], Module] = checkpoint_wrapper,
    check_fn: Callable[[Module], bool] = lambda _: True,
    auto_wrap_policy: Any = None,
) -> None:
    """Wraps every module below `model` for which `check_fn` is true, the innermost first, in place."""
    for name, child in list(model.named_children()):
        apply_activation_checkpointing(child, checkpoint_wrapper_fn, check_fn)
        if check_fn(child):
            setattr(model, name, checkpoint_wrapper_fn(child))


__all__ = [
    "ActivationWrapper", "CheckpointImpl", "CheckpointWrapper", "OffloadWrapper", "apply_activation_checkpointing",
    "checkpoint_wrapper", "offload_wrapper",
]  # fmt: skip
