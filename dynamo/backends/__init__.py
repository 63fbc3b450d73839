"""Backends: `backend(gm, example_inputs) -> callable(*inputs) -> tuple`, by name."""

from __future__ import annotations

from dynamo.backends.debugging import aot_eager, eager
from dynamo.backends.registry import list_backends, lookup_backend, names, register_backend

__all__ = ["aot_eager", "eager", "list_backends", "lookup_backend", "names", "register_backend"]
