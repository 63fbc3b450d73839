"""Functions and modules compiled by compilers of core graphs, their backward included: `aot_function` and its kin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aten.fx.graph_module import GraphModule
from dynamo.backends.common import AotAutograd
from dynamo.backends.partition import check_partition
from weft import compilation
from weft.nn.module import Module


def make_boxed_func(f: Callable) -> Callable:
    """f(*args) as a function of the list of its arguments, which compilers may return: `_boxed_call` says so."""

    def boxed(args: list) -> Any:
        return f(*args)

    boxed._boxed_call = True  # type: ignore[attr-defined]
    return boxed


def make_boxed_compiler(compiler: Callable) -> Callable:
    """A compiler whose results are boxed."""

    def boxed_compiler(fx_g: Any, inps: Sequence[Any]) -> Callable:
        return make_boxed_func(compiler(fx_g, inps))

    return boxed_compiler


def aot_function(
    fn: Callable,
    fw_compiler: Callable,
    bw_compiler: Callable | None = None,
    partition_fn: Callable | None = None,
    decompositions: dict | None = None,
    *,
    inference_compiler: Callable | None = None,
    keep_inference_input_mutations: bool = False,
    dynamic: bool | None = False,
) -> Callable:
    """`fn`, whose forward and backward are captured as core graphs, each compiled by its compiler(gm, metas) -> callable.

    bw_compiler, inference_compiler: fw_compiler by default. decompositions: {op: function}. partition_fn: which values
    forward saves for backward; only min_cut_rematerialization_partition is there. Graphs write their inputs at the end of
    a call, whatever keep_inference_input_mutations says. Raises Unsupported where fn cannot be captured whole.
    """
    check_partition(partition_fn)
    backend = AotAutograd(fw_compiler, bw_compiler, inference_compiler, decompositions)
    return compilation.compile(fn, fullgraph=True, dynamic=dynamic, backend=backend)


def aot_module(mod: Module, *args: Any, **kwargs: Any) -> Any:
    """aot_function of a Module: a Module with the same parameters."""
    if not isinstance(mod, Module):
        raise TypeError(f"aot_module takes a Module, not {type(mod).__name__}")
    return aot_function(mod, *args, **kwargs)  # type: ignore[arg-type]


def aot_module_simplified(
    mod: Any,
    args: Sequence[Any],
    fw_compiler: Callable,
    bw_compiler: Callable | None = None,
    partition_fn: Callable | None = None,
    decompositions: dict | None = None,
    keep_inference_input_mutations: bool = False,
    inference_compiler: Callable | None = None,
) -> Callable:
    """What a backend does with a graph: compiled(*inputs) -> tuple, for the graph and its example inputs.

    A GraphModule is compiled at once; a Module, whose parameters become inputs, at its first call. The rest is as in
    aot_function.
    """
    if not isinstance(mod, GraphModule):
        return aot_function(
            mod, fw_compiler, bw_compiler, partition_fn, decompositions, inference_compiler=inference_compiler, dynamic=None
        )
    check_partition(partition_fn)
    return AotAutograd(fw_compiler, bw_compiler, inference_compiler, decompositions)(mod, list(args))
