"""Copies in another structure: cat, flip, roll, pad, tril, triu, copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from aten import _native
from aten import dtype as dtypes
from aten.arrays import as_number
from aten.devices import same
from aten.meta import Meta, dense_strides, exceeds, known_equal
from aten.op import alias_of, inplace_of, op, ops
from aten.ops.batching import batch_dims, materialize, to_front
from aten.ops.formats import in_format
from aten.promotion import element, result_dtype
from aten.shapes import broadcast, is_empty, is_one, refuse_many, show, wrap_dim


# ------------------------------------------------------------------------------------------------------ core ops
@op(
    "cat(Tensor[] tensors, int dim=0) -> Tensor",
    tags=["structure", "function_only"],
    promote=lambda tensors, dim: _common_dtype(tensors),
    native="join",
)
def cat(tensors: list[Meta], dim: int) -> Meta:
    """Tensors joined along a dimension; all other sizes are equal (1-d tensors without elements are ignored)."""
    mixed = len({len(t.sizes) for t in tensors}) > 1
    parts = [t for t in tensors if not _is_nothing(t, mixed)] or tensors[:1]
    first = parts[0]
    if first.ndim == 0:
        raise RuntimeError("zero-dimensional tensor (at position 0) cannot be concatenated")
    total: Any = 0
    for t in parts:
        if t.ndim != first.ndim:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {first.ndim} and {t.ndim}")
        for d in range(first.ndim):
            if d != dim and not known_equal(t.sizes[d], first.sizes[d]) and not bool(t.sizes[d] == first.sizes[d]):
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {first.sizes[d]} but "
                    f"got size "
                    f"{t.sizes[d]} for tensor number {tensors.index(t)} in the list."
                )
        total = total + t.sizes[dim]
    sizes = (*first.sizes[:dim], total, *first.sizes[dim + 1 :])
    return first.like(sizes=sizes, strides=in_format(sizes, *parts))


def _common_dtype(tensors: list[Any]) -> Any:
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    return result_dtype([(t.dtype, 2 if t.ndim else 1) for t in tensors])


def _is_nothing(t: Any, asks: bool = False) -> bool:
    """Whether a tensor has one dim, of size 0. asks: it matters, so that a symbolic size is guarded."""
    return len(t.shape) == 1 and (is_empty(t.shape[0]) if asks else type(t.shape[0]) is int and t.shape[0] == 0)


@cat.normal
def _(tensors, dim):
    ndim = max(t.ndim for t in tensors)
    if ndim == 1 and all(_is_nothing(t) for t in tensors):  # nothing along any dim
        return tensors, 0
    return tensors, wrap_dim(dim, ndim)


@cat.kernel
def _(out, tensors, dim):
    start = 0
    for t in tensors:
        if not (t.ndim == 1 and t.shape[0] == 0 and out.ndim != 1):
            out[(np.s_[:],) * dim + (np.s_[start : start + t.shape[dim]],)] = t
            start += t.shape[dim]


@cat.vjp
def _(g, needs, tensors_meta, dim):
    parts, start = [], 0
    for meta, need in zip(tensors_meta, needs[0]):
        if g.ndim != 1 and _is_nothing(meta, True):
            parts.append(g.new_zeros([0]) if need else None)
            continue
        size = meta.sizes[dim]
        parts.append(ops.slice(g, dim, start, start + size, 1) if need else None)
        start = start + size
    return parts


@cat.jvp
def _(tangents, tensors, dim, out):
    return cat([ops.zeros_like(x) if t is None else t for x, t in zip(tensors, tangents[0])], dim)


@cat.batch
def _(n, dims, tensors, dim):
    inner = dims[0] if isinstance(dims[0], (list, tuple)) else [dims[0]] * len(tensors)
    return cat([materialize(t, d, n) for t, d in zip(tensors, inner)], dim + 1), 0


alias_of("concat", cat)
alias_of("concatenate", cat)


@op("flip(Tensor input, int[*] dims) -> Tensor", tags=["structure"], native="structure")
def flip(input: Meta, dims: list[int]) -> Meta:
    """The order of elements reversed along dims."""
    return input.like()


def wrap_all(input, dims):
    """(input, non-negative dims); RuntimeError for repeated ones."""
    refuse_many(input.ndim)
    wrapped = [wrap_dim(d, input.ndim) for d in dims]
    if len(set(wrapped)) != len(wrapped):
        raise RuntimeError(f"dim {next(d for d in wrapped if wrapped.count(d) > 1)} appears multiple times in the list of dims")
    return input, wrapped


flip.normal(wrap_all)
flip.kernel(lambda out, x, dims: np.copyto(out, np.flip(x, tuple(dims)) if x.ndim else x))
flip.vjp(lambda g, dims: flip(g, dims))
flip.jvp(lambda tangents, input, dims, out: flip(tangents[0], dims))
flip.batch_fn = batch_dims(flip)


@op("roll(Tensor input, int[1] shifts, int[1]? dims=()) -> Tensor", tags=["structure"], native="structure")
def roll(input: Meta, shifts: list[Any], dims: list[int]) -> Meta:
    """Elements moved along dims, the last ones coming in at the front."""
    return input.like(sizes=input.sizes, strides=in_format(input.sizes, input))


@roll.special(lambda input, shifts, dims: not dims)
def _(input, shifts, dims):
    if len(shifts) != 1:
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims or ())}")
    if input.ndim == 0:
        return ops.clone(input)
    return roll(ops.reshape(input, [-1]), shifts, [0]).reshape(list(input.shape))


@roll.normal
def _(input, shifts, dims):
    if len(shifts) != len(dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if input.ndim == 0:
        raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    return input, shifts, [wrap_dim(d, input.ndim) for d in dims]


roll.kernel(lambda out, x, shifts, dims: np.copyto(out, np.roll(x, shifts, dims)))
roll.vjp(lambda g, shifts, dims: roll(g, [-s for s in shifts], dims))
roll.jvp(lambda tangents, input, shifts, dims, out: roll(tangents[0], shifts, dims))
roll.batch(lambda n, dims, x, shifts, at: (roll(to_front(x, dims[0]), shifts, [d + 1 for d in at]), 0))


@op("constant_pad_nd(Tensor input, int[] pad, Scalar value=0) -> Tensor", tags=["structure", "function_only"])
def constant_pad_nd(input: Meta, pad: list[Any], value: Any) -> Meta:
    """`value` added around: pad = (last dim before, after, second last before, …); negative amounts cut."""
    if any(type(p) is not int or p > 0 for p in pad):
        element(value, input.dtype)
    if len(pad) % 2:
        raise RuntimeError("Length of pad must be even but instead it equals " + str(len(pad)))
    if len(pad) > 2 * input.ndim:
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. Pad length is "
            f"{len(pad)} while the input has {input.ndim} dimensions."
        )
    sizes = list(input.sizes)
    for k in range(len(pad) // 2):
        d = input.ndim - 1 - k
        for cut in pad[2 * k : 2 * k + 2]:  # before anything is added
            if type(cut) is int and cut < 0 and exceeds(-cut, sizes[d]):
                raise RuntimeError("narrow(): length must be non-negative.")
        sizes[d] = sizes[d] + pad[2 * k] + pad[2 * k + 1]
        if exceeds(0, sizes[d]):
            raise RuntimeError(
                f"The input size {input.sizes[d]}, plus negative padding {pad[2 * k]} and {pad[2 * k + 1]} "
                f"resulted in a "
                f"negative output size, which is invalid. Check dimension {d} of your input."
            )
    if all(type(p) is int and p <= 0 for p in pad):  # (then it is a copy of a part, whose layout stays)
        return input.like(sizes=sizes, strides=dense_strides(input.like(sizes=sizes, strides=input.strides)))
    return input.like(sizes=sizes, strides=in_format(sizes, input))


@constant_pad_nd.normal
def _(input, pad, value):
    real = type(value) is complex and value.imag == 0 and not input.dtype.is_complex
    return input, pad, value.real if real else value


@constant_pad_nd.kernel
def _(out, x, pad, value):
    if any(p > 0 for p in pad):
        out[...] = as_number(value, out.dtype)
    source, target = [np.s_[:]] * x.ndim, [np.s_[:]] * x.ndim
    for k in range(len(pad) // 2):
        d, before, after = x.ndim - 1 - k, pad[2 * k], pad[2 * k + 1]
        source[d] = np.s_[max(-before, 0) : x.shape[d] - max(-after, 0)]
        target[d] = np.s_[max(before, 0) : out.shape[d] - max(after, 0)]
    out[tuple(target)] = x[tuple(source)]


constant_pad_nd.vjp(lambda g, pad: constant_pad_nd(g, [-p for p in pad], 0))
constant_pad_nd.jvp(lambda tangents, input, pad, value, out: constant_pad_nd(tangents[0], pad, 0))
constant_pad_nd.batch(lambda n, dims, x, pad, value: (constant_pad_nd(to_front(x, dims[0]), pad, value), 0))


def _triangle(name: str, numpy_function: Any, doc: str) -> Any:
    @op(f"{name}(Tensor input, int diagonal=0) -> Tensor", tags=["structure"], inplace=True)
    def rule(input: Meta, diagonal: Any) -> Meta:
        if input.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        return input.like(sizes=input.sizes)

    rule.__doc__ = doc
    rule.kernel(lambda out, x, diagonal: np.copyto(out, numpy_function(x, diagonal)))
    rule.vjp(lambda g, diagonal: rule(g, diagonal))
    rule.jvp(lambda tangents, input, diagonal, out: rule(tangents[0], diagonal))
    rule.batch(lambda n, dims, x, diagonal: (rule(to_front(x, dims[0]), diagonal), 0))
    return rule


tril = _triangle("tril", np.tril, "The lower triangle of matrices, zeros elsewhere.")
triu = _triangle("triu", np.triu, "The upper triangle of matrices, zeros elsewhere.")


@op(
    "copy(Tensor input, Tensor src, bool non_blocking=False) -> Tensor",
    tags=["layout", "function_only", "scalars"],
    native="copy",
)
def copy(input: Meta, src: Meta) -> Meta:
    """src broadcast to the sizes of input and cast to its dtype: what copy_ puts there."""
    _check_broadcast(src.sizes, input.sizes)
    return input.like()


def _check_broadcast(sizes: Sequence[Any], target: Sequence[Any]) -> None:
    try:
        fits = len(sizes) <= len(target) and tuple(broadcast(tuple(sizes), tuple(target))) == tuple(target)
    except RuntimeError:
        fits = False
    if not fits:
        if len(sizes) > len(target):
            raise RuntimeError(
                f"expand(): the number of sizes provided ({len(target)}) must be greater or equal to the number of "
                f"dimensions in the tensor ({len(sizes)})"
            )
        k = len(target) - len(sizes)
        d = next(d for d, s in reversed(list(enumerate(sizes))) if not is_one(s) and not known_equal(s, target[d + k]))
        raise RuntimeError(
            f"The expanded size of the tensor ({target[d + k]}) must match the existing size ({sizes[d]}) at "
            f"non-singleton "
            f"dimension {d + k}.  Target sizes: {show(target)}.  Tensor sizes: {show(sizes)}"
        )


@copy.kernel
def _(out, x, src):
    ops.cast.kernel_fn(out, src, None)


@copy.vjp
def _(g, needs, src_meta):
    own = ops.zeros_like(g) if needs[0] else None
    given = ops.cast(g, src_meta.dtype) if needs[1] and g.dtype is not src_meta.dtype else g
    return own, given if needs[1] else None


@copy.special(lambda input, src, non_blocking: not hasattr(src, "device") or not same(input.device, src.device))
def _(input, src, non_blocking):
    if not hasattr(src, "device"):
        return ops.fill(input, src)
    if input.device.type in ("cpu", "meta"):
        return copy(input, ops.to_device(src, input.device))
    move = ops.to_device_ahead if non_blocking else ops.to_device
    _check_broadcast(tuple(src.shape), tuple(input.shape))  # the host can cast and expand, a device need not
    cast = src if src.dtype is input.dtype else ops.cast(src, input.dtype)
    return move(cast.expand(list(input.shape)).contiguous(), input.device)


copy.jvp(lambda tangents, input, src, out: copy(input, tangents[1]) if tangents[1] is not None else ops.zeros_like(input))
copy.batch(lambda n, dims, x, src: (copy(materialize(x, dims[0], n), _batched_source(n, dims, x, src)), 0))
copy.inplace = inplace_of(copy, native="copy")


def _batched_source(n: Any, dims: Any, x: Any, src: Any) -> Any:
    if dims[1] is None:
        return src
    src, ndim = to_front(src, dims[1]), x.ndim - (dims[0] is not None)
    return src.reshape([n, *([1] * (ndim - (src.ndim - 1))), *src.shape[1:]])


def interleaved(counts: Any, output_size: Any = None) -> Any:
    """0 as often as the first count says, 1 as often as the second, … RuntimeError where these are known not to be output_size."""
    if counts.dtype not in (dtypes.int64, dtypes.int32):
        raise NotImplementedError(f"repeat_interleave is for counts of int64 or int32, not {counts.dtype}")
    plain = not _native.is_tracer(counts) and not counts.is_meta
    if plain and counts.device.type == "cpu":
        times = counts.detach().numpy()
        if times.min(initial=0) < 0:
            raise RuntimeError("repeats can not be negative")
        _check_total(int(times.sum()), output_size)
        return _native.from_numpy(np.repeat(np.arange(len(times), dtype=times.dtype), times))
    if plain and bool((counts < 0).any()):
        raise RuntimeError("repeats can not be negative")
    ends = ops.cumsum(counts, 0)
    total = ends[-1].item() if ends.numel() else 0
    _check_total(total, output_size)
    return ops.searchsorted(ends, ops.arange(total), right=True).to(counts.dtype)


def _check_total(total: Any, output_size: Any) -> None:
    if type(total) is type(output_size) is int and total != output_size:
        raise RuntimeError("allocated size does not match required size")
