"""Halves that a nest only moves: as 16 bits, without the way through float32 (clone of [60,120,60] in 18 us instead of 27). Bools
that are made of bools: as bytes, without the way through lanes of 32 bits (not of 131070: 2.9 us instead of 6.1)."""

from __future__ import annotations

import numpy as np

from aten import dtype as dtypes
from aten.records import replaced
from inductor.ir import nodes
from inductor.ir.buffer import Buffer
from inductor.ir.loops import Nest, Stage, Store
from inductor.ir.nodes import HALF, Node

RAW = {**dict.fromkeys(HALF, "int16"), "bool": "uint8"}  # as which they are moved
OF_BOOLS = {  # functions of bools in those of their bytes, 0 or 1; "~": and then the other of the two
    **{f"{kind}_{name}": f"bitwise_{name}" for kind in ("bitwise", "logical") for name in ("and", "or", "xor")},
    **{"ne": "bitwise_xor", "eq": "~bitwise_xor", "bitwise_not": "~", "logical_not": "~"},
}


def as_moves(nest: Nest, buffers: dict[str, Buffer]) -> tuple[Nest, str] | None:
    """The nest over the bits of halves or bools, and of which, if moving them is all that it does; else None."""
    stores = [s for s in nest.statements if isinstance(s, Store)]
    if nest.reduced or len(stores) != len(nest.statements):
        return None
    halves = {s.dtype for s in stores}
    if len(halves) != 1 or not halves <= RAW.keys():
        return None
    (half,) = halves
    memo: dict[Node, Node | None] = {}
    values = [_bits(s.value, half, buffers, memo) for s in stores]
    if any(v is None for v in values):
        return None
    rest = iter([replaced(s, value=v, dtype=RAW[half]) for s, v in zip(stores, values)])
    return Nest(nest.dims, tuple(Stage(s.inner, tuple(next(rest) for _ in s.body)) for s in nest.stages)), half


def _bits(n: Node, half: str, buffers: dict[str, Buffer], memo: dict[Node, Node | None]) -> Node | None:
    """The bits of a value, if it is a choice among elements in memory and numbers."""
    if n not in memo:
        memo[n] = _made(n, half, buffers, memo)
    return memo[n]


def _made(n: Node, half: str, buffers: dict[str, Buffer], memo: dict[Node, Node | None]) -> Node | None:
    raw = RAW[half]
    if n.kind == "load":
        plain = buffers[n.buffer].dtype == half and not _reads(half, n.args, buffers)
        return nodes.load(n.buffer, n.index, raw, n.args) if plain else None
    if n.kind == "const":
        with np.errstate(over="ignore"):  # (a number may be too large for a half)
            number = np.array(n.value, getattr(dtypes, half).to_numpy())
        return nodes.const(int(number.view(raw)), raw)
    if half == "bool" and n.kind == "call" and n.name in OF_BOOLS and all(a.dtype == "bool" for a in n.args):
        operands = tuple(_bits(a, half, buffers, memo) for a in n.args)
        if None in operands:
            return None
        name, one = OF_BOOLS[n.name], nodes.const(1, raw)
        made = [a.kind == "const" or (a.kind == "call" and a.name in OF_BOOLS) for a in n.args]  # else a byte in memory may be any
        operands = tuple(b if plain else nodes.call("minimum", (b, one), raw) for b, plain in zip(operands, made))
        result = nodes.call(name.strip("~"), operands, raw) if len(operands) == 2 else operands[0]
        return nodes.call("bitwise_xor", (result, one), raw) if name[0] == "~" else result
    if n.kind != "masked" and not (n.kind == "call" and n.name == "where"):
        return None
    condition, *rest = n.args
    bits = [_bits(a, half, buffers, memo) for a in rest]
    if None in bits or _reads(half, (condition,), buffers):
        return None
    return nodes.masked(condition, *bits) if n.kind == "masked" else nodes.call("where", (condition, *bits), raw)


def _reads(half: str, values: tuple[Node, ...], buffers: dict[str, Buffer]) -> bool:
    """Whether values are made of what is moved."""
    return any(buffers[x.buffer].dtype in (HALF if half in HALF else (half,)) for x in nodes.loads(list(values)))
