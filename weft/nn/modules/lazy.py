"""Modules whose sizes are those of the first input."""

from __future__ import annotations

import itertools
from typing import Any

import aten
from dynamo import trace_rules
from weft.nn.uninitialized import is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """The parameters are uninitialised until the first call: it runs `initialize_parameters` on its arguments, after which the
    module is of the class `cls_to_become`. A state dict gives them sizes, too."""

    cls_to_become: type[Any] | None = None

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[misc]
        self._load_hook = self.register_load_state_dict_pre_hook(_lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(_infer_parameters, with_kwargs=True)

    def _save_to_state_dict(self: Any, destination: dict, prefix: str, keep_vars: bool) -> None:
        for name, value in itertools.chain(self._parameters.items(), self._buffers.items()):
            if value is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = value if is_lazy(value) or keep_vars else value.detach()

    def initialize_parameters(self: Any, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self: Any) -> bool:
        return any(is_lazy(value) for value in itertools.chain(self._parameters.values(), self._buffers.values()))

    def _replicate_for_data_parallel(self: Any) -> Any:
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. Run a dummy forward pass to correctly "
            "initialize the modules"
        )


def _infer_parameters(module: Any, args: tuple, kwargs: dict | None = None) -> None:
    """Before the first call. Raises RuntimeError where `initialize_parameters` leaves something out."""
    module.initialize_parameters(*args, **(kwargs or {}))
    if module.has_uninitialized_params():
        raise RuntimeError(f"module {module._get_name()} has not been fully initialized")
    module._initialize_hook.remove()
    module._load_hook.remove()
    del module._initialize_hook, module._load_hook
    if module.cls_to_become is not None:
        module.__class__ = module.cls_to_become


@trace_rules.handle(_infer_parameters)
def _captured(frame: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    from weft.nn.modules.lazy_captured import initialize  # (it needs fake tensors, which few programs do)

    return initialize(frame, args, _infer_parameters)


def _lazy_load_hook(module: Any, state_dict: dict, prefix: str, *rest: Any) -> None:
    """What the state dict has sizes for gets them, before it is copied."""
    for name, value in itertools.chain(module._parameters.items(), module._buffers.items()):
        given = state_dict.get(prefix + name)
        if is_lazy(value) and given is not None and not is_lazy(given):
            with aten.no_grad():
                value.materialize(given.shape)


