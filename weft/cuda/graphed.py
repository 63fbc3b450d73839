"""A function or module whose forward and backward are each one recorded graph of the GPU."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import aten
from aten import autograd, pytree
from aten._native import Tensor
from weft.cuda.devices import synchronize
from weft.cuda.graphs import CUDAGraph, graph, graph_pool_handle
from weft.cuda.streams import Stream, StreamContext


def _parameters(function: Any) -> list[Tensor]:
    return list(function.parameters()) if hasattr(function, "parameters") else []


def _warm_up(function: Callable[..., Any], sample: tuple[Any, ...], wanted: list[Tensor], times: int) -> None:
    """Runs it on a stream of its own, so that what is done once (compiling, memory) is not recorded."""
    synchronize()
    with StreamContext(Stream()):
        for _ in range(times):
            outputs = [o for o in pytree.leaves(function(*sample)) if isinstance(o, Tensor) and o.requires_grad]
            if outputs and wanted:
                autograd.grad(outputs, wanted, [aten.empty_like(o) for o in outputs], allow_unused=True)
    synchronize()


def _graphed(function: Any, sample: tuple[Any, ...], warm_up: int, allow_unused: bool, pool: Any) -> Any:
    """See `make_graphed_callables`. A module keeps its class; in the mode it is in now its forward is the graph."""
    leaves, spec = pytree.flatten(sample)
    if not all(isinstance(x, Tensor) for x in leaves):
        raise TypeError("make_graphed_callables: sample_args are tensors")
    parameters = _parameters(function)
    inputs = leaves + parameters
    wanted = [x for x in inputs if x.requires_grad]
    _warm_up(function, sample, wanted, warm_up)
    forward = CUDAGraph()
    with graph(forward, pool=pool):
        result = function(*sample)
    outputs, result_spec = pytree.flatten(result)
    differentiable = [o for o in outputs if o.requires_grad]
    backward, given, gradients = CUDAGraph(), [], ()
    if differentiable and wanted:
        given = [aten.empty_like(o) for o in differentiable]
        with graph(backward, pool=pool):
            gradients = autograd.grad(differentiable, wanted, given, allow_unused=allow_unused)

    class Replayed(autograd.Function):
        @staticmethod
        def forward(ctx: Any, *now: Tensor) -> Any:
            for static, x in zip(leaves, now):
                if static.data_ptr() != x.data_ptr():
                    static.detach().copy_(x)
            forward.replay()
            return tuple(o.detach() for o in outputs)

        @staticmethod
        def backward(ctx: Any, *gs: Any) -> Any:
            for static, g in zip(given, [g for o, g in zip(outputs, gs) if o.requires_grad]):
                if g is not None and static.data_ptr() != g.data_ptr():
                    static.copy_(g)
            if given:
                backward.replay()
            found = iter(gradients)
            answers = [next(found) if x.requires_grad else None for x in inputs] if given else [None] * len(inputs)
            return tuple(None if g is None else g.detach() for g in answers)

    def call(*args: Any) -> Any:
        now = pytree.flatten(args)[0]
        return pytree.unflatten(list(Replayed.apply(*now, *parameters)), result_spec)

    if not hasattr(function, "forward"):
        return functools.wraps(function)(call)
    usual, mode = function.forward, function.training
    function.forward = lambda *args: call(*args) if function.training == mode else usual(*args)
    return function


def make_graphed_callables(
    callables: Any,
    sample_args: Sequence[Any],
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: Any = None,
) -> Any:
    """Functions or modules whose forward and backward are each one recorded graph.

    sample_args: tensors of the sizes that calls will have, a tuple a callable. A call copies its arguments into the samples, plays
    the graph, and gives its outputs, which the next call overwrites. Modules keep their parameters.
    """
    single = not isinstance(callables, tuple)
    functions = (callables,) if single else callables
    samples = (sample_args,) if single else sample_args
    shared = graph_pool_handle() if pool is None else pool
    made = tuple(_graphed(f, tuple(s), num_warmup_iters, allow_unused_input, shared) for f, s in zip(functions, samples))
    return made[0] if single else made


__all__ = ["make_graphed_callables"]
