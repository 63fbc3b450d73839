"""Where PyTorch keeps make_fx, the symbols of sizes and their settings."""

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    if name in ("_config", "proxy_tensor", "symbolic_shapes"):
        return importlib.import_module(f"aten.fx.experimental.{name}")
    raise AttributeError(f"module 'aten.fx.experimental' has no attribute {name!r}")
