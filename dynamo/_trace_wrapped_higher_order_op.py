"""Where programs written for PyTorch find TransformGetItemToIndex."""

from __future__ import annotations

from typing import Any

__all__ = ["TransformGetItemToIndex"]


class TransformGetItemToIndex:
    """A block in which `x[i]` by a tensor is an op, also under vmap. It always is: nothing is changed."""

    def __enter__(self) -> TransformGetItemToIndex:
        return self

    def __exit__(self, *exc: Any) -> None:
        pass
