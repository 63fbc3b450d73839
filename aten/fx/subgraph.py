"""The graph of a function that an op calls, as the op's argument."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from aten.fx.graph_module import GraphModule

_numbers = itertools.count(1)
_known: dict[str, SubGraph] = {}  # compiled Programs, which are data, name them


class SubGraph:
    """A core graph, called with all operands of the op: it takes those at `takes`. `run`: what a call of it calls."""

    def __init__(self, module: GraphModule, takes: list[int]):
        self.module, self.takes = module, takes
        self.run: Callable = module.forward
        self.name = f"graph{next(_numbers)}"

    def __call__(self, *operands: Any) -> tuple:
        return tuple(self.run(*[operands[i] for i in self.takes]))

    def named(self) -> str:
        """A name that `function_of` knows."""
        _known[self.name] = self
        return self.name


def function_of(f: Any) -> Callable:
    """The function itself, or the SubGraph of that name."""
    return _known[f] if isinstance(f, str) else f


__all__ = ["SubGraph", "function_of"]
