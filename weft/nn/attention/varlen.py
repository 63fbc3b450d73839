"""Attention of sequences that lie one behind the other in one tensor."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import aten
from aten import Tensor

__all__ = ["AuxRequest", "varlen_attn"]


class AuxRequest(NamedTuple):
    """What `varlen_attn` gives besides: the logarithms of the sums."""

    lse: bool = False


def varlen_attn(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cu_seq_q: Tensor,
    cu_seq_k: Tensor | None,
    max_q: int,
    max_k: int,
    *,
    return_aux: AuxRequest | None = None,
    scale: float | None = None,
    window_size: tuple[int, int] = (-1, -1),
    enable_gqa: bool = False,
) -> Any:
    """Attention within each of N sequences: number n has the queries from cu_seq_q[n] to cu_seq_q[n + 1], keys likewise.

    query (T, Hq, E), key and value (S, Hkv, E), cu_seq_q and cu_seq_k int (N + 1,) → (T, Hq, E), with `return_aux` also the
    logarithms of the sums (Hq, T). window_size: how many keys before and after its own place (counted from the sequence's end) a
    query sees, -1 for all; (-1, 0) is causal. One product over all, masked, so that it compiles whatever the lengths are.
    Raises ValueError for other dims.
    """
    for name, t in (("query", query), ("key", key), ("value", value)):
        if t.dim() != 3:
            raise ValueError(f"varlen_attn: {name} has 3 dims (tokens, heads, size), not {t.dim()}")
    if query.shape[1] != key.shape[1]:
        if not enable_gqa or query.shape[1] % key.shape[1]:
            raise ValueError(f"varlen_attn: {query.shape[1]} heads of queries, {key.shape[1]} of keys (enable_gqa takes multiples)")
        times = query.shape[1] // key.shape[1]
        key, value = key.repeat_interleave(times, 1), value.repeat_interleave(times, 1)
    ends_q, ends_k = cu_seq_q, cu_seq_q if cu_seq_k is None else cu_seq_k
    at_q, at_k = aten.arange(query.shape[0], device=query.device), aten.arange(key.shape[0], device=key.device)
    of_q = aten.searchsorted(ends_q.to(dtype=aten.int64)[1:].contiguous(), at_q, right=True)
    of_k = aten.searchsorted(ends_k.to(dtype=aten.int64)[1:].contiguous(), at_k, right=True)
    seen = of_q[:, None] == of_k[None, :]
    # places are counted from the ends of the sequences, which meet
    last_q, last_k = ends_q[1:][of_q.clamp(max=len(ends_q) - 2)], ends_k[1:][of_k.clamp(max=len(ends_k) - 2)]
    distance = (at_k - last_k)[None, :] - (at_q - last_q)[:, None]
    before, after = window_size
    if before >= 0:
        seen = seen & (distance >= -before)
    if after >= 0:
        seen = seen & (distance <= after)
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    heads = [t.transpose(0, 1) for t in (query, key, value)]
    scores = (heads[0] @ heads[1].transpose(-2, -1)).to(dtype=aten.promote_types(query.dtype, aten.float32)) * scale
    scores = aten.where(seen, scores, -math.inf)
    some = seen.any(dim=-1, keepdim=True)
    weights = aten.where(some, aten.softmax(aten.where(some, scores, 0.0), -1), 0.0).to(dtype=value.dtype)
    out = (weights @ heads[2]).transpose(0, 1).contiguous()
    return (out, aten.logsumexp(scores, -1)) if return_aux is not None and return_aux.lse else out
