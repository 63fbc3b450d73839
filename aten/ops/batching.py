"""Batching rules of whole families, for vmap: `rule(size, dims, *core arguments) -> (result, dim of the batch)`.

`dims` gives for each core argument the dimension of the batch, or None where it is not batched.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten import _native
from aten.op import Op


def to_front(x: Any, dim: int | None) -> Any:
    """x with its batch dimension first (x itself if it is not batched)."""
    return x if dim is None or dim == 0 else x.movedim(dim, 0)


def materialize(x: Any, dim: int | None, size: Any) -> Any:
    """x with a batch dimension first, expanded if it had none."""
    return x.unsqueeze(0).expand([size, *x.shape]) if dim is None else to_front(x, dim)


def is_tensor(x: Any) -> bool:
    """Whether an argument is a tensor (not a number, list or None)."""
    return hasattr(x, "dtype") and hasattr(x, "shape")


def invoke(op: Op, args: tuple[Any, ...]) -> Any:
    """Call an op on core arguments."""
    positional, keywords = op.split(args)
    return op(*positional, **keywords)


def batch_pointwise(op: Op) -> Callable[..., Any]:
    """Batches go first; ranks are aligned so that the unbatched parts broadcast as before."""

    def rule(size: Any, dims: tuple[int | None, ...], *args: Any) -> Any:
        ndim = max(x.ndim - (d is not None) for x, d in zip(args, dims) if is_tensor(x))
        aligned = []
        for x, d in zip(args, dims):
            if is_tensor(x) and d is not None:
                x = to_front(x, d)
                for _ in range(ndim + 1 - x.ndim):
                    x = x.unsqueeze(1)
            aligned.append(x)
        return invoke(op, tuple(aligned)), 0

    return rule


def differs_by_element(x: Any) -> bool:
    """Whether x, or what it is made from in inner transforms, is an element of a batch: no number says what it holds."""
    while _native.is_tracer(x):
        if x.transform == "vmap":
            return True
        x = x.level.value(x)
    return False


def batch_dims(op: Op, *, outputs: int = 1, before: int = 0) -> Callable[..., Any]:
    """For ops `(input, dim or list of dims, ...)`: the batch goes first and every dim moves up by one. `before`: how many
    arguments stand between the two."""

    def rule(size: Any, dims: tuple[int | None, ...], x: Any, *rest: Any) -> Any:
        given, dim, rest = rest[:before], rest[before], rest[before + 1 :]
        moved = to_front(x, dims[0])
        logical = x.ndim - 1
        if isinstance(dim, (list, tuple)) and not dim:  # a 0-d tensor: give it a dimension of size 1
            result = invoke(op, (moved.unsqueeze(1), *given, [1], *rest))
            drop = lambda r: r.squeeze(1) if r.ndim > 1 else r
            result = tuple(map(drop, result)) if outputs > 1 else drop(result)
        elif isinstance(dim, (list, tuple)):
            result = invoke(op, (moved, *given, [d + 1 for d in dim], *rest))
        elif logical == 0:  # a 0-d tensor takes dim 0: give it one of size 1
            result = invoke(op, (moved.unsqueeze(1), *given, 1, *rest))
            drop = lambda r: r.squeeze(1) if r.ndim > 1 else r
            result = tuple(map(drop, result)) if outputs > 1 else drop(result)
        else:
            result = invoke(op, (moved, *given, dim + 1, *rest))
        return (tuple(result), (0,) * outputs) if outputs > 1 else (result, 0)

    rule.takes_scalars = True  # type: ignore[attr-defined]  # elements without dimensions, along whose dim 0 it works
    return rule
