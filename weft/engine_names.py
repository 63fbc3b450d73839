"""What programs ask of PyTorch's native autograd (`torch._C._functions`, `torch._C._autograd`, …), as weft's engine has it."""

from __future__ import annotations

import weakref
from types import SimpleNamespace
from typing import Any

from aten import Tensor, _native
from aten.autograd import Function, engine, graph

__all__: list[str] = []


class _UndefinedGrad(Function):
    """The identity, whose gradient is undefined."""

    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> Any:
        return tuple(t.view_as(t) for t in tensors) if len(tensors) > 1 else tensors[0].view_as(tensors[0])

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (None,) * len(grads)


class _DelayedError(Function):
    """The identity, whose backward raises RuntimeError with a message."""

    @staticmethod
    def forward(ctx: Any, message: str, *tensors: Tensor) -> Any:
        ctx.message = message
        return tuple(t.view_as(t) for t in tensors) if len(tensors) > 1 else tensors[0].view_as(tensors[0])

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError(ctx.message)


class _OfName(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, graph.Node) and type(value).__name__ == cls.__name__


class AccumulateGrad(metaclass=_OfName):
    """The nodes where gradients arrive at leaves: `isinstance` tells them."""


class _WeakTensorRef:
    """Tells whether a tensor has gone."""

    def __init__(self, tensor: Tensor) -> None:
        self._ref = weakref.ref(tensor)

    def expired(self) -> bool:
        """Whether it has."""
        return self._ref() is None


_functions = SimpleNamespace(
    UndefinedGrad=lambda: _UndefinedGrad.apply,
    DelayedError=lambda message, count: lambda *tensors: _DelayedError.apply(message, *tensors),
    AccumulateGrad=AccumulateGrad,
)
_autograd = SimpleNamespace(
    SavedTensor=_native.SavedTensor,
    _saved_tensors_hooks_is_enabled=graph.saved_tensors_hooks_enabled,
)


def _current_autograd_node() -> Any:
    """The node whose backward runs now in this thread, or None."""
    return _native.current_node()


def _current_graph_task_id() -> int:
    """The number of the backward walk that runs now in this thread; -1 outside of one."""
    walk = engine.open_walk()
    return -1 if walk is None else walk.number


def _will_engine_execute_node(node: Any) -> bool:
    """Whether the walk that runs now runs the node. Raises RuntimeError outside of a walk, and for what is no node."""
    if not isinstance(node, graph.Node):
        raise RuntimeError(f"_will_engine_execute_node expects an grad_fn, but got {type(node).__name__}")
    walk = engine.open_walk()
    if walk is None:
        raise RuntimeError("_get_should_execute_nodes should only be called during the backward pass")
    if not walk.accumulates and walk.inputs is not None and any(isinstance(t, Tensor) and t.is_leaf for t in walk.inputs):
        raise RuntimeError(
            "_will_engine_execute_node: you are currently running autograd.grad() with leaf inputs, where which nodes run is not "
            "known"
        )
    return walk.runs(node)
