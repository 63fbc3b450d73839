"""weft.special: the ops of aten whose names start with `special_`."""
from typing import Any

import aten


def __getattr__(name: str) -> Any:
    op = aten.registry.get(f"special_{name}")
    if op is None:
        raise AttributeError(f"module 'weft.special' has no attribute '{name}'")
    globals()[name] = op
    return op
