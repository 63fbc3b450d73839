"""PyTorch's reference implementations: each op of weft states once what it means, so they are the ops themselves."""

from __future__ import annotations

import importlib
from typing import Any

import aten

_PARTS = frozenset({"fft", "linalg", "nn", "special"})


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        value = importlib.import_module(f"weft._refs.{name}" if name == "nn" else f"weft.{name}")
    else:
        value = aten.registry.get(name)
        if value is None:
            raise AttributeError(f"module 'weft._refs' has no attribute '{name}'")
    globals()[name] = value
    return value
