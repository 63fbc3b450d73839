"""Masks of causal attention for queries and keys of different number: aligned at the first or at the last key."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import aten
from aten import Tensor, _native

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(IntEnum):
    """Where the diagonal of a mask (queries, keys) starts: at its first row and column, or so that it ends at the last."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2

    def __repr__(self) -> str:
        return f"<CausalVariant.{self.name}: {self.value}>"


class CausalBias(Tensor):
    """A mask for `scaled_dot_product_attention(attn_mask=…)`: bool (seq_len_q, seq_len_kv), True where a query sees a key."""

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> CausalBias:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        shift = 0 if variant is CausalVariant.UPPER_LEFT else seq_len_kv - seq_len_q
        mask = aten.ones(seq_len_q, seq_len_kv, dtype=aten.bool).tril(shift)
        return _native.make_subclass(cls, mask, False)

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        self.variant, self.seq_len_q, self.seq_len_kv = variant, seq_len_q, seq_len_kv

    def __repr__(self) -> str:  # type: ignore[override]
        return repr(self._materialize().as_subclass(Tensor))

    def _materialize(self, device: Any = None) -> Tensor:
        """The mask as a plain tensor."""
        return self.as_strided(self.shape, self.stride()).clone().to(device=device or self.device)


def _lengths(size: Any) -> tuple[int, int]:
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = size[0]
    if len(size) != 2:
        raise RuntimeError(f"a causal mask has 2 sizes (queries, keys), not {len(size)}")
    return size[0], size[1]


def causal_upper_left(*size: int) -> CausalBias:
    """Query i sees keys 0 … i. size: (queries, keys)."""
    return CausalBias(CausalVariant.UPPER_LEFT, *_lengths(size))


def causal_lower_right(*size: int) -> CausalBias:
    """The last query sees all keys, each query before it one less. size: (queries, keys)."""
    return CausalBias(CausalVariant.LOWER_RIGHT, *_lengths(size))
