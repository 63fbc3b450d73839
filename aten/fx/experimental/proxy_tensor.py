"""make_fx under PyTorch's name and signature."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten.fx.graph_module import GraphModule
from aten.transforms.trace import make_fx as _make_fx

__all__ = ["make_fx"]


def make_fx(
    f: Callable, decomposition_table: dict[Any, Callable] | None = None, tracing_mode: str = "real"
) -> Callable[..., GraphModule]:
    """make_fx(f)(*args): tracing_mode "real" and "fake" take the sizes as they are, "symbolic" makes symbols of them."""
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise AssertionError(f"Unexpected tracing type: {tracing_mode}")
    return _make_fx(f, decomposition_table, symbolic=tracing_mode == "symbolic")
