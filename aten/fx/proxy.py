"""What stands for values while a function is traced, under the name that PyTorch has for the file."""

from __future__ import annotations

from aten.fx.graph import Graph
from aten.fx.tracing import Attribute, Proxy, TraceError, Tracer

TracerBase = Tracer
__all__ = ["Attribute", "GraphAppendingTracer", "Proxy", "TraceError", "TracerBase"]


class GraphAppendingTracer(Tracer):
    """Records what is done with its Proxies into a graph that there is: `Proxy(graph.placeholder("x"), tracer)`."""

    def __init__(self, graph: Graph):
        super().__init__()
        self.graph = graph
