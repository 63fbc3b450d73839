"""Backends: `backend(gm, example_inputs) -> callable(*inputs) -> tuple`, by name.

`eager` runs the captured graph op by op; `aot_eager` runs the forward and backward graphs that `aten.aot` makes of it.
Others register themselves (`register`), or are given to weft.compile as a callable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten import _native
from aten.fx.interpreter import Interpreter

_backends: dict[str, Callable] = {}


def register(name: str):
    """Declare a backend under a name."""

    def declare(backend: Callable) -> Callable:
        _backends[name] = backend
        return backend

    return declare


def names() -> list[str]:
    """The registered names."""
    return sorted(_backends)


def lookup(backend: str | Callable) -> Callable:
    """The backend of that name, or the callable itself. Raises ValueError for an unknown name."""
    if callable(backend):
        return backend
    found = _backends.get(backend)
    if found is None:
        raise ValueError(f"there is no backend {backend!r}; known: {', '.join(names())}")
    return found


class GradModeInterpreter(Interpreter):
    """Runs a graph some of whose nodes have their own grad mode (`node.meta["grad"]`)."""

    def run_node(self, node: Any) -> Any:
        mode = node.meta.get("grad")
        if mode is None:
            return super().run_node(node)
        before = _native.set_ambient_bits(1, int(mode))
        try:
            return super().run_node(node)
        finally:
            _native.set_ambient_bits(1, before)


@register("eager")
def eager(gm: Any, example_inputs: list) -> Callable:
    """The captured graph itself."""
    if any("grad" in node.meta for node in gm.graph.nodes):
        return lambda *inputs: GradModeInterpreter(gm).run(*inputs)
    return gm.forward


@register("aot_eager")
def aot_eager(gm: Any, example_inputs: list) -> Callable:
    """The core graphs of forward and backward, run op by op."""
    from aten import aot

    return aot.compile(gm, example_inputs, _run, _run)


def _run(graph: Any, example_metas: Any) -> Callable:
    return graph.forward
