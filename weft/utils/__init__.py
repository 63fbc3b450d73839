"""Helpers around training: each part is loaded when it is first named."""

import importlib

_PARTS = frozenset({"_foreach_utils", "_pytree", "checkpoint", "data"})


def __getattr__(name: str):
    if name in _PARTS:
        return importlib.import_module(f"weft.utils.{name}")
    raise AttributeError(f"module 'weft.utils' has no attribute {name!r}")
