"""Modules whose functions are the ops of aten that have a prefix: `weft.linalg.norm` is `aten.linalg_norm`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import aten


def functions(module: str, prefix: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """(`__getattr__`, `__dir__`, `__all__`) of the module with this name."""
    short = (name.removeprefix(prefix) for name in aten.registry if name.startswith(prefix))
    names = sorted(name for name in short if name[0] != "_" and name[-1] != "_")

    def get(name: str) -> Any:
        op = aten.registry.get(prefix + name)
        if op is None:
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        setattr(sys.modules[module], name, op)
        return op

    return get, lambda: sorted({*vars(sys.modules[module]), *names}), names
