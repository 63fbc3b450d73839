"""weft.fft: the ops of aten whose names start with `fft_`."""
from typing import Any

import aten


def __getattr__(name: str) -> Any:
    op = aten.registry.get(f"fft_{name}")
    if op is None:
        raise AttributeError(f"module 'weft.fft' has no attribute '{name}'")
    globals()[name] = op
    return op
