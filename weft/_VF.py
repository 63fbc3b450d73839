"""The functions behind those of `nn.functional` and of recurrent modules, by name: ops as they are."""

from typing import Any

import aten


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'weft._VF' has no attribute {name!r}")
    return getattr(aten, name)
