"""What stands for values while a function is traced, under the name that PyTorch has for the file."""

from aten.fx.tracing import Attribute, GraphAppendingTracer, Proxy, TraceError, Tracer

TracerBase = Tracer
__all__ = ["Attribute", "GraphAppendingTracer", "Proxy", "TraceError", "TracerBase"]
