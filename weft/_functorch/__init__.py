"""Differentiation of whole graphs ahead of time, under the names that PyTorch's tools use."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if name in ("aot_autograd", "config", "partitioners"):
        return import_module(f"weft._functorch.{name}")
    raise AttributeError(f"module 'weft._functorch' has no attribute {name!r}")
