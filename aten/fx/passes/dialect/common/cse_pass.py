"""One node for computations that are the same."""

from __future__ import annotations

from typing import Any

from aten.fx.cleanup import cse
from aten.fx.graph_module import GraphModule
from aten.fx.passes.infra.pass_base import PassBase, PassResult


class CSEPass(PassBase):
    """Nodes that compute what another computes give way to it. Random ops and writes stay."""

    def call(self, graph_module: GraphModule) -> Any:
        before = len(graph_module.graph.nodes)
        cse(graph_module.graph)
        graph_module.graph.eliminate_dead_code()
        graph_module.recompile()
        return PassResult(graph_module, len(graph_module.graph.nodes) != before)


__all__ = ["CSEPass"]
