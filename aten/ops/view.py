"""Views: ops without a kernel, whose rule gives sizes, strides and offset in the memory of the first argument.

`put(base, new, ...)` is base with the viewed elements replaced: what writing through the view means.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from aten.dtype import DType
from aten.meta import Meta, dense_order, known_equal
from aten.op import Op, composite, op, ops
from aten.ops.batching import invoke, to_front
from aten.ops.formats import FORMATS, in_memory
from aten.promotion import TYPE_NAMES
from aten.shapes import (
    clamp_index,
    infer_size,
    is_one,
    is_symbolic,
    show,
    slice_bounds,
    view_strides,
    wrap_dim,
    wrap_dims,
)
from aten.symbolic.unknown import decided


def zeros_of(meta: Meta, g: Any) -> Any:
    """Zeros with the sizes of `meta` and the dtype of the gradient g."""
    return ops.full(list(meta.sizes), 0, dtype=g.dtype, device=meta.device)


def _linear(made: Op) -> Op:
    """A view is linear: its jvp is itself."""
    made.jvp_fn = lambda tangents, *args: invoke(made, (tangents[0], *args[1:-1]))
    return made


# ------------------------------------------------------------------------------------------------------ core views
@op("view(Tensor input, IntOrDType[*] size) -> Tensor", kind="view", native="view")
def view(input: Meta, size: list[Any]) -> Meta:
    """The same memory with other sizes; one of them may be -1. Raises RuntimeError if only a copy could show it."""
    strides = view_strides(input.sizes, input.strides, size)
    if strides is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return input.view(size, strides, input.offset)


@view.special(lambda input, size: len(size) == 1 and isinstance(size[0], DType))
def _(input, size):
    return bitcast(input, size[0])


view.normal(lambda input, size: (input, infer_size(size, input.numel())))
view.vjp(lambda g, input_meta: reshape(g, list(input_meta.sizes)))
view.put(lambda base, new, size: reshape(new, list(base.shape)))
view.batch(lambda n, dims, x, size: (view(to_front(x, dims[0]), [n, *size]), 0))


@op("permute(Tensor input, int[*] dims) -> Tensor", kind="view", native="view")
def permute(input: Meta, dims: list[int]) -> Meta:
    """The dimensions in another order."""
    return input.view([input.sizes[d] for d in dims], [input.strides[d] for d in dims], input.offset)


@permute.normal
def _(input, dims):
    if len(dims) != input.ndim:
        raise RuntimeError(
            f"permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {input.ndim} is not equal to len(dims) = {len(dims)}"
        )
    wrapped = [wrap_dim(d, input.ndim) for d in dims]
    if len(set(wrapped)) != len(wrapped):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return input, wrapped


def inverse_permutation(dims: Sequence[int]) -> list[int]:
    """The permutation that undoes `dims`."""
    inverse = [0] * len(dims)
    for to, came_from in enumerate(dims):
        inverse[came_from] = to
    return inverse


permute.vjp(lambda g, dims: permute(g, inverse_permutation(dims)))
permute.put(lambda base, new, dims: permute(new, inverse_permutation(dims)))
permute.batch(lambda n, dims, x, order: (permute(to_front(x, dims[0]), [0, *[d + 1 for d in order]]), 0))


@op("expand(Tensor input, int[*] size, *, bool implicit=False) -> Tensor", kind="view", native="view")
def expand(input: Meta, size: list[Any]) -> Meta:
    """Dimensions of size 1 shown with another size (stride 0); new ones in front. -1 keeps a size."""
    extra = len(size) - input.ndim
    strides: list[Any] = []  # from the last one on
    for i, target in reversed(list(enumerate(size))):
        at = i - extra
        same = at >= 0 and known_equal(input.sizes[at], target)
        if at < 0:  # of size 1 it has the stride that a row-major one would have
            strides.append(size[i + 1] * strides[-1] if is_one(target) and input.ndim else 0)
        elif same or (is_symbolic(input.sizes[at]) and bool(input.sizes[at] == target)):
            strides.append(input.strides[at])
        elif is_one(input.sizes[at]) or (is_symbolic(input.sizes[at]) and bool(input.sizes[at] == 1)):
            strides.append(0)
        elif is_symbolic(target) and bool(input.sizes[at] == target):
            strides.append(input.strides[at])
        else:
            raise RuntimeError(
                f"The expanded size of the tensor ({target}) must match the existing size ({input.sizes[at]}) at "
                f"non-singleton dimension {i}.  Target sizes: {show(size)}.  Tensor sizes: {show(input.sizes)}"
            )
    return input.view(size, strides[::-1], input.offset)


def _is_open(size: Any) -> bool:
    """Whether a size is -1, said by a number that changes as well."""
    if type(size) is int or not is_symbolic(size):
        return size == -1
    from aten.symbolic.checked import holds  # (a start has no use for it)

    return not holds(size >= 0) and bool(size == -1)


@expand.normal
def _(input, size, implicit):
    if len(size) < input.ndim:
        raise RuntimeError(
            f"expand({input.dtype.name}{{{show(input.shape)}}}, size={show(size)}): the number of sizes provided "
            f"({len(size)}) must be greater or equal to the number of dimensions in the tensor ({input.ndim})"
        )
    extra, resolved = len(size) - input.ndim, []
    for i, s in enumerate(size):
        if _is_open(s):
            if i < extra:
                raise RuntimeError(f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {i}")
            s = input.shape[i - extra]
        resolved.append(s)
    return input, resolved


def sum_to_size(g: Any, sizes: Sequence[Any]) -> Any:
    """Sum over the dimensions that broadcasting made."""
    extra = g.ndim - len(sizes)
    dims = list(range(extra)) + [
        extra + d
        for d, s in enumerate(sizes)
        if is_one(s)
        and not is_one(g.shape[extra + d])
        or (is_symbolic(s) and not known_equal(s, g.shape[extra + d]) and bool(s == 1))
    ]
    if not dims:
        return g
    total = ops.sum(g, dims, True)
    return total.squeeze(list(range(extra))) if extra else total


expand.vjp(lambda g, input_meta: sum_to_size(g, input_meta.sizes))


@expand.batch
def _(n, dims, x, size):
    x = to_front(x, dims[0])
    for _ in range(len(size) + 1 - x.ndim):
        x = x.unsqueeze(1)
    return expand(x, [n, *size]), 0


@expand.put
def _(base, new, size):
    extra = len(size) - base.ndim
    # (What is not 1 is equal to what it was expanded to.)
    repeated = any(is_one(b) and not known_equal(b, s) for b, s in zip(base.shape, size[extra:]))
    if repeated or not all(is_one(s) for s in size[:extra]):
        raise RuntimeError("an in-place write through expand, which shows elements several times, cannot be transformed")
    return reshape(new, list(base.shape)) if extra else new


@op("squeeze(Tensor input, int[*]? dim=None) -> Tensor", kind="view", native="view")
def squeeze(input: Meta, dim: list[int]) -> Meta:
    """Without the dimensions of size 1 (among `dim`, if given)."""
    kept = [d for d in range(input.ndim) if d not in dim]
    return input.view([input.sizes[d] for d in kept], [input.strides[d] for d in kept], input.offset)


@squeeze.normal
def _(input, dim):
    dims = range(input.ndim) if dim is None else wrap_dims(dim, input.ndim) if dim else []
    return input, [d for d in dims if is_one(input.shape[d]) or (is_symbolic(input.shape[d]) and bool(input.shape[d] == 1))]


squeeze.vjp(lambda g, dim: _unsqueeze_all(g, dim))
squeeze.put(lambda base, new, dim: _unsqueeze_all(new, dim))
squeeze.batch(lambda n, dims, x, dim: (squeeze(to_front(x, dims[0]), [d + 1 for d in dim]), 0))


def _unsqueeze_all(x: Any, dim: list[int]) -> Any:
    for d in sorted(dim):
        x = unsqueeze(x, d)
    return x


@op("unsqueeze(Tensor input, int dim) -> Tensor", kind="view", native="view")
def unsqueeze(input: Meta, dim: int) -> Meta:
    """A new dimension of size 1 at `dim`."""
    stride = input.sizes[dim] * input.strides[dim] if dim < input.ndim else 1
    return input.view(
        [*input.sizes[:dim], 1, *input.sizes[dim:]], [*input.strides[:dim], stride, *input.strides[dim:]], input.offset
    )


unsqueeze.normal(lambda input, dim: (input, wrap_dim(dim, input.ndim + 1)))
unsqueeze.vjp(lambda g, dim: squeeze(g, [dim]))
unsqueeze.put(lambda base, new, dim: squeeze(new, [dim]))
unsqueeze.batch(lambda n, dims, x, dim: (unsqueeze(to_front(x, dims[0]), dim + 1), 0))


@op(
    "slice(Tensor input, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor",
    kind="view",
    tags=["function_only"],
    native="view",
)
def slice(input: Meta, dim: int, start: Any, end: Any, step: int) -> Meta:
    """input[start:end:step] along `dim`, bounds as in Python, step > 0."""
    start, _, length = slice_bounds(input.sizes[dim], start, end, step)
    sizes, strides = list(input.sizes), list(input.strides)
    sizes[dim], strides[dim] = length, strides[dim] * step
    return input.view(sizes, strides, input.offset + start * input.strides[dim])


@slice.normal
def _(input, dim, start, end, step):
    if input.ndim == 0:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, input.ndim)
    if decided(step > 0) is False:
        raise ValueError("slice step must be positive")
    size = input.shape[dim]
    bounds = [default if at is None else clamp_index(at, size) for at, default in ((start, 0), (end, size))]
    # (What data decides stays as it is given, and is moved as the kernel is run.)
    start, end = (given if moved is None else moved for given, moved in zip((start, end), bounds))
    return input, dim, start, end, step


@slice.vjp
def _(g, dim, start, end, step, input_meta):
    size = input_meta.sizes[dim]
    if step == 1:
        after = size - (start + g.shape[dim])
        pad = [0, 0] * (g.ndim - 1 - dim) + [start, after]
        return ops.constant_pad_nd(g, pad, 0)
    return ops.slice_scatter(zeros_of(input_meta, g), g, dim, start, end, step)


slice.put(lambda base, new, dim, start, end, step: ops.slice_scatter(base, new, dim, start, end, step))
slice.batch(lambda n, dims, x, dim, start, end, step: (slice(to_front(x, dims[0]), dim + 1, start, end, step), 0))


@op("select(Tensor input, int dim, int index) -> Tensor", kind="view", native="view")
def select(input: Meta, dim: int, index: Any) -> Meta:
    """input[index] along `dim`."""
    kept = [d for d in range(input.ndim) if d != dim]
    return input.view([input.sizes[d] for d in kept], [input.strides[d] for d in kept], input.offset + index * input.strides[dim])


@select.normal
def _(input, dim, index):
    if input.ndim == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, input.ndim)
    size = input.shape[dim]
    if not bool(index < size) or not bool(index >= -size):
        raise IndexError(f"select(): index {index} out of range for tensor of size {show(input.shape)} at dimension {dim}")
    return input, dim, index + size if bool(index < 0) else index


@select.vjp
def _(g, dim, index, input_meta):
    pad = [0, 0] * (input_meta.ndim - 1 - dim) + [index, input_meta.sizes[dim] - index - 1]
    return ops.constant_pad_nd(unsqueeze(g, dim), pad, 0)


select.put(lambda base, new, dim, index: ops.select_scatter(base, new, dim, index))
select.batch(lambda n, dims, x, dim, index: (select(to_front(x, dims[0]), dim + 1, index), 0))


@op("diagonal(Tensor input, int offset=0, int dim1=0, int dim2=1) -> Tensor", kind="view", native="view")
def diagonal(input: Meta, offset: int, dim1: int, dim2: int) -> Meta:
    """The elements (i, i + offset) of two dimensions, as a new last dimension."""
    rows, columns = input.sizes[dim1], input.sizes[dim2]
    length = _least(rows, columns - offset) if offset >= 0 else _least(rows + offset, columns)
    start = input.offset
    if type(length) is not int or length > 0:
        start = start + (offset * input.strides[dim2] if offset >= 0 else -offset * input.strides[dim1])
    kept = [d for d in range(input.ndim) if d not in (dim1, dim2)]
    return input.view(
        [*(input.sizes[d] for d in kept), length],
        [*(input.strides[d] for d in kept), input.strides[dim1] + input.strides[dim2]],
        start,
    )


def _least(a: Any, b: Any) -> Any:
    if type(a) is int and type(b) is int:
        return max(min(a, b), 0)
    smaller = a if known_equal(a, b) or bool(a <= b) else b
    return smaller if bool(smaller >= 0) else 0


@diagonal.normal
def _(input, offset, dim1, dim2):
    first, second = wrap_dim(dim1, input.ndim), wrap_dim(dim2, input.ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return input, offset, first, second


diagonal.vjp(lambda g, offset, dim1, dim2, input_meta: ops.diagonal_scatter(zeros_of(input_meta, g), g, offset, dim1, dim2))
diagonal.put(lambda base, new, offset, dim1, dim2: ops.diagonal_scatter(base, new, offset, dim1, dim2))
diagonal.batch(lambda n, dims, x, offset, dim1, dim2: (diagonal(to_front(x, dims[0]), offset, dim1 + 1, dim2 + 1), 0))


@op("unfold(Tensor input, int dimension, int size, int step) -> Tensor", kind="view", native="view")
def unfold(input: Meta, dimension: int, size: int, step: int) -> Meta:
    """Windows of `size` elements, `step` apart, along a dimension, as a new last one."""
    n, stride = (input.sizes[dimension], input.strides[dimension]) if input.ndim else (1, 1)
    sizes, strides = list(input.sizes), list(input.strides)
    if input.ndim:
        sizes[dimension], strides[dimension] = (n - size) // step + 1, stride * step
    return input.view([*sizes, size], [*strides, stride], input.offset)


@unfold.normal
def _(input, dimension, size, step):
    dim = wrap_dim(dimension, input.ndim)
    n = input.shape[dim] if input.ndim else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if not bool(size <= n):
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {n} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return input, dim, size, step


unfold.vjp(lambda g, input_meta, dimension, size, step: ops.unfold_backward(g, list(input_meta.sizes), dimension, size, step))
unfold.batch(lambda n, dims, x, dimension, size, step: (unfold(to_front(x, dims[0]), dimension + 1, size, step), 0))


@unfold.put
def _(base, new, dimension, size, step):
    """Window by window element; where windows overlap the later one wins."""
    count = new.shape[dimension] if base.ndim else 1
    for i in range(size):
        part = select(new, new.ndim - 1, i)
        base = ops.slice_scatter(base, part, dimension, i, i + (count - 1) * step + 1, step) if base.ndim else part
    return base


@op(
    "unfold_backward(Tensor grad, int[] input_sizes, int dim, int size, int step) -> Tensor",
    tags=["library", "function_only"],
    compute="float32",
)
def unfold_backward(grad: Meta, input_sizes: list[Any], dim: int, size: int, step: int) -> Meta:
    """Windows added back to where `unfold` took them."""
    return grad.like(sizes=input_sizes)


@unfold_backward.kernel
def _(out, g, input_sizes, dim, size, step):
    out[...] = 0
    if not input_sizes:
        out[...] = g.reshape(())
        return
    g = np.moveaxis(g, dim, 0)
    target = np.moveaxis(out, dim, -1)
    count = g.shape[0]
    if count < size:
        for i in range(count):
            target[..., i * step : i * step + size] += g[i]
        return
    target, g = np.moveaxis(target, -1, 0), np.moveaxis(g, -1, 0)
    for i in reversed(range(size)):  # fewer and longer additions, each element's in the same order
        target[i : i + (count - 1) * step + 1 : step] += g[i]


unfold_backward.vjp(lambda g, dim, size, step: unfold(g, dim, size, step))


@op("as_strided(Tensor input, int[] size, int[] stride, int? storage_offset=None) -> Tensor", kind="view", native="view")
def as_strided(input: Meta, size: list[Any], stride: list[Any], storage_offset: Any) -> Meta:
    """Any sizes, strides and offset in the same storage."""
    return input.view(size, stride, storage_offset)


@as_strided.normal
def _(input, size, stride, storage_offset):
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(decided(s >= 0) is False for s in stride):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {show(stride)}")
    if storage_offset is None:
        storage_offset = Meta.of(input).offset
    return input, size, stride, storage_offset


@as_strided.vjp
def _(g, input_meta, size, stride, storage_offset):
    return ops.as_strided_backward(
        g, list(input_meta.sizes), list(input_meta.strides), input_meta.offset, size, stride, storage_offset
    )


@as_strided.put
def _(base, new, size, stride, storage_offset):
    meta = Meta.of(base)
    if meta.is_contiguous():
        return ops.as_strided_put(base, new, size, stride, storage_offset - meta.offset)
    order = dense_order(meta)
    if order is None:
        raise RuntimeError("an in-place write through as_strided of a tensor with gaps in its memory cannot be transformed")
    made = ops.as_strided_put(permute(base, order), new, size, stride, storage_offset - meta.offset)
    return permute(made, inverse_permutation(order))


def window(sizes: Sequence[int], strides: Sequence[int]) -> int:
    return 0 if 0 in sizes else 1 + int(sum((n - 1) * s for n, s in zip(sizes, strides)))


def check_window(sizes: Sequence[Any], strides: Sequence[Any], offset: Any, numel: Any) -> None:
    """Raises RuntimeError unless the elements that sizes and strides show lie among `numel` ones. Symbols are believed."""
    if len(sizes) != len(strides):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(map(is_symbolic, (*sizes, *strides, offset, numel))) or 0 in sizes:
        return
    if min(*sizes, *strides, offset, 0) < 0 or offset + window(sizes, strides) > numel:
        raise RuntimeError(
            f"setStorage: sizes {show(sizes)}, strides {show(strides)}, storage offset {offset} are out of bounds for storage of "
            f"{numel} elements"
        )


def strided_array(memory: np.ndarray, sizes: Sequence[int], strides: Sequence[int], offset: int) -> np.ndarray:
    """A view of flat memory with these sizes and strides (in elements)."""
    check_window(sizes, strides, offset, memory.size)
    return np.lib.stride_tricks.as_strided(memory[offset:], tuple(sizes), tuple(s * memory.itemsize for s in strides))


@op("alias(Tensor input) -> Tensor", kind="view", tags=["function_only"], native="view")
def alias(input: Meta) -> Meta:
    """The same tensor as another object."""
    return input.view(input.sizes, input.strides, input.offset)


alias.vjp(lambda g: g)
alias.put(lambda base, new: new)
alias.batch(lambda n, dims, x: (alias(x), dims[0]))


@op("watched(Tensor input) -> Tensor", kind="view", tags=["function_only", "hidden"], native="view")
def watched(input: Meta) -> Meta:
    """The same tensor, whose gradient is recorded as a function of it: composites of which that is true take theirs so."""
    return input.view(input.sizes, input.strides, input.offset)


watched.whole = True
watched.vjp(lambda g, input: g)
watched.put(lambda base, new: new)
watched.batch(lambda n, dims, x: (watched(x), dims[0]))


@op("watched_image(Tensor input) -> Tensor", kind="view", tags=["function_only", "hidden"])
def watched_image(input: Meta) -> Meta:
    """The same images, whose gradient has its channels innermost."""
    return input.view(input.sizes, input.strides, input.offset)


watched_image.vjp(lambda g: in_memory(g, FORMATS[g.ndim]))
watched_image.put(lambda base, new: new)
watched_image.batch(lambda n, dims, x: (x, dims[0]))


@op("detach(Tensor input) -> Tensor", kind="view", tags=["constant"], native="copy")
def detach(input: Meta) -> Meta:
    """The same memory, cut from the graph of gradients."""
    return input.view(input.sizes, input.strides, input.offset)


@op("data_of(Tensor input) -> Tensor", kind="view", tags=["constant", "hidden"])
def data_of(input: Meta) -> Meta:
    """Tensor.data within a transform: cut from the history of that transform alone, not of those around it."""
    return input.view(input.sizes, input.strides, input.offset)


@op("bitcast(Tensor input, ScalarType dtype) -> Tensor", kind="view", tags=["constant", "function_only", "hidden"], native="view")
def bitcast(input: Meta, dtype: DType) -> Meta:
    """The same memory read in another dtype, cut from the graph of gradients; another item size changes the last dimension.

    Raises RuntimeError where the items of the other dtype would not lie side by side, or begin within one of these.
    """
    more, fewer = input.dtype.itemsize // dtype.itemsize or 1, dtype.itemsize // input.dtype.itemsize or 1
    sizes, strides = list(input.sizes), list(input.strides)
    if more == fewer:
        return input.view(sizes, strides, input.offset, dtype)
    both = f"{TYPE_NAMES[input.dtype.name]} as {TYPE_NAMES[dtype.name]} (different element sizes)"
    if not sizes:
        raise RuntimeError(f"self.dim() cannot be 0 to view {both}")
    if sizes[-1] != 1 and strides[-1] != 1:
        raise RuntimeError(f"self.stride(-1) must be 1 to view {both}, but got {strides[-1]}")
    if fewer > 1 and sizes[-1] % fewer:
        raise RuntimeError(f"self.size(-1) must be divisible by {fewer} to view {both}, but got {sizes[-1]}")
    if fewer > 1 and input.offset % fewer:
        raise RuntimeError(f"self.storage_offset() must be divisible by {fewer} to view {both}, but got {input.offset}")
    for i, stride in enumerate(strides[:-1]):
        if fewer > 1 and stride % fewer:
            raise RuntimeError(f"self.stride({i}) must be divisible by {fewer} to view {both}, but got {stride}")
    sizes[-1] = sizes[-1] * more // fewer
    return input.view(sizes, [*(s * more // fewer for s in strides[:-1]), 1], input.offset * more // fewer, dtype)


@bitcast.kernel
def _(out, x, dtype):
    np.copyto(out, np.ascontiguousarray(x).view(out.dtype).reshape(out.shape))


@bitcast.put
def _(base, new, dtype):
    """Other values in the memory, which keeps its history: what was read as another dtype has none."""
    same = new.dtype.itemsize == base.dtype.itemsize
    return ops.replace_values(base, bitcast(new if same else ops.contiguous(new), base.dtype))


bitcast.batch(lambda n, dims, x, dtype: (bitcast(to_front(x, dims[0]), dtype), 0))
detach.put(lambda base, new: ops.replace_values(base, new))
detach.batch(lambda n, dims, x: (detach(x), dims[0]))
data_of.put(lambda base, new: ops.replace_data(base, new))
data_of.batch(lambda n, dims, x: (detach(x), dims[0]))
for _made in (permute, expand, squeeze, unsqueeze, slice, select, diagonal, unfold, as_strided, alias):
    _linear(_made)
view.jvp_fn = lambda tangents, input, size, out: reshape(tangents[0], size)  # (a tangent need not lie in memory as its primal)


@composite("reshape(Tensor input, int[*] shape) -> Tensor", native="view")
def reshape(input, shape):
    """A view with these sizes if strides allow it, else a copy."""
    meta = Meta.of(input)
    size = infer_size(shape, meta.numel())
    if len(size) == meta.ndim and all(map(known_equal, size, meta.sizes)):
        return alias(input)
    if view_strides(meta.sizes, meta.strides, size) is None:
        return view(ops.row_major(input), size)
    return view(input, size)
