"""A pass over a GraphModule."""

from __future__ import annotations

import abc
from typing import Any, NamedTuple


class PassResult(NamedTuple):
    """What a pass gives: the GraphModule, and whether it was changed."""

    graph_module: Any
    modified: bool


class PassBase(abc.ABC):
    """`requires(module)`, then `call(module)`, then `ensures(module)`; the checks raise for a graph that is not as they ask."""

    def __call__(self, graph_module: Any) -> PassResult | None:
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module: Any) -> PassResult | None:
        """The pass itself."""

    def requires(self, graph_module: Any) -> None:  # noqa: B027 (a pass need not check)
        """What must hold before it."""

    def ensures(self, graph_module: Any) -> None:  # noqa: B027 (the same)
        """What holds behind it."""


__all__ = ["PassBase", "PassResult"]
