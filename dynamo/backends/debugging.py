"""Backends that run graphs op by op: for tests, and to find which step of compiling goes wrong.

`eager` runs the captured graph; `aot_eager` runs the forward and backward graphs that `aten.aot` makes of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dynamo.backends.common import as_it_is, asserting
from dynamo.backends.registry import register_backend
from dynamo.exc import TorchDynamoException


def eager(gm: Any, example_inputs: list) -> Callable:
    """The captured graph itself."""
    return gm.forward


def eager_noexcept(gm: Any, example_inputs: list) -> Callable:
    """The captured graph; what it raises is an error of the capture, for eager would have raised it before."""
    run = eager(gm, example_inputs)

    def inner(*inputs: Any) -> Any:
        try:
            return run(*inputs)
        except Exception as e:
            raise TorchDynamoException("Unexpected exception when running generated GraphModule") from e

    return inner


def aot_eager(gm: Any, example_inputs: list) -> Callable:
    """The core graphs of forward and backward, run op by op."""
    from aten import aot

    found = as_it_is(gm, example_inputs, aot_eager)
    return found if found is not None else asserting(gm, aot.compile(gm, example_inputs, _run, _run))


def aot_eager_decomp_partition(gm: Any, example_inputs: list) -> Callable:
    """The graphs as the default backend gets them: decomposed into core ops, cut where least is saved; run op by op."""
    return aot_eager(gm, example_inputs)


def _run(graph: Any, example_metas: Any) -> Callable:
    return graph.forward


for _backend in (eager, eager_noexcept, aot_eager, aot_eager_decomp_partition):
    register_backend(_backend, tags=("debug",))
