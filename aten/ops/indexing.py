"""Reading and writing by index tensors: gather, scatter, index_select, index, index_put, embedding, scatter_reduce."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np

from aten import dtype as dtypes
from aten.arrays import as_number
from aten.meta import Meta, exceeds, known_equal
from aten.op import composite, inplace_of, op, ops
from aten.ops.accumulate import add_at
from aten.ops.pointwise import conjugate
from aten.ops.view import zeros_of
from aten.promotion import TYPE_NAMES, element, to_real
from aten.shapes import is_empty, product, show, wrap_dim
from aten.symbolic.symint import SYMBOLIC

INDEX_DTYPES = (dtypes.int64, dtypes.int32)


def _check_index(name: str, index: Meta) -> None:
    if index.dtype not in INDEX_DTYPES:
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")


def in_range(index: np.ndarray, size: int, dim: int) -> np.ndarray:
    """A copy of the index, for NumPy to use: another thread may write to the index after it was checked, and NumPy reads it
    again. Raises IndexError for an index outside [0, size)."""
    index = index.copy()
    if index.size and (index.min() < 0 or index.max() >= size):
        bad = index[(index < 0) | (index >= size)].flat[0]
        raise IndexError(outside(bad, dim, size))
    return index


def outside(index: Any, dim: int, size: int) -> str:
    """What an IndexError says of an index that is not there."""
    if size == 0:
        return f"index is out of bounds for dimension with size 0: {index} in dimension {dim}"
    return f"index {index} is out of bounds for dimension {dim} with size {size}"


def _in_range_runtime(index: np.ndarray, size: int, dim: int) -> np.ndarray:
    try:
        return in_range(index, size, dim)
    except IndexError as e:
        raise RuntimeError(str(e)) from None


# ---------------------------------------------------------------------------------------------- gather, scatter
@op("gather(Tensor input, int dim, LongTensor index, *, bool sparse_grad=False) -> Tensor", tags=["indexing"], native="places")
def gather(input: Meta, dim: int, index: Meta) -> Meta:
    """out[i] = input[i with i[dim] = index[i]]. Raises RuntimeError for an index outside the dimension."""
    if type(index.numel()) is int and index.numel() == 0:
        return input.like(sizes=index.sizes)
    _check_index("gather", index)
    if max(input.ndim, 1) != max(index.ndim, 1):
        if is_empty(index.numel()):
            return input.like(sizes=index.sizes)
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    for d in range(min(input.ndim, index.ndim)):
        if d != dim and exceeds(index.sizes[d], input.sizes[d]):
            raise RuntimeError(
                f"Size does not match at dimension {d} expected index {show(index.sizes)} to be no larger than self "
                f"{show(input.sizes)} apart from dimension {dim}"
            )
    return input.like(sizes=index.sizes)


gather.normal(lambda input, dim, index, *rest: (input, wrap_dim(dim, input.ndim), index))


def _places(index: np.ndarray, dim: int) -> tuple[Any, ...]:
    """Where `index` points, as an index of a NumPy array."""
    places = list(np.ogrid[tuple(np.s_[:n] for n in index.shape)]) if index.ndim else []
    places[dim : dim + 1] = [index]
    return tuple(places)


@gather.kernel
def _(out, x, dim, index):
    x, flat, o = (
        np.atleast_1d(x),
        np.atleast_1d(index),
        out.reshape(max(out.shape, (1,)) if out.ndim == 0 else out.shape),
    )
    flat = _in_range_runtime(flat, x.shape[dim], dim)
    if flat.size:
        o[...] = x[_places(flat, dim)]


@gather.vjp
def _(g, dim, index, input_meta):
    if index.dtype not in (dtypes.int32, dtypes.int64):  # an empty index may be of any dtype
        index = ops.cast(index, dtypes.int64)
    return scatter_add(zeros_of(input_meta, g), dim, index, g)


gather.jvp(lambda tangents, input, dim, index, out: gather(tangents[0], dim, index))


@op("gather_class(Tensor input, int dim, LongTensor index) -> Tensor", tags=["fused", "function_only"])
def gather_class(input: Meta, dim: int, index: Meta) -> Meta:
    """`gather` of losses: raises IndexError for a target that is no class."""
    return gather.function(input, dim, index)


gather_class.decompose(lambda input, dim, index: gather(input, dim, index))
gather_class.whole = True
gather_class.vjp(lambda g, input, dim, index: scatter_add(zeros_of(Meta.of(input), g), dim, index, g))


@gather_class.kernel
def _(out, x, dim, index):
    if index.size and (index.min() < 0 or index.max() >= x.shape[dim]):
        bad = index[(index < 0) | (index >= x.shape[dim])].flat[0]
        raise IndexError(f"Target {bad} is out of bounds.")
    gather.kernel_fn(out, x, dim, index)


def _scatter_check(name: str, input: Meta, dim: int, index: Meta, src: Any) -> None:
    if index.dtype not in INDEX_DTYPES:
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    if isinstance(src, Meta):
        if src.dtype is not input.dtype:
            raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype")
        if max(src.ndim, 1) != max(index.ndim, 1):
            raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    if max(input.ndim, 1) != max(index.ndim, 1):
        if is_empty(index.numel()):
            return
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    if type(index.numel()) is int and index.numel() == 0:
        return
    beyond = any(d != dim and exceeds(n, input.sizes[d]) for d, n in enumerate(index.sizes[: input.ndim]))
    if isinstance(src, Meta) and src.ndim == index.ndim:
        beyond = beyond or any(map(exceeds, index.sizes, src.sizes))
    if beyond:
        text = f"Expected index {show(index.sizes)} to be no larger than self {show(input.sizes)} apart from dimension {dim}"
        if isinstance(src, Meta):
            text += f" and to be no larger size than src {show(src.sizes)}"
        raise RuntimeError(text)


def _scatter_normal(input, dim, index, src):
    return input, wrap_dim(dim, input.ndim), index, src


@op(
    "scatter(Tensor input, int dim, LongTensor index, Tensor? src=None, *, str? reduce=None, Any value=None) -> Tensor",
    tags=["indexing", "scalars"],
    native="places",
)
def scatter(input: Meta, dim: int, index: Meta, src: Any) -> Meta:
    """input with out[i with i[dim] = index[i]] = src[i]; src may be a number. Of equal places the last wins."""
    _scatter_check("scatter", input, dim, index, src)
    return input.like(sizes=input.sizes)


@scatter.special(lambda input, dim, index, src, reduce, value: reduce is not None)
def _(input, dim, index, src, reduce, value):
    src = value if src is None else src
    if not hasattr(src, "dtype"):
        src = ops.full(list(index.shape), src, dtype=input.dtype, device=input.device)
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    return scatter_add(input, dim, index, src) if reduce == "add" else scatter_reduce(input, dim, index, src, "prod")


@scatter.normal
def _(input, dim, index, src, reduce, value):
    src = value if src is None else src
    if not hasattr(input, "dtype"):
        raise TypeError(f"scatter(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    return input, wrap_dim(dim, input.ndim), index, src if hasattr(src, "dtype") else element(src, input.dtype)


def _scatter_views(out: np.ndarray, index: np.ndarray, src: Any, dim: int) -> tuple[np.ndarray, np.ndarray, Any]:
    o = out.reshape(-1) if out.ndim == 0 else out
    i = _in_range_runtime(np.atleast_1d(index), o.shape[dim], dim)
    if isinstance(src, np.ndarray) and (src.ndim or index.ndim == 0):
        src = np.atleast_1d(src)[tuple(np.s_[:n] for n in i.shape)]
    return o, i, src


@scatter.kernel
def _(out, x, dim, index, src):
    out[...] = x
    o, index, src = _scatter_views(out, index, src, dim)
    if index.size:
        o[_places(index, dim)] = src if isinstance(src, np.ndarray) else as_number(src, out.dtype)


@scatter.vjp
def _(g, needs, input_meta, dim, index, src_meta):
    input_grad = scatter(g, dim, index, 0) if needs[0] else None
    if not needs[3]:
        return input_grad, None
    return input_grad, _pad_to(gather(g, dim, index), src_meta)


@scatter.jvp
def _(tangents, input, dim, index, src, out):
    # (Transposing the vjp would add up what equal places hide from each other.)
    own, put = tangents[0], tangents[3]
    own = ops.zeros_like(input) if own is None else own
    return scatter(own, dim, index, 0 if put is None else put)


def _pad_to(g: Any, meta: Any) -> Any:
    """Zeros where src reaches beyond the index."""
    if all(known_equal(a, b) for a, b in zip(g.shape, meta.sizes)):
        return g
    pad = []
    for size, full in zip(reversed(g.shape), reversed(meta.sizes)):
        pad += [0, full - size]
    return ops.constant_pad_nd(g, pad, 0)


@op(
    "scatter_add(Tensor input, int dim, LongTensor index, Tensor src) -> Tensor",
    tags=["indexing"],
    compute="float32",
    native="places",
)
def scatter_add(input: Meta, dim: int, index: Meta, src: Meta) -> Meta:
    """input with src[i] added at out[i with i[dim] = index[i]]."""
    _scatter_check("scatter_add", input, dim, index, src)
    return input.like(sizes=input.sizes)


scatter_add.normal(_scatter_normal)


@scatter_add.kernel
def _(out, x, dim, index, src):
    out[...] = x
    o, index, src = _scatter_views(out, index, src, dim)
    if index.size:
        add_at(o, _places(index, dim), src)


scatter_add.vjp((lambda g: g, lambda g, dim, index, src_meta: _pad_to(gather(g, dim, index), src_meta)))

_REDUCERS = {
    "sum": (np.add, 0),
    "prod": (np.multiply, 1),
    "mean": (np.add, 0),
    "amax": (np.maximum, None),
    "amin": (np.minimum, None),
}


@op(
    "scatter_reduce(Tensor input, int dim, LongTensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor",
    tags=["indexing"],
    compute="float32",
)
def scatter_reduce(input: Meta, dim: int, index: Meta, src: Meta, reduce: str, include_self: bool) -> Meta:
    """input with src[i] combined into out[i with i[dim] = index[i]]; reduce is sum, prod, mean, amax or amin."""
    if reduce not in _REDUCERS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    _scatter_check("scatter_reduce", input, dim, index, src)
    if (input.dtype.is_complex and reduce in ("amax", "amin")) or (input.dtype is dtypes.bool and reduce == "mean"):
        name = TYPE_NAMES[input.dtype.name]
        raise NotImplementedError(f"\"scatter_gather_tensor_cpu_reduce_{reduce}\" not implemented for '{name}'")
    return input.like(sizes=input.sizes)


scatter_reduce.normal(lambda input, dim, *rest: (input, wrap_dim(dim, input.ndim), *rest))


@scatter_reduce.kernel
def _(out, x, dim, index, src, reduce, include_self):
    out[...] = x
    o, index, src = _scatter_views(out, index, src, dim)
    if not index.size:
        return
    where, (ufunc, start) = _places(index, dim), _REDUCERS[reduce]
    if not include_self:
        if start is None:
            start = (
                (-np.inf if reduce == "amax" else np.inf)
                if o.dtype.kind == "f"
                else (np.iinfo(o.dtype).min if reduce == "amax" else np.iinfo(o.dtype).max)
                if o.dtype.kind in "iu"
                else reduce == "amin"
            )
        o[where] = start
    (add_at if ufunc is np.add else ufunc.at)(o, where, src)
    if reduce == "mean":
        n = np.ones(o.shape, np.int64) if include_self else np.zeros(o.shape, np.int64)
        add_at(n, where, np.ones((), n.dtype))
        n = np.maximum(n, 1)
        o[...] = o / n if o.dtype.kind not in "iu" else o // n


@scatter_reduce.vjp
def _(g, needs, input, dim, index, src, reduce, include_self, out):
    """Each way by the share that an element had in the result."""
    zeros, ones = ops.zeros_like(input), ops.ones_like(input)
    if reduce == "sum":
        own, given = g, gather(g, dim, index)
    elif reduce == "mean":
        real = to_real(input.dtype)
        start = ops.full(list(input.shape), int(include_self), dtype=real, device=input.device)
        n = scatter_add(start, dim, index, ops.full(list(src.shape), 1, dtype=real, device=src.device)).clamp(min=1)
        own, given = g / n, gather(g / n, dim, index)
    elif reduce == "prod":
        input, src, out = conjugate(input), conjugate(src), conjugate(out)
        rest = ops.where(input == 0, 1.0, input)
        own = g * scatter_reduce(ones, dim, index, src, "prod", include_self=True)
        masked = ops.where(src == 0, 1.0, src)
        zero = (src == 0).to(src.dtype)
        n = gather(scatter_add(zeros, dim, index, zero), dim, index)
        others = gather(scatter_reduce(rest * 0 + (input if include_self else ones), dim, index, masked, "prod"), dim, index)
        given = gather(g, dim, index) * ops.where(src == 0, ops.where(n == 1, others, 0.0), gather(out, dim, index) / masked)
    else:
        chosen_src = (gather(out, dim, index) == src).to(g.dtype)
        chosen_self = (out == input).to(g.dtype) if include_self else zeros
        n = scatter_add(chosen_self, dim, index, chosen_src)
        share = g / ops.where(n == 0, 1.0, n)
        own = share * ops.where(scatter(zeros, dim, index, 1) == 1, chosen_self, 1.0)
        given = chosen_src * gather(share, dim, index)
    if not include_self:
        own = scatter(own if reduce in ("sum",) else g, dim, index, 0)
    return own, given if known_equal(given.shape[0] if given.ndim else 1, src.shape[0] if src.ndim else 1) else _pad_to(
        given, Meta.of(src)
    )


# ----------------------------------------------------------------------------------------- whole slices by index
@op("index_select(Tensor input, int dim, LongTensor index) -> Tensor", tags=["indexing"], native="places")
def index_select(input: Meta, dim: int, index: Meta) -> Meta:
    """The slices of `dim` that a 1-d index names. Raises IndexError for an index outside the dimension, of dim 1
    RuntimeError."""
    if index.dtype not in INDEX_DTYPES:
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    sizes = list(input.sizes)
    if not sizes and type(index.numel()) is int and index.numel() != 1:
        raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index.numel()} value(s)")
    if sizes:
        sizes[dim] = index.numel()
    return input.like(sizes=sizes)


index_select.normal(lambda input, dim, index: (input, wrap_dim(dim, input.ndim), index))


@index_select.kernel
def _(out, x, dim, index):
    size = x.shape[dim] if x.ndim else 1
    if index.size and (index.min() < 0 or index.max() >= size):
        if dim != 1:
            raise IndexError("index out of range in self")
        wrong = index[(index < 0) | (index >= size)].flat[0]  # (of this dim PyTorch's loop is another one)
        raise RuntimeError(f"INDICES element is out of DATA bounds, id={wrong} axis_dim={size}")
    out[...] = np.take(x, index.reshape(-1), axis=dim) if x.ndim else x


index_select.vjp(lambda g, dim, index, input_meta: index_add(zeros_of(input_meta, g), dim, index, g))
index_select.jvp(lambda tangents, input, dim, index, out: index_select(tangents[0], dim, index))


@op(
    "index_add(Tensor input, int dim, LongTensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
    tags=["indexing"],
    compute="float32",
    native="places",
)
def index_add(input: Meta, dim: int, index: Meta, source: Meta) -> Meta:
    """input with the slices of source added to the slices of `dim` that index names."""
    _check_index("index_add", index)
    if index.ndim > 1:
        raise IndexError("index_add_(): Index is supposed to be a vector")
    if source.dtype is not input.dtype:
        raise RuntimeError(
            f"index_add_(): self ({TYPE_NAMES[input.dtype.name]}) and source ({TYPE_NAMES[source.dtype.name]}) "
            f"must have "
            "the same scalar type"
        )
    if max(source.ndim, 1) != max(input.ndim, 1):
        raise RuntimeError(
            f"index_add_(): source and self must have the same number of dimensions, but got self.shape = {show(input.sizes)} "
            f"source.shape = {show(source.sizes)}"
        )
    n = source.sizes[dim] if source.ndim else 1
    if not known_equal(n, index.numel()) and not bool(n == index.numel()):
        raise RuntimeError(
            f"index_add_(): Number of indices ({index.numel()}) should be equal to source.size(dim): ({n}), for dim: {dim}"
        )
    for d in range(input.ndim):
        if d != dim and not known_equal(input.sizes[d], source.sizes[d]) and not bool(input.sizes[d] == source.sizes[d]):
            raise RuntimeError(
                f"source tensor shape must match self tensor shape, excluding the specified dimension. Got "
                f"self.shape = "
                f"{show(input.sizes)} source.shape = {show(source.sizes)}"
            )
    return input.like(sizes=input.sizes)


@index_add.special(lambda input, dim, index, source, alpha: type(alpha) is not int or alpha != 1)
def _(input, dim, index, source, alpha):
    if source.dtype is dtypes.bool:
        return index_add(input, dim, index, source if alpha != 0 else ops.zeros_like(source))
    return index_add(input, dim, index, source * alpha)


index_add.normal(lambda input, dim, index, source, alpha: (input, wrap_dim(dim, input.ndim), index, source))


@index_add.kernel
def _(out, x, dim, index, source):
    out[...] = x
    o, source = np.atleast_1d(out) if out.ndim else out.reshape(1), np.atleast_1d(source)
    index = in_range(index.reshape(-1), o.shape[dim], dim)
    add_at(np.moveaxis(o, dim, 0), (index,), np.moveaxis(source, dim, 0))


index_add.vjp((lambda g: g, lambda g, dim, index, source_meta: index_select(g, dim, index).reshape(list(source_meta.sizes))))


@composite("index_copy(Tensor input, int dim, LongTensor index, Tensor source) -> Tensor", tags=["indexing"], inplace=True)
def index_copy(input, dim, index, source):
    """input with the slices of `dim` that index names replaced by those of source."""
    places = _copied_to(input, dim, index, source)
    if input.ndim == 0:
        return index_copy(input.reshape([1]), 0, index, source.reshape([1])).reshape([])
    return ops.contiguous(_copied(ops.index_put, input, places, index, source))


def _copied(put: Any, input: Any, places: list[Any], index: Any, source: Any) -> Any:
    try:
        return put(input, places, source)
    except IndexError as error:
        size = input.shape[len(places) - 1]
        bad = [i for i in index.reshape([-1]).tolist() if not 0 <= i < size]
        raise IndexError(f"index_copy_(): {outside(bad[0], len(places) - 1, size)}" if bad else str(error)) from None


def _copied_to(input: Any, dim: int, index: Any, source: Any) -> list[Any]:
    """The key of the slices. Raises for a source that does not fit them."""
    if index.dtype is not dtypes.int64:
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {TYPE_NAMES[index.dtype.name]}")
    if source.dtype is not input.dtype:
        raise RuntimeError(
            f"index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{TYPE_NAMES[input.dtype.name]} "
            f"and (source) {TYPE_NAMES[source.dtype.name]}"
        )
    if input.ndim == 0:
        return []
    rows = source.shape[wrap_dim(dim, input.ndim)] if source.ndim == input.ndim else None
    if rows is not None and bool(rows != product(index.shape)):
        raise IndexError(f"index_copy_(): Number of indices ({product(index.shape)}) should be equal to source.size(dim) ({rows})")
    d = wrap_dim(dim, input.ndim)
    index = index.reshape([-1])
    return [None] * d + [ops.where(index < 0, input.shape[d], index)]  # it does not count from the end


@index_copy.in_place
def _(input, dim, index, source):
    places = _copied_to(input, dim, index, source)
    return _copied(ops.index_put_, input, places, index, source) if places else NotImplemented


@composite(
    "index_fill(Tensor input, int dim, LongTensor index, Any value) -> Tensor", tags=["indexing", "into_expanded"], inplace=True
)
def index_fill(input, dim, index, value):
    """input with the slices of `dim` that index names set to a value."""
    _check_fill(input, index, value)
    if input.ndim == 0:
        return index_fill(input.reshape([1]), 0, index, value).reshape([])
    places, value = _filled_with(input, dim, index, value)
    if getattr(value, "requires_grad", False):  # whose gradient has a place once, however often it is named
        none = ops.full(list(input.shape), False, dtype=dtypes.bool, device=input.device)
        named = ops.index_put(none, places, ops.full([], True, dtype=dtypes.bool, device=input.device))
        return ops.where(named, value, input)
    return ops.index_put(input, places, value)


def _check_fill(input: Any, index: Any, value: Any) -> None:
    if index.dtype is not dtypes.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if hasattr(value, "dtype") and value.ndim:
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    inexact = value.dtype.is_complex if hasattr(value, "dtype") else isinstance(value, complex)
    if input.ndim and inexact and not input.dtype.is_complex:
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")


def _filled_with(input: Any, dim: int, index: Any, value: Any) -> tuple[list[Any], Any]:
    """The key of the slices, and the value as a tensor."""
    if not hasattr(value, "dtype"):
        value = ops.full([], element(value, input.dtype), dtype=input.dtype, device=input.device)
    return [None] * wrap_dim(dim, input.ndim) + [index.reshape([-1])], value.to(input.dtype)


@index_fill.in_place
def _(input, dim, index, value):
    _check_fill(input, index, value)
    return input.index_put_(*_filled_with(input, dim, index, value)) if input.ndim else NotImplemented


@composite("fill_diagonal_(Tensor input, Any fill_value, bool wrap=False) -> Tensor", tags=["effect"])
def fill_diagonal_(input, fill_value, wrap):
    """`fill_value` on the main diagonal, in place; wrap: of a tall matrix again and again, a row apart.

    Raises RuntimeError for fewer than 2 dims, and for more unless all are of one size.
    """
    element_alone = hasattr(fill_value, "dtype") and not fill_value.ndim and not getattr(fill_value, "requires_grad", False)
    if not element_alone and not isinstance(fill_value, (Number, *SYMBOLIC)):
        kind = type(fill_value).__name__
        raise TypeError(f"fill_diagonal_(): argument 'fill_value' (position 1) must be Number, not {kind}")
    if input.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if input.ndim > 2 and len(set(input.shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    rows, columns = input.shape[0], input.shape[1]
    places = ops.arange(min(input.shape), device=input.device)
    value = fill_value if hasattr(fill_value, "dtype") else element(fill_value, input.dtype)
    filled = value.to(input.dtype) if element_alone else ops.full([], value, dtype=input.dtype, device=input.device)
    down = places
    if wrap and input.ndim == 2 and rows > columns + 1:
        count = (rows * columns + columns) // (columns + 1)
        flat = ops.arange(count, device=input.device) * (columns + 1)
        down, places = ops.floor_divide(flat, columns), ops.remainder(flat, columns)
    input.index_put_([down, *([places] * (input.ndim - 1))], filled)
    return input


for _made in (scatter, scatter_add, scatter_reduce, index_add):
    _made.inplace = inplace_of(_made)
