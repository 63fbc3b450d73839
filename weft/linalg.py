"""Linear algebra under PyTorch's names: `linalg.norm` is the op `aten.linalg_norm`."""

from typing import Any

import aten
from aten.errors import LinAlgError


def __getattr__(name: str) -> Any:
    op = aten.registry.get(f"linalg_{name}")
    if op is None:
        raise AttributeError(f"module 'weft.linalg' has no attribute '{name}'")
    globals()[name] = op
    return op


__all__ = ["LinAlgError"]
