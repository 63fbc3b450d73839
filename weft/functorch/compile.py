"""Compiling by compilers of core graphs, and compilers to look at what they get."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten.aot import core_decompositions as default_decompositions
from weft._functorch import config
from weft._functorch.aot_autograd import (
    aot_function,
    aot_module,
    aot_module_simplified,
    make_boxed_compiler,
    make_boxed_func,
)
from weft._functorch.partitioners import min_cut_rematerialization_partition

__all__ = [
    "aot_function", "aot_module", "aot_module_simplified", "config", "default_decompositions", "make_boxed_compiler",
    "make_boxed_func", "memory_efficient_fusion", "min_cut_rematerialization_partition", "nop", "print_compile",
]  # fmt: skip


def nop(fx_g: Any, _: Any) -> Callable:
    """A compiler that leaves a graph as it is."""
    return fx_g


def print_compile(fx_g: Any, _: Any) -> Callable:
    """A compiler that prints the graph, and leaves it as it is."""
    print(fx_g.code)
    return fx_g


def memory_efficient_fusion(fn: Any, **kwargs: Any) -> Any:
    """`fn` compiled by the default backend, forward and backward."""
    from weft import compilation  # (the backend loads when it is asked for)

    return compilation.compile(fn, fullgraph=True, dynamic=False, **kwargs)
