"""Helpers around training."""

import importlib


def __getattr__(name: str):
    if name == "checkpoint":
        return importlib.import_module("weft.utils.checkpoint")
    raise AttributeError(f"module 'weft.utils' has no attribute {name!r}")
