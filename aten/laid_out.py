"""Results of definitions in other ops, copied where they are to lie otherwise."""

from collections.abc import Sequence
from typing import Any

from aten._native import Tensor
from aten.meta import Meta, known_equal
from aten.op import ops
from aten.shapes import pointwise_strides


def laid_out_as(x: Any, strides: Sequence[Any]) -> Any:
    """x itself if it has these strides, which leave no gaps; else a copy that has them."""
    if all(map(known_equal, x.stride(), strides)) or x.ndim < 2:
        return x
    hints: list[Any] = [v if type(v) is int else getattr(v, "hint", None) for v in strides]
    if None in hints:
        return x
    order = sorted(range(x.ndim), key=lambda d: (-hints[d], x.shape[d] != 1, d))
    return ops.permute(ops.contiguous(ops.permute(x, order)), [order.index(d) for d in range(x.ndim)])


def lie_as_arguments(result: Any, public: tuple[Any, ...]) -> Any:
    """The result of an elementwise definition, laid out by the order of the arguments, not that of the ops that it is made of."""
    metas = [Meta.of(a) for a in public if isinstance(a, (Tensor, Meta))]
    if not isinstance(result, Tensor) or all([m.is_contiguous() for m in metas]):
        return result
    return laid_out_as(result, pointwise_strides(tuple(result.shape), metas))
