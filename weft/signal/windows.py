"""weft.signal.windows: the ops of aten whose names start with `signal_`."""
from typing import Any

import aten


def __getattr__(name: str) -> Any:
    op = aten.registry.get(f"signal_{name}")
    if op is None:
        raise AttributeError(f"module 'weft.signal.windows' has no attribute '{name}'")
    globals()[name] = op
    return op
