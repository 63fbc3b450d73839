"""Python bytecode → graphs and guards. Also what users reach as `weft._dynamo`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "mark_dynamic": "dynamo.marks",
    "maybe_mark_dynamic": "dynamo.marks",
    "mark_static": "dynamo.marks",
    "graph_break": "dynamo.user_break",
    "reset": "dynamo.eval_frame",
    "Unsupported": "dynamo.breaks",
    "counters": "dynamo.convert_frame",
}
_PARTS = frozenset({"backends", "breaks", "config", "guards", "source", "outcome"})


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        value = import_module(f"dynamo.{name}")
    elif name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    else:
        raise AttributeError(f"module 'dynamo' has no attribute '{name}'")
    globals()[name] = value
    return value
