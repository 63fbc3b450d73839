"""Which ops aot records in smaller ones."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from aten.op import Op, registry

# What fuses as it is.
WHOLE = ("gelu", "eye", "empty")


def core_decompositions(keep: Collection[str] = WHOLE) -> dict[Op, Callable[..., Any]]:
    """{op: its decomposition} for every op that has one, except those named in `keep`."""
    found: dict[Op, Any] = {
        made: made.decompose_fn
        for name, made in registry.items()
        if made.decompose_fn is not None and made.kind != "composite" and name not in keep
    }
    return found
