"""weft.linalg: the ops of aten whose names start with `linalg_`."""
from typing import Any

import aten


def __getattr__(name: str) -> Any:
    op = aten.registry.get(f"linalg_{name}")
    if op is None:
        raise AttributeError(f"module 'weft.linalg' has no attribute '{name}'")
    globals()[name] = op
    return op
