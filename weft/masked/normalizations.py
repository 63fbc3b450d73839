"""Operations along a dim in which the elements where a mask is False take no part.

What they give at those places is of no meaning. All take `mask`, broadcastable to the input, and `dtype`, that of the result.
"""

from __future__ import annotations

from typing import Any

import aten
from aten import Tensor
from weft.masked.mask import dims_of, filled
from weft.masked.reductions import norm


def _along(name: str, identity: str, doc: str) -> Any:
    op = getattr(aten, name)

    def normalization(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
        (along,) = dims_of(dim, max(input.ndim, 1))
        return op(filled(input, mask, identity), along, dtype=input.dtype if dtype is None else dtype)

    normalization.__name__ = normalization.__qualname__ = name
    normalization.__doc__ = doc
    return normalization


cumsum = _along("cumsum", "sum", "Running sums along `dim`.")
cumprod = _along("cumprod", "prod", "Running products along `dim`.")
softmax = _along("softmax", "max", "softmax along `dim`: what does not count has weight 0.")
log_softmax = _along("log_softmax", "max", "log_softmax along `dim`.")
softmin = _along("softmin", "min", "softmax of the negated input along `dim`.")


def normalize(
    input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """input / max(norm(input, ord, dim), eps)."""
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return filled(input, mask, "sum") / length.clamp_min(eps)


__all__ = ["cumprod", "cumsum", "log_softmax", "normalize", "softmax", "softmin"]
