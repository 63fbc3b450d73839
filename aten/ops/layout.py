"""Copies of a layout: row-major, or with the channels innermost."""

from typing import Any

import numpy as np

from aten.devices import overwrite
from aten.meta import Meta, is_row_major_now
from aten.op import Op, composite, op
from aten.ops.batching import to_front
from aten.ops.view import permute


@op("clone(Tensor input, *, MemoryFormat? memory_format=None) -> Tensor", tags=["layout"], native="copy")
def clone(input: Meta) -> Meta:
    """A copy, laid out as the tensor is if there are no gaps in it; else as an elementwise result; or in the format asked for."""
    return input.like()


@op("row_major(Tensor input) -> Tensor", tags=["layout", "hidden"], native="copy")
def row_major(input: Meta) -> Meta:
    """A row-major copy."""
    return input.like(sizes=input.sizes)


@clone.special(lambda input, memory_format: getattr(memory_format, "name", "preserve_format") != "preserve_format")
def _(input, memory_format):
    return row_major(input) if _innermost(memory_format) is None else _channels_last(input, memory_format)


def _innermost(memory_format: Any) -> Any:
    """How many dims a tensor has whose channels this format has innermost."""
    return {"channels_last": 4, "channels_last_3d": 5}.get(getattr(memory_format, "name", None))


def _channels_last(input: Any, memory_format: Any) -> Any:
    """A copy with the channels innermost: a row-major one of the tensor with its channels last, with them in their place again."""
    n = _innermost(memory_format)
    if input.ndim != n:
        raise RuntimeError(f"required rank {n} tensor to use {memory_format.name} format")
    return permute(row_major(permute(input, [0, *range(2, n), 1])), [0, n - 1, *range(1, n - 1)])


def _copies(made: Op) -> None:
    made.kernel(lambda out, x: np.copyto(out, x))
    made.kernel_for("cuda")(overwrite)
    made.vjp(lambda g: g)
    made.jvp(lambda tangents, input, out: made(tangents[0]))
    made.batch(lambda n, dims, x: (made(to_front(x, dims[0])), 0))


_copies(clone)
_copies(row_major)


@composite("contiguous(Tensor input, *, MemoryFormat? memory_format=None) -> Tensor", native="copy")
def contiguous(input, memory_format):
    """The tensor itself if it is laid out so, else a copy: row-major, or with the channels innermost."""
    n = _innermost(memory_format)
    as_laid_out = permute(input, [0, *range(2, n), 1]) if input.ndim == n else input
    if n in (None, input.ndim) and is_row_major_now(Meta.of(as_laid_out)):
        return input
    return row_major(input) if n is None else _channels_last(input, memory_format)
