"""Special functions under PyTorch's names: `special.entr` is the op `aten.special_entr`."""

from typing import Any

import aten

__all__ = sorted(name.removeprefix("special_") for name in aten.registry if name.startswith("special_") and name[-1] != "_")


def __getattr__(name: str) -> Any:
    op = aten.registry.get(f"special_{name}")
    if op is None:
        raise AttributeError(f"module 'weft.special' has no attribute '{name}'")
    globals()[name] = op
    return op
