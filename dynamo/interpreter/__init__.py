"""Symbolic execution of bytecode: `trace_frame` captures one frame."""

from __future__ import annotations

from aten.collection import lasting_imports


def __getattr__(name: str):
    if name in ("trace_frame", "Options"):
        with lasting_imports():
            from dynamo.interpreter import trace

        value = globals()[name] = getattr(trace, name)
        return value
    raise AttributeError(f"module 'dynamo.interpreter' has no attribute '{name}'")
