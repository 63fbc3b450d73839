"""Function transforms, under PyTorch's names."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import aten
from aten import pytree
from aten.transforms import batching, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap
from aten.transforms.tracer import Level, Tracer, opened
from weft._functorch.rearrange import rearrange
from weft.nn.module import Module
from weft.nn.modules.batchnorm import _BatchNorm
from weft.nn.utils import stateless

__all__ = [
    "chunk_vmap", "debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev",
    "jvp", "linearize", "rearrange", "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap",
]  # fmt: skip


class _Functionalized(Level):
    """Takes no call: what runs in it is a function that is transformed, and may do there what it may do under others."""

    transforms = True

    def wants(self, args: tuple) -> bool:
        return False


def functionalize(func: Callable, *, remove: str = "mutations") -> Callable:
    """`func`, for whoever traces it: in-place operations, and with remove="mutations_and_views" views, need not be in its graph.

    Every trace of weft (`make_fx`, `compile`, vmap, grad …) records functional operations of itself, and results, writes into
    arguments included, are those of `func`. Raises RuntimeError for another `remove`.
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are: "
            "'mutations' and 'mutations_and_views'"
        )

    @functools.wraps(func)
    def functional(*args: Any, **kwargs: Any) -> Any:
        with opened(_Functionalized()):
            return func(*args, **kwargs)

    return functional


def chunk_vmap(func: Callable, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", chunks: int = 2) -> Callable:
    """vmap in about `chunks` equal parts of the batch, one after the other."""

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves = pytree.flatten(args)[0]
        dims = batching.input_dims(in_dims, args, leaves)
        size = batching.batch_size(leaves, dims)
        part = -(-int(size) // chunks) or None
        return vmap(func, in_dims, out_dims, randomness, chunk_size=part)(*args, **kwargs)

    return mapped


def debug_unwrap(tensor: Any, *, recurse: bool = True) -> Any:
    """The value inside of a tensor that a transform passes to its function; a tensor that is in none is itself."""
    while isinstance(tensor, Tracer):
        inside = tensor.level.read(tensor)
        inside = getattr(inside, "value", inside)
        if not isinstance(inside, aten.Tensor):
            return tensor
        tensor = inside
        if not recurse:
            break
    return tensor


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """`root`, whose batch norms use the statistics of each batch from now on and keep none; in place."""
    for module in root.modules():
        if isinstance(module, _BatchNorm) and module.track_running_stats:
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


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
        return {name: _stacked(name, [c[name] for c in columns]) for name in columns[0]}

    return stacked("parameters"), stacked("buffers")


def _stacked(name: str, tensors: Sequence[Any]) -> Any:
    """A leaf of all; or with history, where these have some."""
    if any(t.requires_grad != tensors[0].requires_grad for t in tensors):
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    if tensors[0].requires_grad and any(t.grad_fn is not None for t in tensors):
        return aten.stack(tensors)
    return aten.stack([t.detach() for t in tensors]).requires_grad_(tensors[0].requires_grad)
