"""Modules as functions of their parameters: the older form of `weft.func.functional_call`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import aten
from aten import Tensor
from weft.func import stack_module_state
from weft.nn.module import Module
from weft.nn.utils import stateless

__all__ = [
    "FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble", "functional_init",
    "functional_init_with_buffers", "make_functional", "make_functional_with_buffers",
]  # fmt: skip


class FunctionalModuleWithBuffers(Module):
    """`f(parameters, buffers, *args)`, with the values in the order of `named_parameters` and `named_buffers`."""

    def __init__(self, module: Module) -> None:
        super().__init__()
        self.stateless_model = copy.deepcopy(module)
        self.param_names = tuple(name for name, _ in module.named_parameters())
        self.buffer_names = tuple(name for name, _ in module.named_buffers())

    def forward(self, params: Sequence[Tensor], buffers: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        values = {**dict(zip(self.param_names, params)), **dict(zip(self.buffer_names, buffers))}
        return stateless.call(self.stateless_model, values, args, kwargs, tie_weights=True, strict=False)


class FunctionalModule(FunctionalModuleWithBuffers):
    """`f(parameters, *args)`, with the values in the order of `named_parameters`."""

    def forward(self, params: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        return super().forward(params, (), *args, **kwargs)


def _values(members: Any, untracked: bool) -> tuple[Tensor, ...]:
    copies = (t.detach().clone() for t in members)
    return tuple(copies) if untracked else tuple(t.detach().clone().requires_grad_(t.requires_grad) for t in members)


def make_functional(model: Module, disable_autograd_tracking: bool = False) -> tuple[FunctionalModule, tuple[Tensor, ...]]:
    """(function, parameters) of a module without buffers. Raises RuntimeError for one that has some."""
    if next(iter(model.buffers()), None) is not None:
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    return FunctionalModule(model), _values(model.parameters(), disable_autograd_tracking)


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """(function, parameters, buffers) of a module."""
    buffers = tuple(b.detach().clone() for b in model.buffers())
    return FunctionalModuleWithBuffers(model), _values(model.parameters(), disable_autograd_tracking), buffers


def combine_state_for_ensemble(
    models: Sequence[Module],
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """(function, stacked parameters, stacked buffers) of like modules, for vmap over them."""
    parameters, buffers = stack_module_state(models)
    return FunctionalModuleWithBuffers(models[0]), tuple(parameters.values()), tuple(buffers.values())


def functional_init_with_buffers(
    model_class: Callable[..., Module], ensemble_shape: Sequence[int] = (), device: Any = "cpu"
) -> Callable:
    """A function of the model's arguments that gives (parameters, buffers, function, names of each) of a new model.

    ensemble_shape: () or one number, of how many new models the values are stacked along a first dim. function(parameters, buffers,
    args) calls the model with the tuple `args`. Raises ValueError for more dims, or no models.
    """
    if len(ensemble_shape) > 1:
        raise ValueError("NYI: ensemble_shape with more than 1 element")
    if len(ensemble_shape) == 1 and ensemble_shape[0] <= 0:
        raise ValueError(f"num_models {ensemble_shape[0]} should be > 0")

    def init(*args: Any, **kwargs: Any) -> tuple:
        models = [model_class(*args, **kwargs).to(device) for _ in range(ensemble_shape[0] if ensemble_shape else 1)]
        made = FunctionalModuleWithBuffers(models[0])

        def call(params: Sequence[Tensor], buffers: Sequence[Tensor], given: tuple) -> Any:
            return made(params, buffers, *given)

        columns = [list(zip(*[_values(getattr(m, kind)(), True) for m in models])) for kind in ("parameters", "buffers")]
        join: Callable = aten.stack if ensemble_shape else (lambda tensors: tensors[0])
        params, buffers = (tuple(join(column) for column in of) for of in columns)
        return params, buffers, call, made.param_names, made.buffer_names

    return init


def functional_init(model_class: Callable[..., Module], ensemble_shape: Sequence[int] = (), device: Any = "cpu") -> Callable:
    """As `functional_init_with_buffers`, of a model without buffers: (parameters, function, names)."""
    of_all = functional_init_with_buffers(model_class, ensemble_shape, device)

    def init(*args: Any, **kwargs: Any) -> tuple:
        params, buffers, call, names, _ = of_all(*args, **kwargs)
        if buffers:
            raise RuntimeError("functional_init(model): the model has buffers. Please use functional_init_with_buffers instead.")
        return params, lambda params, given: call(params, (), given), names

    return init
