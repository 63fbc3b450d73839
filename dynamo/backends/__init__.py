"""Backends: `backend(gm, example_inputs) -> callable(*inputs) -> tuple`, by name."""

from __future__ import annotations

from typing import Any

from dynamo.backends.registry import list_backends, lookup_backend, names, register_backend


def __getattr__(name: str) -> Any:
    if name not in ("aot_eager", "eager"):
        raise AttributeError(f"module 'dynamo.backends' has no attribute {name!r}")
    return lookup_backend(name)



__all__ = ["aot_eager", "eager", "list_backends", "lookup_backend", "names", "register_backend"]
