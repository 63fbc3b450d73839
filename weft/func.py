"""Function transforms, under PyTorch's names."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from aten.transforms import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap
from weft.nn.module import Module

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


@contextlib.contextmanager
def _swapped(module: Module, values: dict[str, Any]) -> Iterator[None]:
    """Within the block, the parameters and buffers named in `values` are those given."""
    places = []
    for name, value in values.items():
        path, _, leaf = name.rpartition(".")
        owner = module.get_submodule(path)
        store = next((s for s in (owner._parameters, owner._buffers) if leaf in s), None)
        if store is None:
            raise KeyError(f"functional_call: {type(module).__name__} has no parameter or buffer '{name}'")
        places.append((store, leaf, store[leaf]))
        store[leaf] = value
    try:
        yield
    finally:
        for store, leaf, old in places:
            store[leaf] = old


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Any,
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Calls `module` with the parameters and buffers of the given dict (or tuple of dicts) in place of its own."""
    dicts = (
        parameter_and_buffer_dicts
        if isinstance(parameter_and_buffer_dicts, (tuple, list))
        else (parameter_and_buffer_dicts,)
    )
    values = {name: value for d in dicts for name, value in d.items()}
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _swapped(module, values):
        return module(*args, **(kwargs or {}))


def stack_module_state(models: list[Module]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters and buffers of like `models`, stacked along a new first dim."""
    import aten

    def stacked(kind: str) -> dict[str, Any]:
        columns = [dict(getattr(m, f"named_{kind}")()) for m in models]
        return {
            name: aten.stack([c[name].detach() for c in columns]).requires_grad_(columns[0][name].requires_grad)
            for name in columns[0]
        }

    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    return stacked("parameters"), stacked("buffers")
