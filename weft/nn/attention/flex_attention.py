"""flex_attention: attention whose scores are changed, and masked, by functions of single scores and their places.

Scores exist as a matrix here, and the functions run over it by vmap; a BlockMask says which blocks of it are not all masked.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import aten
from aten import Tensor
from aten.transforms import vmap

__all__ = [
    "AuxOutput", "AuxRequest", "BlockMask", "and_masks", "create_block_mask", "create_mask", "flex_attention", "noop_mask",
    "or_masks",
]  # fmt: skip
_DEFAULT_SPARSE_BLOCK_SIZE = 128


class AuxRequest(NamedTuple):
    """What `flex_attention` gives besides: the logarithms of the sums, the greatest scores."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """(B, Hq, L) each, or None for what was not asked for."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


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


def _seen_of(counts: Any, indices: Tensor) -> Tensor:
    """bool (B, H, rows, columns): which blocks the first `counts` of `indices` name."""
    named = aten.arange(indices.shape[-1], device=indices.device) < counts.unsqueeze(-1)
    return aten.zeros_like(indices, dtype=aten.bool).scatter_reduce(-1, indices.to(dtype=aten.int64), named, "amax")


def _columns(seen: Tensor) -> tuple[Tensor, Tensor]:
    """(how many rows each column of blocks is seen by, their numbers)"""
    by_column = seen.transpose(-2, -1).to(dtype=aten.int32)
    return by_column.sum(-1).to(dtype=aten.int32), aten.argsort(by_column, -1, True, stable=True).to(dtype=aten.int32)


class BlockMask:
    """A mask_mod with its sizes, and which blocks of it let anything be seen."""

    def __init__(self, mask_mod: Callable, seq_lengths: tuple[int, int], block_size: tuple[int, int], seen: Tensor) -> None:
        self.mask_mod, self.seq_lengths, self.BLOCK_SIZE = mask_mod, seq_lengths, block_size
        self.full_kv_num_blocks: Tensor | None = None
        self.full_kv_indices: Tensor | None = None
        self._seen = seen  # bool (B, H, blocks of queries, blocks of keys)
        self.kv_num_blocks = seen.sum(-1).to(dtype=aten.int32)
        self.kv_indices = aten.argsort(seen.to(dtype=aten.int32), -1, True, stable=True).to(dtype=aten.int32)

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
        mask_mod: Callable | None = None,
        seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
    ) -> BlockMask:
        """The mask whose rows of blocks see the first kv_num_blocks (B, H, rows) of kv_indices (B, H, rows, columns).

        In those mask_mod says what is seen, and in the full ones everything is. Raises RuntimeError for fewer than 2 dims.
        """
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        block = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
        part = _seen_of(kv_num_blocks, kv_indices)
        full = aten.zeros_like(part) if full_kv_indices is None else _seen_of(full_kv_num_blocks, full_kv_indices)
        lengths = seq_lengths or (part.shape[-2] * block[0], part.shape[-1] * block[1])
        inner = mask_mod or noop_mask

        def seen_by_blocks(b: Tensor, h: Tensor, q: Tensor, kv: Tensor) -> Tensor:
            i, j = q // block[0], kv // block[1]
            b, h = b.clamp(max=part.shape[0] - 1), h.clamp(max=part.shape[1] - 1)
            return full[b, h, i, j] | (part[b, h, i, j] & inner(b, h, q, kv))

        made = cls(seen_by_blocks, lengths, block, part | full)
        made.kv_num_blocks, made.kv_indices = kv_num_blocks, kv_indices
        made.full_kv_num_blocks, made.full_kv_indices = full_kv_num_blocks, full_kv_indices
        return made

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """Sizes, blocks by queries and by keys, block size and mask_mod, in PyTorch's order."""
        block = self.BLOCK_SIZE if flatten else (self.BLOCK_SIZE,)
        queries, full_queries = _columns(self._seen), None if self.full_kv_indices is None else _columns(self._seen)
        full = (None, None) if full_queries is None else full_queries
        return (
            *self.seq_lengths, self.kv_num_blocks, self.kv_indices, self.full_kv_num_blocks, self.full_kv_indices,
            *queries, *full, *block, self.mask_mod,
        )  # fmt: skip

    def to(self, device: Any) -> BlockMask:
        """The same on a device."""
        made = BlockMask(self.mask_mod, self.seq_lengths, self.BLOCK_SIZE, self._seen.to(device=device))
        for name in ("full_kv_num_blocks", "full_kv_indices"):
            value = getattr(self, name)
            setattr(made, name, None if value is None else value.to(device=device))
        return made

    def to_string(self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4) -> str:
        """A picture of every batch and head, up to `limit`: a block that is seen is dark, others are blank."""
        rows, columns = self._seen.shape[-2:]
        wanted = (rows, columns) if grid_size == -1 else (grid_size, grid_size) if isinstance(grid_size, int) else grid_size
        lines: list[str] = []
        for n, index in enumerate(itertools.product(*map(range, self._seen.shape[:-2]))):
            if n == limit:
                lines += [f"... {math.prod(self._seen.shape[:-2]) - limit} more"]
                break
            lines.append(f"{index}")
            seen = self._seen[index].to(dtype=aten.float32)
            steps = [max(-(-size // want), 1) for size, want in zip((rows, columns), wanted)]
            for i in range(0, rows, steps[0]):
                parts = [seen[i : i + steps[0], j : j + steps[1]].mean().item() for j in range(0, columns, steps[1])]
                lines.append("".join("██" if part == 1 else "░░" if part else "  " for part in parts))
        return "\n".join(lines)

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
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """softmax(mod(query @ key^T * scale)) @ value, with score_mod(score, b, h, q_idx, kv_idx) and the mask of `block_mask`.

    query (B, Hq, L, E), key (B, Hkv, S, E), value (B, Hkv, S, Ev) → (B, Hq, L, Ev), with `return_lse` also the logarithms of the
    sums (B, Hq, L), with `return_aux` an AuxOutput of what it asks for. enable_gqa: Hq is a multiple of Hkv. A query
    that sees nothing gets 0. Raises ValueError for other sizes.
    """
    if return_lse and return_aux is not None:
        raise ValueError("Cannot specify both return_lse and return_aux. return_lse is deprecated, please use return_aux instead.")
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
    if return_aux is not None:
        lse = aten.logsumexp(scores, -1) if return_aux.lse else None
        return out, AuxOutput(lse, scores.amax(-1).detach() if return_aux.max_scores else None)
    return (out, aten.logsumexp(scores, -1)) if return_lse else out
