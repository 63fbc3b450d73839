"""Views replaced: a tensor with the elements that a view shows replaced by those of another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from aten import _native
from aten.devices import overwrite
from aten.meta import Meta, dense_order, exceeds, known_equal
from aten.op import Op, composite, op, ops
from aten.ops.batching import materialize
from aten.ops.view import as_strided, check_window, diagonal, select, slice, strided_array, window, zeros_of
from aten.shapes import is_one, is_symbolic, show


def _scatter_rule(taken: Op) -> Any:
    def check(input: Meta, src: Meta, *rest: Any) -> Meta:
        shown = taken.function(input, *rest)
        if len(shown.sizes) != len(src.sizes) or not all(known_equal(a, b) or bool(a == b) for a, b in zip(shown.sizes, src.sizes)):
            raise RuntimeError(
                f"expected src to have a size equal to the slice of self. src size = {show(src.sizes)}, slice size = "
                f"{show(shown.sizes)}"
            )
        return input.like()

    return check


@op(
    "slice_scatter(Tensor input, Tensor src, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor",
    promote="first",
)
def slice_scatter(input: Meta, src: Meta, dim: int, start: Any, end: Any, step: int) -> Meta:
    """input with input[start:end:step] along `dim` replaced by src."""
    return _scatter_rule(slice)(input, src, dim, start, end, step)


slice_scatter.normal(lambda input, src, dim, *rest: (input, src, *slice.normal_fn(input, dim, *rest)[1:]))


def _along(dim: int, index: Any) -> tuple[Any, ...]:
    return (np.s_[:],) * dim + (index,)


@slice_scatter.kernel
def _(out, x, src, dim, start, end, step):
    out[...] = x
    out[_along(dim, np.s_[start : max(end, start) : step])] = src


slice_scatter.vjp(
    (
        lambda g, src_meta, dim, start, end, step: slice_scatter(g, zeros_of(src_meta, g), dim, start, end, step),
        lambda g, dim, start, end, step: slice(g, dim, start, end, step),
    )
)


@op("select_scatter(Tensor input, Tensor src, int dim, int index) -> Tensor", promote="first")
def select_scatter(input: Meta, src: Meta, dim: int, index: Any) -> Meta:
    """input with input[index] along `dim` replaced by src."""
    return _scatter_rule(select)(input, src, dim, index)


select_scatter.normal(lambda input, src, dim, index: (input, src, *select.normal_fn(input, dim, index)[1:]))


@select_scatter.kernel
def _(out, x, src, dim, index):
    out[...] = x
    out[_along(dim, index)] = src


select_scatter.vjp(
    (
        lambda g, src_meta, dim, index: select_scatter(g, zeros_of(src_meta, g), dim, index),
        lambda g, dim, index: select(g, dim, index),
    )
)


@op("diagonal_scatter(Tensor input, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor", promote="first")
def diagonal_scatter(input: Meta, src: Meta, offset: int, dim1: int, dim2: int) -> Meta:
    """input with a diagonal replaced by src."""
    return _scatter_rule(diagonal)(input, src, offset, dim1, dim2)


diagonal_scatter.normal(lambda input, src, *rest: (input, src, *diagonal.normal_fn(input, *rest)[1:]))


@diagonal_scatter.kernel
def _(out, x, src, offset, dim1, dim2):
    out[...] = x
    np.einsum("...ii->...i", _square(out, offset, dim1, dim2))[...] = src


def _square(a: np.ndarray, offset: int, dim1: int, dim2: int) -> np.ndarray:
    """The square part of the last two dimensions whose main diagonal is the wanted one."""
    a = np.moveaxis(a, (dim1, dim2), (-2, -1))
    a = a[..., :, offset:] if offset >= 0 else a[..., -offset:, :]
    n = min(a.shape[-2:])
    return a[..., :n, :n]


diagonal_scatter.vjp(
    (
        lambda g, src_meta, offset, dim1, dim2: diagonal_scatter(g, zeros_of(src_meta, g), offset, dim1, dim2),
        lambda g, offset, dim1, dim2: diagonal(g, offset, dim1, dim2),
    )
)


def _strided(name: str, tags: list[str]) -> Op:
    @op(
        f"{name}(Tensor input, Tensor src, int[] size, int[] stride, int? storage_offset=None) -> Tensor",
        tags=tags,
        promote="first",
    )
    def made(input: Meta, src: Meta, size: list[Any], stride: list[Any], storage_offset: Any) -> Meta:
        """input with the elements at these places of its (row-major) memory replaced by src."""
        check_window(size, stride, storage_offset, input.numel())
        if len(src.sizes) != len(size) or any(exceeds(a, b) or exceeds(b, a) for a, b in zip(src.sizes, size)):
            raise RuntimeError(
                f"expected src to have a size equal to the slice of self. src size = {show(src.sizes)}, slice size = {show(size)}"
            )
        return input.like(sizes=input.sizes)

    @made.normal
    def _(input, src, size, stride, storage_offset):
        return input, src, size, stride, Meta.of(input).offset if storage_offset is None else storage_offset

    @made.kernel
    def _(out, x, src, size, stride, storage_offset):
        out[...] = x
        strided_array(out.reshape(-1), size, stride, storage_offset)[...] = src

    @made.kernel_for("cuda")
    def _(out, x, src, size, stride, storage_offset):
        overwrite(out, x)
        overwrite(_native.alias(out, tuple(size), tuple(stride), storage_offset), src)

    return made


def _strided_part(g: Any, size: Any, stride: Any, storage_offset: Any) -> Any:
    return as_strided(g.contiguous(), size, stride, storage_offset)


as_strided_put = _strided("as_strided_put", ["hidden"])  # what a write through a view is
as_strided_put.vjp(
    (
        lambda g, src_meta, size, stride, storage_offset: as_strided_put(g, zeros_of(src_meta, g), size, stride, storage_offset),
        lambda g, size, stride, storage_offset: _strided_part(g, size, stride, storage_offset),
    )
)
# What the public one is made of has PyTorch's slope of input, which is 0 but where src is written over it.
strided_scatter = _strided("strided_scatter", ["hidden"])
strided_scatter.vjp(
    (
        lambda g, size, stride, storage_offset: as_strided_put(
            g.new_zeros(list(g.shape)), _strided_part(g, size, stride, storage_offset), size, stride, storage_offset
        ),
        lambda g, size, stride, storage_offset: _strided_part(g, size, stride, storage_offset),
    )
)


@composite("as_strided_scatter(Tensor input, Tensor src, int[] size, int[] stride, int? storage_offset=None) -> Tensor")
def as_strided_scatter(input: Any, src: Any, size: Any, stride: Any, storage_offset: Any) -> Any:
    """A copy of input's memory, laid out as it is, in which these places are replaced by src.

    `stride` and `storage_offset` (default: where input begins) count elements of the memory that input is a view of.

    Raises:
        RuntimeError: the window is not of src's sizes, leaves the memory, or shows an element twice.
    """
    meta = Meta.of(input)
    if any(type(s) is int and s < 0 for s in stride):
        raise RuntimeError(
            f"as_strided: Negative strides are not supported at the moment, got strides: [{', '.join(map(str, stride))}]"
        )
    if type(storage_offset) is int and storage_offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {storage_offset}")
    if 0 not in size and any(type(s) is int and s == 0 and not is_one(n) for n, s in zip(size, stride)):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )
    if any(type(s) is int and s == 0 and not is_one(n) for n, s in zip(meta.sizes, meta.strides)):
        return strided_scatter(ops.contiguous(input), src, size, stride, 0 if storage_offset is None else storage_offset)
    at = meta.offset if storage_offset is None else storage_offset
    order = dense_order(meta)
    if order is None or not _within(meta, size, stride, at - meta.offset):
        return _scatter_between(input, meta, src, size, stride, at)
    if order == [*range(meta.ndim)]:
        return strided_scatter(input, src, size, stride, at - meta.offset)
    made = strided_scatter(ops.permute(input, order), src, size, stride, at - meta.offset)
    return ops.permute(made, [order.index(d) for d in range(meta.ndim)])


def _within(meta: Meta, size: Any, stride: Any, offset: Any) -> bool:
    """Whether a window that begins there shows only what dense memory of these sizes holds. Symbols are believed."""
    if any(map(is_symbolic, (*size, *stride, offset, *meta.sizes))) or 0 in size:
        return True
    return bool(offset >= 0 and offset + window(size, stride) <= meta.numel())


def _scatter_between(input: Any, meta: Meta, src: Any, size: Any, stride: Any, at: Any) -> Any:
    """Of a view with gaps, or a window that leaves it: in a copy of all memory from the first of both to the last."""
    as_strided(input, size, stride, at)  # (names the window that leaves the memory)
    first = at if bool(at < meta.offset) else meta.offset
    ends = [
        offset - first + window(sizes, strides)
        for offset, sizes, strides in ((meta.offset, meta.sizes, meta.strides), (at, size, stride))
    ]
    span = ends[0] if bool(ends[0] >= ends[1]) else ends[1]
    made = strided_scatter(as_strided(input, [span], [1], first), src, size, stride, at - first)
    return as_strided(made, meta.sizes, meta.strides, meta.offset - first)


def _batch_scatter(made: Op) -> None:
    """input and src get a leading batch; dims move up."""

    @made.batch
    def _(n, dims, x, src, *rest):
        if made is diagonal_scatter:
            rest = (rest[0], rest[1] + 1, rest[2] + 1)
        else:
            rest = (rest[0] + 1, *rest[1:])
        return made(materialize(x, dims[0], n), materialize(src, dims[1], n), *rest), 0


for _made in (slice_scatter, select_scatter, diagonal_scatter):
    _batch_scatter(_made)


@op("replace_values(Tensor input, Tensor src) -> Tensor", tags=["fused", "function_only"])
def replace_values(input: Meta, src: Meta) -> Meta:
    """src with the history of input: what a write through `detach()` or `.data` means to the tensor itself."""
    return src.view(src.sizes, src.strides, src.offset)


replace_values.decompose(lambda input, src: ops.alias(src))
replace_values.vjp((lambda g: g, lambda g: None))


@op("tied(Tensor input, Tensor[] others) -> Tensor", tags=["fused", "function_only", "hidden"])
def tied(input: Meta, others: list[Meta]) -> Meta:
    """input, which has the history of the others too: their gradients by it are zeros."""
    return input.like()


tied.decompose(lambda input, others: ops.clone(input))
tied.vjp(lambda g, needs, others_meta: (g, [_zeros(m) if need else None for m, need in zip(others_meta, needs[1])]))
tied.jvp(lambda tangents, input, others, out: _zeros(Meta.of(out)) if tangents[0] is None else tangents[0])


def _zeros(meta: Meta) -> Any:
    return ops.zeros(list(meta.sizes), dtype=meta.dtype, device=meta.device)


@tied.batch
def _(n, dims, input, others):
    return ops.clone(input), dims[0]


def tie(found: Sequence[Any], to: Sequence[Any]) -> list[Any]:
    """Gradients that are recorded as functions of these tensors too, by which nothing flows back."""
    to = [t for t in to if t.requires_grad]
    return [f if f is None or not to else tied(f, to) for f in found]


Op.tie = staticmethod(tie)


@op("replace_data(Tensor input, Tensor src) -> Tensor", tags=["fused", "function_only", "hidden"])
def replace_data(input: Meta, src: Meta) -> Meta:
    """The same for `data_of`: transforms around the one whose history stays see the values with their own."""
    return src.view(src.sizes, src.strides, src.offset)


replace_data.decompose(lambda input, src: ops.alias(src))
replace_data.vjp((lambda g: g, lambda g: None))
