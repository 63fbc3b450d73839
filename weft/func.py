"""Function transforms, under PyTorch's names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import aten
from aten.transforms import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap
from weft.nn.module import Module
from weft.nn.utils import stateless

__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp", "linearize",
    "stack_module_state",
    "vjp",
    "vmap",
]


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Any,
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Calls `module` with the parameters and buffers of the given dict (or dicts) in place of its own.

    tie_weights: what is filed under several names is replaced under all, even where one is given. strict: RuntimeError unless
    all are given. What the module assigns to its buffers meanwhile is found in the dict. Raises ValueError for a name in two dicts.
    """
    if isinstance(parameter_and_buffer_dicts, (tuple, list)):
        if not all(isinstance(d, dict) for d in parameter_and_buffer_dicts):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        keys = [key for d in parameter_and_buffer_dicts for key in d]
        repeated = sorted({key for key in keys if keys.count(key) > 1})
        if repeated:
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        values = {key: value for d in parameter_and_buffer_dicts for key, value in d.items()}
    elif isinstance(parameter_and_buffer_dicts, Mapping):
        values = parameter_and_buffer_dicts
    else:
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, "
            f"but got {type(parameter_and_buffer_dicts)}"
        )
    return stateless.call(module, values, args, kwargs, tie_weights=tie_weights, strict=strict)


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters and buffers of like `models`, stacked along a new first dim. Raises RuntimeError unless of one class and mode."""
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or all(not m.training for m in models)):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")

    def stacked(kind: str) -> dict[str, Any]:
        columns = [dict(getattr(m, f"named_{kind}")()) for m in models]
        return {name: _stacked([c[name] for c in columns]) for name in columns[0]}

    return stacked("parameters"), stacked("buffers")


def _stacked(tensors: Sequence[Any]) -> Any:
    """A leaf of all; or with history, where these have some."""
    if any(t.requires_grad != tensors[0].requires_grad for t in tensors):
        raise RuntimeError("Expected parameters from different models to have the same requires_grad")
    if tensors[0].requires_grad and any(t.grad_fn is not None for t in tensors):
        return aten.stack(tensors)
    return aten.stack([t.detach() for t in tensors]).requires_grad_(tensors[0].requires_grad)
