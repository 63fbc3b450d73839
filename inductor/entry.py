"""The way into inductor: a captured graph → a callable, from the cache on disk if it is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from aten import errors, settings
from aten.autograd.graph import saves_through_hooks
from aten.collection import lasting_imports
from aten.fx.symbols import runs_whole
from aten.scalar.unpatched import functools
from inductor import modes
from inductor.codegen.toolchain import CompilerMissing, DeviceCompileError
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
    if runs_whole(gm.graph):
        from aten.aot import stages  # here: most graphs know all their numbers

        return stages.compile(gm, functools.partial(compile_fx, mode=mode, options=options))
    counters["graphs"] += 1
    kinds = set().union(*(devices_of(node.meta.get("val")) for node in gm.graph.nodes))
    if not kinds <= {"cpu", "cuda"} or saves_through_hooks():  # (hooks are given what each op saves, as in plain code)
        return gm.forward
    if "cuda" in kinds and (reason := _no_cuda()) is not None:
        errors.warn_once(f"compiled functions of tensors on cuda run eager: {reason}")
        return gm.forward

    def build() -> Any:
        with lasting_imports():
            from inductor import compile as pipeline

        return pipeline.compile_graph(gm, example_inputs)

    try:
        with settings.options(modes.chosen(mode, options)):
            return cached(gm, "captured", build, _compile_core)
    except CompilerMissing as e:
        errors.warn_once(f"{e}. Until then compiled functions run eager.")
        return gm
    except DeviceCompileError as e:
        errors.warn_once(f"a kernel for the device was not compiled, and its function runs eager: {e}")
        return gm


def _no_cuda() -> str | None:
    from inductor import cuda

    return cuda.why_not()


def devices_of(val: Any) -> set[str]:
    """The types of the devices on which lies what a node gives."""
    if isinstance(val, (tuple, list)):
        return set().union(*map(devices_of, val))
    return {val.device.type} if hasattr(val, "device") else set()


def _compile_core(graph: Any) -> Callable[..., tuple]:
    from inductor import compile as pipeline

    return pipeline.compile_core(graph)
