"""Which ops aot records in smaller ones."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from aten.op import Op, registry

# What fuses as it is.
WHOLE = ("gelu", "eye", "empty")


def core_decompositions(keep: Collection[str] = WHOLE) -> dict[Op, Callable[..., Any]]:
    """{op: its decomposition} for every op that has one, except those named in `keep`."""
    found = {op: decomposition_of(op) for name, op in registry.items() if name not in keep}
    return {op: fn for op, fn in found.items() if fn is not None}


def decomposition_of(op: Op) -> Callable[..., Any] | None:
    """The decomposition of an op by `core_decompositions()`, None if it stays whole."""
    return op.decompose_fn if op.kind != "composite" and op.name not in WHOLE else None


class Decompositions(dict):
    """{op: its decomposition}, asked of `of` as ops are met: a table of all ops would load every family of them."""

    def __init__(self, of: Callable[[Op], Callable[..., Any] | None] = decomposition_of):
        self.of = of

    def __missing__(self, op: Op) -> Any:
        made = self[op] = self.of(op)
        return made

    def get(self, op: Op, default: Any = None) -> Any:
        return self[op]
