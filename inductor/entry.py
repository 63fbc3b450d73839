"""The way into inductor: a captured graph → a callable, from the cache on disk if it is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from aten import errors, settings
from inductor import modes
from inductor.codegen.toolchain import CompilerMissing
from inductor.counters import counters
from inductor.loading import cached


def compile_fx(
    gm: Any, example_inputs: Any, mode: str | None = None, options: Mapping[str, Any] | None = None
) -> Callable[..., tuple]:
    """A callable(*inputs) -> tuple that does what the captured graph `gm` does.

    gm: a GraphModule of public ops on the placeholders; example_inputs: the values of one call; mode, options: see
    `modes.chosen`. Guards on sizes that the result depends on are added to gm.shape_env. Without a C++ compiler the
    graph itself is returned, after one warning.
    """
    counters["graphs"] += 1
    if not all(on_cpu(node.meta.get("val")) for node in gm.graph.nodes):
        return gm.forward

    def build() -> Any:
        from inductor import compile as pipeline

        return pipeline.compile_graph(gm, example_inputs)

    try:
        with settings.options(modes.chosen(mode, options)):
            return cached(gm, "captured", build, _compile_core)
    except CompilerMissing as e:
        errors.warn_once(f"{e}. Until then compiled functions run eager.")
        return gm


def on_cpu(val: Any) -> bool:
    """Whether what a node gives lies in the CPU's memory: nothing else is compiled."""
    if isinstance(val, (tuple, list)):
        return all(map(on_cpu, val))
    return not hasattr(val, "device") or val.device.type == "cpu"


def _compile_core(graph: Any) -> Callable[..., tuple]:
    from inductor import compile as pipeline

    return pipeline.compile_core(graph)
