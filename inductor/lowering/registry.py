"""Which function lowers which op."""

from __future__ import annotations

import importlib
from collections.abc import Callable

table: dict[str, Callable] = {}


class NotLowered(Exception):
    """This call of the op has no loops: the op itself runs as a step."""


def lowering(*names: str):
    """Declare `fn(graph, *args, **kwargs) -> Value | tuple` as the lowering of the ops `names`.

    `graph` is the GraphLowering; args are the node's, with Values for tensors and Exprs or numbers for sizes.
    `graph.out` is the Meta (or tuple of Metas) of the result. Raising NotLowered leaves the call to the op's own
    kernel.
    """

    def declare(fn: Callable) -> Callable:
        for name in names:
            table[name] = fn
        return fn

    return declare


def load_all() -> dict[str, Callable]:
    """The table, with every family imported."""
    families = "attention complex creation indexing matmul pointwise random reduction scan scatter_reduce sorting structure view"
    for family in families.split():
        importlib.import_module(f"inductor.lowering.{family}")
    return table
