"""Captured graphs → core graphs, forward and backward → a callable under autograd."""

import importlib

_WHERE = {
    "compile": "pipeline", "checked": "pipeline", "graphs": "pipeline", "AotGraphs": "data", "Fresh": "data", "InputAlias": "data",
    "ViewOf": "data", "OutputView": "data", "Size": "data", "Constant": "data", "AotFunction": "runtime",
    "core_decompositions": "decompositions",
}  # fmt: skip
__all__ = list(_WHERE)


def __getattr__(name: str):
    if name not in _WHERE:
        raise AttributeError(f"module 'aten.aot' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"aten.aot.{_WHERE[name]}"), name)
    return value
