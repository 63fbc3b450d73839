"""Tracing with proxies, under the name that PyTorch has for the file."""

from aten.fx.proxy import Proxy, TraceError
from aten.fx.tracing import ProxyableClassMeta, Tracer, symbolic_trace
from aten.fx.wrapped import wrap

__all__ = ["Proxy", "ProxyableClassMeta", "TraceError", "Tracer", "symbolic_trace", "wrap"]
