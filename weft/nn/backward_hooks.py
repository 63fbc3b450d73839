"""Backward hooks of modules: identities around `forward` that show the gradients which pass."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from aten import Tensor, is_grad_enabled
from aten.autograd import Function

__all__ = ["FullBackwardHooks", "watch_old"]


class BackwardHookFunction(Function):
    """The identity, which shows the gradients that pass to a callback and lets it replace them."""

    alone = False  # the one before `forward` tells hooks what the one after it has seen: backwards that are not traced apart

    @staticmethod
    def forward(ctx: Any, callback: Callable, *tensors: Tensor) -> Any:
        ctx.callback = callback
        ctx.mark_non_differentiable(*(t for t in tensors if not t.requires_grad))
        return tuple(t.view_as(t) for t in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (None, *ctx.callback(grads))


def _spread(grads: Sequence[Any], where: Sequence[int], count: int) -> tuple:
    full: list[Any] = [None] * count
    for i, g in zip(where, grads):
        full[i] = g
    return tuple(full)


class FullBackwardHooks:
    """One call of a module with backward hooks: first `inputs(args)`, then `outputs(result)`."""

    def __init__(self, module: Any, hooks: Sequence[Callable], pre_hooks: Sequence[Callable]) -> None:
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.grad_outputs: tuple | None = None
        self.input_places: list[int] | None = None  # None: no gradient reaches the inputs
        self.n_inputs = 0

    def _through(self, values: tuple, seen: Callable[[list[int], tuple], tuple]) -> tuple[tuple, list[int] | None]:
        """`values` behind an identity that calls seen(places of tensors, gradients)."""
        where = [i for i, v in enumerate(values) if isinstance(v, Tensor)]
        if not (is_grad_enabled() and any(values[i].requires_grad for i in where)):
            return values, None
        changed = BackwardHookFunction.apply(lambda grads: seen(where, grads), *(values[i] for i in where))
        changed = changed if isinstance(changed, tuple) else (changed,)
        renewed = list(values)
        for i, tensor in zip(where, changed):
            renewed[i] = tensor
        return type(values)(*renewed) if hasattr(values, "_fields") else tuple(renewed), where

    def inputs(self, args: tuple) -> tuple:
        """The arguments for `forward`."""
        self.n_inputs = len(args)
        args, self.input_places = self._through(args, self._at_inputs)
        return args

    def _at_inputs(self, where: list[int], grads: tuple) -> tuple:
        if self.grad_outputs is None:  # gradients that came past the module's outputs, as a second derivative's do
            return grads
        full = _spread(grads, where, self.n_inputs)
        for hook in self.hooks:
            given = hook(self.module, full, self.grad_outputs)
            if given is None:
                continue
            if len(given := given if isinstance(given, tuple) else (given,)) != len(full):
                raise RuntimeError(
                    f"Backward hook returned an invalid number of grad_input, got {len(given)}, but expected {len(full)}"
                )
            full = given
        self.grad_outputs = None
        return tuple(full[i] for i in where)

    def outputs(self, result: Any) -> Any:
        """The result of the call."""
        if not isinstance(result, (Tensor, tuple)):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                f"{type(result)}",
                stacklevel=4,
            )
        values = result if isinstance(result, tuple) else (result,)
        values, _ = self._through(values, lambda where, grads: self._at_outputs(where, grads, len(values)))
        return values if isinstance(result, tuple) else values[0]

    def _at_outputs(self, where: list[int], grads: tuple, count: int) -> tuple:
        full = _spread(grads, where, count)
        for hook in self.pre_hooks:
            given = hook(self.module, full)
            if given is None:
                continue
            if len(given := given if isinstance(given, tuple) else (given,)) != len(full):
                raise RuntimeError(
                    f"Backward pre hook returned an invalid number of grad_output, got {len(given)}, but expected {len(full)}"
                )
            full = given
        self.grad_outputs = full
        if self.input_places is None:
            self._without_inputs()
        return tuple(full[i] for i in where)

    def _without_inputs(self) -> None:
        """Calls the hooks here, as no gradient will come to the inputs."""
        for hook in self.hooks:
            given = hook(self.module, (None,) * self.n_inputs, self.grad_outputs)
            if given is not None and not (isinstance(given, tuple) and all(g is None for g in given)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or None for all "
                    "gradients."
                )
        self.grad_outputs = None


def watch_old(module: Any, hooks: Sequence[Callable], args: tuple, result: Any) -> None:
    """The old kind of backward hook: on the node that made the (first) result, whatever its inputs were."""
    first = result
    while not isinstance(first, Tensor):
        first = next((v for v in first.values() if isinstance(v, Tensor)), None) if isinstance(first, dict) else first[0]
    node = first.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(functools.partial(hook, module))
    _warn_of_old(args, result, node)


_OLD = "is deprecated and will be removed in future versions."


def _warn_of_old(args: tuple, result: Any, node: Any) -> None:
    """Says where the gradients that an old hook sees are not those of the module's inputs and outputs."""
    results = result if isinstance(result, tuple) else (result,)
    text = None
    if not all(isinstance(r, Tensor) for r in results):
        text = f"does not return a single Tensor or a tuple of Tensors {_OLD} This hook will be missing some of the grad_output."
    elif not all(isinstance(a, Tensor) for a in args):
        text = f"does not take as input a single Tensor or a tuple of Tensors {_OLD} This hook will be missing some grad_input."
    elif len(results) > 1:
        text = f"returns several outputs {_OLD} This hook will be missing some grad_output."
    else:
        inside = {getattr(a, "grad_fn", None) for a in args if a.requires_grad}
        following = {n for n, _ in node.next_functions}
        leaves = sum(1 for a in args if a.requires_grad and a.grad_fn is None)
        if inside - {None} - following or (leaves and len(following) < len(inside | following)):
            text = f"forward contains multiple autograd Nodes {_OLD} This hook will be missing some grad_input."
    if text is not None:
        warnings.warn(f"Using non-full backward hooks on a Module that {text}", FutureWarning, stacklevel=5)
