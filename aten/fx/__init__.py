"""The graph IR: graphs of ops, their text, interpreters and passes. `weft.fx` is this module."""

import importlib
import sys

_WHERE = {
    "Graph": "graph", "Node": "node", "UserLine": "node", "map_arg": "node", "GraphModule": "graph_module",
    "Interpreter": "interpreter", "parse": "reader", "rewrite": "pattern", "ANY": "pattern",
    "symbolic_trace": "tracing", "Proxy": "tracing", "Tracer": "tracing", "TraceError": "tracing",
    "replace_pattern": "subgraph_rewriter", "Transformer": "tracing", "ProxyableClassMeta": "tracing", "wrap": "wrapped",
}  # fmt: skip
_MODULES = frozenset({
    "_symbolic_trace", "experimental", "graph", "graph_module", "immutable_collections", "interpreter", "node", "passes", "proxy",
    "subgraph_rewriter", "traceback",
})  # fmt: skip
__all__ = list(_WHERE)


def __getattr__(name: str):
    if name in _MODULES:
        return importlib.import_module(f"aten.fx.{name}")
    if name not in _WHERE:
        raise AttributeError(f"module 'aten.fx' has no attribute {name!r}")
    where = f"aten.fx.{_WHERE[name]}"
    if name == "GraphModule" and "weft" in sys.modules:
        where = "weft.graph_modules"  # where it is a Module too
    value = globals()[name] = getattr(importlib.import_module(where), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *_WHERE})
