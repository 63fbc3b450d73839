"""flex_attention: attention whose scores are changed, and masked, by functions of single scores and their places.

Scores exist as a matrix here, and the functions run over it by vmap; a BlockMask says which blocks of it are not all masked.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import aten
from aten import Tensor
from aten.transforms import vmap

__all__ = ["BlockMask", "and_masks", "create_block_mask", "create_mask", "flex_attention", "noop_mask", "or_masks"]
_DEFAULT_SPARSE_BLOCK_SIZE = 128


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """Every query sees every key."""
    return batch.new_ones((), dtype=aten.bool)


_noop_mask = noop_mask


def _combined(masks: tuple[Callable, ...], start: bool, join: Callable) -> Callable:
    if not all(callable(m) for m in masks):
        raise RuntimeError(f"All inputs should be callable mask_mods: {masks}")

    def mask_mod(b: Tensor, h: Tensor, q: Tensor, kv: Tensor) -> Tensor:
        result = b.new_full((), start, dtype=aten.bool)
        for mask in masks:
            result = join(result, mask(b, h, q, kv))
        return result

    return mask_mod


def and_masks(*mask_mods: Callable) -> Callable:
    """What all of them let see."""
    return _combined(mask_mods, True, lambda a, b: a & b)


def or_masks(*mask_mods: Callable) -> Callable:
    """What any of them lets see."""
    return _combined(mask_mods, False, lambda a, b: a | b)


def _everywhere(fn: Callable, with_score: bool) -> Callable:
    """fn([score], b, h, q, kv) for all scores and places at once."""
    score = (0,) if with_score else ()
    for places in ((None, None, None, 0), (None, None, 0, None), (None, 0, None, None), (0, None, None, None)):
        fn = vmap(fn, in_dims=score + places)
    return fn


def _places(b: int, h: int, q: int, kv: int, device: Any) -> tuple[Tensor, ...]:
    return tuple(aten.arange(n, device=device) for n in (b, h, q, kv))


def create_mask(
    mod_fn: Callable, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = "cpu"
) -> Tensor:
    """The bool mask (B, H, Q_LEN, KV_LEN) of mask_mod(b, h, q_idx, kv_idx)."""
    made = _everywhere(mod_fn, False)(*_places(B or 1, H or 1, Q_LEN, KV_LEN, device))
    return made.expand(B or 1, H or 1, Q_LEN, KV_LEN)


class BlockMask:
    """A mask_mod with its sizes, and which blocks of it let anything be seen."""

    def __init__(self, mask_mod: Callable, seq_lengths: tuple[int, int], block_size: tuple[int, int], seen: Tensor) -> None:
        self.mask_mod, self.seq_lengths, self.BLOCK_SIZE = mask_mod, seq_lengths, block_size
        self._seen = seen  # bool (B, H, blocks of queries, blocks of keys)
        self.kv_num_blocks = seen.sum(-1).to(dtype=aten.int32)
        self.kv_indices = aten.argsort(seen.to(dtype=aten.int32), -1, True, stable=True).to(dtype=aten.int32)

    @property
    def shape(self) -> tuple[int, ...]:
        return (*self._seen.shape[:2], *self.seq_lengths)

    def numel(self) -> int:
        return math.prod(self.shape)

    def to_dense(self) -> Tensor:
        """Which blocks let anything be seen: int32 (B, H, blocks of queries, blocks of keys)."""
        return self._seen.to(dtype=aten.int32)

    def sparsity(self) -> float:
        """The percentage of scores in blocks of which nothing is seen."""
        return 100 * (1 - self._seen.to(dtype=aten.float32).mean().item())

    def __repr__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%)"


def create_block_mask(
    mask_mod: Callable,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = "cpu",
    BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
    _compile: bool = False,
) -> BlockMask:
    """The BlockMask of mask_mod(b, h, q_idx, kv_idx); B or H None: the same for all."""
    block = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    rows, columns = (-(-n // size) for n, size in zip((Q_LEN, KV_LEN), block))
    padded = aten.zeros(*mask.shape[:2], rows * block[0], columns * block[1], dtype=aten.bool, device=device)
    padded[..., :Q_LEN, :KV_LEN] = mask
    seen = padded.reshape(*mask.shape[:2], rows, block[0], columns, block[1]).any(dim=-1).any(dim=-2)
    return BlockMask(mask_mod, (Q_LEN, KV_LEN), block, seen)


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Callable | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: dict[str, Any] | None = None,
) -> Any:
    """softmax(mod(query @ key^T * scale)) @ value, with score_mod(score, b, h, q_idx, kv_idx) and the mask of `block_mask`.

    query (B, Hq, L, E), key (B, Hkv, S, E), value (B, Hkv, S, Ev) → (B, Hq, L, Ev), with `return_lse` also the logarithms of the
    sums (B, Hq, L). enable_gqa: Hq is a multiple of Hkv. A query that sees nothing gets 0. Raises ValueError for other sizes.
    """
    for name, t in (("query", query), ("key", key), ("value", value)):
        if t.dim() != 4:
            raise ValueError(f"flex_attention: {name} has 4 dims (batch, heads, length, size), not {t.dim()}")
    if query.shape[1] != key.shape[1]:
        if not enable_gqa:
            raise ValueError(
                f"Expect query and key/value to have the same number of heads but got Hq={query.shape[1]} and Hkv={key.shape[1]}. "
                "Try setting enable_gqa=True for GQA."
            )
        if query.shape[1] % key.shape[1]:
            raise ValueError(
                f"Expect number of query heads to be a multiple of kv heads for GQA but got Hq={query.shape[1]} and "
                f"Hkv={key.shape[1]}."
            )
        times = query.shape[1] // key.shape[1]
        key, value = key.repeat_interleave(times, 1), value.repeat_interleave(times, 1)
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = (query @ key.transpose(-2, -1)).to(dtype=aten.promote_types(query.dtype, aten.float32)) * scale
    batch, heads, n_q, n_kv = scores.shape
    places = _places(batch, heads, n_q, n_kv, query.device)
    if score_mod is not None:
        scores = _everywhere(score_mod, True)(scores, *places)
    if block_mask is not None:
        mask = _everywhere(block_mask.mask_mod, False)(*(p[:n] for p, n in zip(places, (*block_mask.shape[:2], *scores.shape[2:]))))
        scores = aten.where(mask, scores, -math.inf)
    seen = (scores != -math.inf).any(dim=-1, keepdim=True)
    weights = aten.where(seen, aten.softmax(aten.where(seen, scores, 0.0), -1), 0.0).to(dtype=value.dtype)
    out = weights @ value
    return (out, aten.logsumexp(scores, -1)) if return_lse else out
