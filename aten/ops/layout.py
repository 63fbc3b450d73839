"""Copies of a layout: row-major, or with the channels innermost."""

from typing import Any

import numpy as np

from aten.devices import overwrite
from aten.meta import Meta, is_row_major_now
from aten.op import composite, op
from aten.ops.batching import to_front
from aten.ops.view import permute


@op("clone(Tensor input, *, Any memory_format=None) -> Tensor", tags=["layout"], native="copy")
def clone(input: Meta) -> Meta:
    """A row-major copy."""
    return input.like(sizes=input.sizes)


@clone.special(lambda input, memory_format: _innermost(memory_format) is not None)
def _(input, memory_format):
    return _channels_last(input, memory_format, clone)


def _innermost(memory_format: Any) -> Any:
    """How many dims a tensor has whose channels this format has innermost."""
    return {"channels_last": 4, "channels_last_3d": 5}.get(getattr(memory_format, "name", None))


def _channels_last(input: Any, memory_format: Any, make: Any) -> Any:
    """make(input with its channels last), which is row-major, with the channels in their place again."""
    n = _innermost(memory_format)
    if input.ndim != n:
        raise RuntimeError(f"required rank {n} tensor to use {memory_format.name} format")
    return permute(make(permute(input, [0, *range(2, n), 1])), [0, n - 1, *range(1, n - 1)])


clone.kernel(lambda out, x: np.copyto(out, x))
clone.kernel_for("cuda")(overwrite)
clone.vjp(lambda g: g)
clone.jvp(lambda tangents, input, out: clone(tangents[0]))
clone.batch(lambda n, dims, x: (clone(to_front(x, dims[0])), 0))


@composite("contiguous(Tensor input, *, Any memory_format=None) -> Tensor", native="copy")
def contiguous(input, memory_format):
    """The tensor itself if it is laid out so, else a copy: row-major, or with the channels innermost."""
    n = _innermost(memory_format)
    as_laid_out = permute(input, [0, *range(2, n), 1]) if input.ndim == n else input
    if n in (None, input.ndim) and is_row_major_now(Meta.of(as_laid_out)):
        return input
    return clone(input) if n is None else _channels_last(input, memory_format, clone)
