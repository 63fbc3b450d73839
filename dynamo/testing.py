"""Backends for tests of what was captured: they count and keep graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch  # noqa: F401 (under this name for programs' tests)

from dynamo.backends.common import aot_autograd
from dynamo.backends.debugging import eager
from dynamo.backends.registry import lookup_backend


def _calls(gm: Any) -> int:
    return sum("call" in node.op for node in gm.graph.nodes)


class CompileCounterWithBackend:
    """A backend that counts the graphs it is given (`frame_count`), their calls (`op_count`), and keeps them (`graphs`)."""

    def __init__(self, backend: str | Callable):
        self.backend = backend
        self.clear()

    def __call__(self, gm: Any, example_inputs: list) -> Callable:
        self.frame_count += 1
        self.op_count += _calls(gm)
        self.graphs.append(gm)
        return lookup_backend(self.backend)(gm, example_inputs)

    def clear(self) -> None:
        """Count from zero again."""
        self.frame_count = 0
        self.op_count = 0
        self.graphs: list[Any] = []


class CompileCounter:
    """A backend that runs graphs as they are, and counts them (`frame_count`) and their calls (`op_count`)."""

    def __init__(self) -> None:
        self.clear()

    def __call__(self, gm: Any, example_inputs: list) -> Callable:
        self.frame_count += 1
        self.op_count += _calls(gm)
        return eager(gm, example_inputs)

    def clear(self) -> None:
        """Count from zero again."""
        self.frame_count = 0
        self.op_count = 0


class EagerAndRecordGraphs:
    """A backend that runs graphs as they are, and keeps them in `graphs`."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []

    def __call__(self, gm: Any, example_inputs: list) -> Callable:
        self.graphs.append(gm)
        return eager(gm, example_inputs)


class AotEagerAndRecordGraphs:
    """The same for core graphs: `graphs` as captured, `fw_graphs` and `bw_graphs` as compilers get them."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []
        self.fw_graphs: list[Any] = []
        self.bw_graphs: list[Any] = []

    def __call__(self, gm: Any, example_inputs: list) -> Callable:
        def keep(graphs: list) -> Callable:
            def compiler(core: Any, metas: list) -> Callable:
                graphs.append(core)
                return core.forward

            return compiler

        self.graphs.append(gm)
        return aot_autograd(fw_compiler=keep(self.fw_graphs), bw_compiler=keep(self.bw_graphs))(gm, example_inputs)
