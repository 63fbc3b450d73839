"""How `functional.linear_cross_entropy` works in pieces of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import aten

_POLICIES = ("auto", "accurate", "balanced", "compact")


@dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """How many rows of logits exist at a time: `batch_chunk_size`, or as `chunking_method` says.

    "aspect_ratio:N" (N >= 1, 1 if left out) takes the power of two at which the logits of a piece are as large as the input,
    divided by N; "auto" is "aspect_ratio:2". `acc_policy`, `acc_dtype` and `allow_retain_graph` are checked and otherwise
    without effect: sums are always taken in float32 at least, and the backward pass may run again. Raises ValueError.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None

    def __post_init__(self) -> None:
        if self.acc_policy not in _POLICIES:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.chunking_method not in (None, "auto"):
            name, colon, factor = str(self.chunking_method).partition(":")
            factor = factor if colon else "1"
            if name != "aspect_ratio" or not factor.isdigit() or int(factor) == 0:
                raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        if self.acc_dtype not in (None, aten.float16, aten.bfloat16, aten.float32, aten.float64):
            raise ValueError(
                "acc_dtype must be one of {None, torch.float16, torch.bfloat16, torch.float32, torch.float64}, got "
                f"{self.acc_dtype!r}. Pass acc_dtype=None to let the op pick automatically."
            )

    def rows(self, batches: int, in_features: int, classes: int) -> int:
        """The rows of a piece. Raises ValueError if size and method are both given and disagree."""
        method = self.chunking_method
        if method == "auto":
            method = "aspect_ratio:2" if self.batch_chunk_size is None else None
        if method is None:
            return max(1, batches if self.batch_chunk_size is None else min(self.batch_chunk_size, batches))
        factor = int(method.partition(":")[2] or 1)
        wide = -(-classes // max(in_features, 1))
        target = -(-batches // max(wide, 1))
        chosen = min((1 << (target - 1).bit_length()) // factor if target > 0 else 1, batches)
        if self.batch_chunk_size is not None and self.batch_chunk_size != chosen:
            raise ValueError(
                f"batch_chunk_size (={self.batch_chunk_size}) and chunking_method ('{method}') give different chunk sizes "
                f"({self.batch_chunk_size} vs {chosen}); pass only one."
            )
        return max(1, chosen)


__all__ = ["LinearCrossEntropyOptions"]
