"""Handles of registered hooks, and the backward hooks of modules."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from aten import Tensor
from aten.autograd import Function

if TYPE_CHECKING:
    from weft.nn.module import Module

_ids = itertools.count()


class RemovableHandle:
    """Removes its hook when `remove()` is called or when a `with` block on it ends."""

    def __init__(self, hooks: Any, extra: tuple = ()) -> None:
        self.id = next(_ids)
        self._hooks = weakref.ref(hooks)
        self._extra = extra

    def remove(self) -> None:
        hooks = self._hooks()
        if hooks is not None:
            hooks.pop(self.id, None)
        for collection in self._extra:
            collection.discard(self.id)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.remove()


class _Boundary(Function):
    """The identity, which shows the gradients that pass to a callback and lets it replace them."""

    @staticmethod
    def forward(ctx: Any, callback: Callable, *tensors: Tensor) -> Any:
        ctx.callback = callback
        return tuple(t.view_as(t) for t in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (None, *ctx.callback(grads))


def _through(callback: Callable, values: tuple) -> tuple:
    where = [i for i, v in enumerate(values) if isinstance(v, Tensor) and v.requires_grad]
    if not where:
        return values
    changed = _Boundary.apply(lambda grads: callback(where, grads), *(values[i] for i in where))
    values_list = list(values)
    for i, tensor in zip(where, changed if isinstance(changed, tuple) else (changed,)):
        values_list[i] = tensor
    return tuple(values_list)


def _replaced(given: Any, old: tuple, kind: str) -> tuple:
    """The gradients after a hook returned `given`: `old` for None, else as many as before."""
    if given is None:
        return old
    given = given if isinstance(given, tuple) else (given,)
    if len(given) != len(old):
        raise RuntimeError(f"Backward {kind} must return {len(old)} gradients, got {len(given)}")
    return given


def _spread(grads: tuple, where: list[int], count: int) -> tuple:
    full: list[Any] = [None] * count
    for i, g in zip(where, grads):
        full[i] = g
    return tuple(full)


def run_with_backward_hooks(module: Module, args: tuple, kwargs: dict) -> Any:
    """Calls `module.forward` so that its backward hooks see, and may replace, the gradients of its inputs and outputs."""
    has_input = any(isinstance(a, Tensor) and a.requires_grad for a in args)
    at_outputs: tuple = ()

    def at_output(where: list[int], grads: tuple) -> tuple:
        nonlocal at_outputs
        full = _spread(grads, where, len(values))
        for hook in tuple(module._backward_pre_hooks.values()):
            full = _replaced(hook(module, full), full, "pre hook")
        at_outputs = full
        if not has_input:
            for hook in tuple(module._backward_hooks.values()):
                hook(module, (None,) * len(args), full)
        return tuple(full[i] for i in where)

    def at_input(where: list[int], grads: tuple) -> tuple:
        full = _spread(grads, where, len(args))
        for hook in tuple(module._backward_hooks.values()):
            full = _replaced(hook(module, full, at_outputs), full, "hook")
        return tuple(full[i] for i in where)

    result = module.forward(*_through(at_input, args), **kwargs)
    single = not isinstance(result, tuple)
    values = (result,) if single else result
    values = _through(at_output, values)
    return values[0] if single else values
