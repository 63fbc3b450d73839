"""Order, search and sets: sort, topk, searchsorted, unique, nonzero."""

from typing import Any

import numpy as np

from aten import _native
from aten import dtype as dtypes
from aten.derivative import Missing
from aten.info import iinfo
from aten.meta import Meta, contiguous_strides, exceeds
from aten.op import composite, op, ops
from aten.ops.batching import batch_dims, differs_by_element
from aten.ops.comparison import as_compared
from aten.ops.order_beside_nan import order_beside_nan
from aten.ops.reduction import put_along
from aten.promotion import TYPE_NAMES, category
from aten.shapes import broadcast, is_empty, is_int, product, reduced_sizes, show, wrap_dim
from aten.symbolic.unknown import unknown_size


def _comparable(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float32) if x.dtype.kind not in "biufc" else x


def _order(x: np.ndarray, dim: int, descending: bool) -> np.ndarray:
    """Positions in sorted order: stable, NaN counts as the largest."""
    x = _comparable(x)
    if not descending:
        return np.argsort(x, axis=dim, kind="stable")
    back = np.flip(x, dim)
    return np.flip(x.shape[dim] - 1 - np.argsort(back, axis=dim, kind="stable"), dim)


def _put_first(out: tuple[np.ndarray, np.ndarray], x: np.ndarray, dim: int, descending: bool) -> None:
    """The first elements along `dim` in sorted order, as many as `out` has room for, and their positions."""
    order = np.take(_order(x, dim, descending), np.arange(out[0].shape[dim]), axis=dim)
    out[0][...], out[1][...] = np.take_along_axis(x, order, dim), order


@op(
    "sort(Tensor input, Any dim=-1, bool descending=False, bool stable=False) -> (Tensor values, Tensor indices)",
    tags=["library"],
)
def sort(input: Meta, dim: int, descending: bool, stable: bool) -> tuple[Meta, Meta]:
    """Elements in order along a dimension and where they stood. Always stable; NaN is the largest."""
    return input.like(), input.like(dtype=dtypes.int64)


@sort.normal
def _(input, dim, descending, stable):
    if not (dim is None or is_int(dim) or getattr(dim, "ndim", 1) == 0):
        raise TypeError(f"sort(): argument 'dim' must be int, not {type(dim).__name__}")
    return input, wrap_dim(-1 if dim is None else dim, input.ndim), descending, stable


@sort.kernel
def _(out, x, dim, descending, stable):
    if x.ndim == 0:
        out[0][...], out[1][...] = x, 0
        return
    _put_first(out, x, dim, descending)


@sort.vjp
def _(g, input_meta, dim, indices):
    if g[0] is None or input_meta.ndim == 0:
        return g[0]
    return put_along(g[0], indices, dim, True, input_meta)


sort.batch_fn = batch_dims(sort, outputs=2)


@composite("msort(Tensor input) -> Tensor")
def msort(input):
    """Sorted along the first dimension."""
    return sort(input, 0)[0]


@composite("argsort(Tensor input, int dim=-1, bool descending=False, bool stable=False) -> Tensor")
def argsort(input, dim, descending, stable):
    """Where the elements in order stood."""
    return sort(input, dim, descending, stable)[1]


@op(
    "topk(Tensor input, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)",
    tags=["library"],
)
def topk(input: Meta, k: Any, dim: int, largest: bool, sorted: bool) -> tuple[Meta, Meta]:
    """The k largest (or smallest) elements along a dimension, in order, and where they stand."""
    n = input.sizes[dim] if input.ndim else 1
    if exceeds(0, k) or exceeds(k, n):
        raise RuntimeError("selected index k out of range")
    if input.dtype is dtypes.bool:
        raise RuntimeError("topk does not support bool dtypes on CPU")
    sizes = list(input.sizes)
    if sizes:
        sizes[dim] = k
    return input.like(sizes=sizes), input.like(sizes=sizes, dtype=dtypes.int64)


topk.normal(lambda input, k, dim, largest, sorted: (input, k, wrap_dim(dim, input.ndim), largest, sorted))


@topk.kernel
def _(out, x, k, dim, largest, sorted):
    if x.ndim == 0:
        out[0][...], out[1][...] = x, 0
        return
    _put_first(out, x, dim, largest)


@topk.vjp
def _(g, input_meta, dim, indices):
    if g[0] is None or input_meta.ndim == 0:
        return g[0]
    return put_along(g[0], indices, dim, True, input_meta)


# --------------------------------------------------------------------------------------------- one element of each row
def _picks(name: str, doc: str, extra: str = "") -> Any:
    """Declare name(input, …, dim, keepdim) -> (values, indices): one element of each row along a dim. Returns the op."""
    public = name.removesuffix("_dim")
    declaration = f"{name}(Tensor input, {extra}int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)"
    tags = ["fused", "library"] + (["function_only"] if name.endswith("_dim") else [])

    def results(input: Meta, dim: int, keepdim: bool) -> tuple[Meta, Meta]:
        if input.ndim and is_empty(input.sizes[dim]):
            raise IndexError(f"{public}(): Expected reduction dim {dim} to have non-zero size.")
        out = input.like(sizes=reduced_sizes(input.sizes, [dim] if input.ndim else [], keepdim))
        return out, out.like(dtype=dtypes.int64)

    if extra:

        def rule(input: Meta, k: Any, dim: int, keepdim: bool) -> tuple[Meta, Meta]:
            made = results(input, dim, keepdim)
            if exceeds(1, k) or exceeds(k, input.sizes[dim] if input.ndim else 1):
                raise RuntimeError(f"{public}(): selected number k out of range for dimension {dim}")
            return made

    else:

        def rule(input: Meta, dim: int, keepdim: bool) -> tuple[Meta, Meta]:  # type: ignore[misc]
            return results(input, dim, keepdim)

    rule.__doc__ = doc
    made = op(declaration, tags=tags)(rule)
    made.normal(lambda input, *rest: (input, *rest[:-2], wrap_dim(rest[-2], input.ndim), rest[-1]))
    made.vjp(lambda g, input_meta, dim, keepdim, indices: put_along(g[0], indices, dim, keepdim, input_meta))
    made.batch_fn = batch_dims(made, outputs=2, before=1 if extra else 0)
    return made


def _pick_kernel(place: Any) -> Any:
    """`place(x in order, *what comes before dim)`: which of the elements in order, counted along the first dim."""

    def kernel(out: Any, x: np.ndarray, *rest: Any) -> None:
        dim = rest[-2]
        if x.ndim == 0:
            out[0][...], out[1][...] = x, 0
            return
        order = np.moveaxis(_order(x, dim, False), dim, 0)
        rows = np.moveaxis(x, dim, 0)
        at = np.take_along_axis(order, np.asarray(place(np.take_along_axis(rows, order, 0), *rest[:-2]))[None], 0)
        out[0][...] = np.take_along_axis(rows, at, 0).reshape(out[0].shape)
        out[1][...] = at.reshape(out[1].shape)

    return kernel


def _numbers(x: np.ndarray) -> np.ndarray:
    """How many of the elements along the first dim are numbers."""
    return (x == x).sum(0)


def _middle_place(x: np.ndarray) -> np.ndarray:
    return np.where(_numbers(x) < len(x), _numbers(x), (len(x) - 1) // 2)


def _mode_place(x: np.ndarray) -> np.ndarray:
    places = np.arange(len(x)).reshape([-1] + [1] * (x.ndim - 1))
    begins = np.maximum.accumulate(np.where(np.concatenate([x[:1] == x[:1], x[1:] != x[:-1]]), places, 0), 0)
    return np.argmax(places - begins, 0)


kthvalue = _picks("kthvalue", "The k-th smallest element along a dimension.", "int k, ")
kthvalue.kernel(_pick_kernel(lambda x, k: np.full(x.shape[1:], k - 1)))
median_dim = _picks("median_dim", "The lower middle element along a dimension; NaN if there is one.")
median_dim.kernel(_pick_kernel(_middle_place))
nanmedian_dim = _picks("nanmedian_dim", "The lower middle element along a dimension, NaN left out.")
nanmedian_dim.kernel(_pick_kernel(lambda x: np.maximum(_numbers(x) - 1, 0) // 2))
mode = _picks("mode", "The most frequent element along a dimension (the smallest of equally frequent ones), and its last place.")
_mode_of_numbers = _pick_kernel(_mode_place)


@mode.kernel
def _(out: Any, x: np.ndarray, dim: int, keepdim: bool) -> None:
    _mode_of_numbers(out, x, dim, keepdim)
    if x.ndim == 0 or not (x != x).any():
        return
    rows = np.moveaxis(x, dim, -1)
    values, places = (t if keepdim else np.expand_dims(t, dim) for t in out)
    values, places = np.moveaxis(values, dim, -1), np.moveaxis(places, dim, -1)
    for at in np.ndindex(rows.shape[:-1]):
        if (rows[at] != rows[at]).any():
            order = np.array(order_beside_nan(rows[at].tolist()))
            place = order[_mode_place(rows[at][order])]
            values[at], places[at] = rows[at][place], place


def _in_order(pick: Any) -> Any:
    """A decomposition: `pick(values in order, where they stood, *what comes before dim, dim)` with dim kept."""

    def decomposed(input: Any, *rest: Any) -> Any:
        *given, dim, keepdim = rest
        if input.ndim == 0:
            return ops.clone(input), ops.zeros_like(input, dtype=dtypes.int64)
        values, indices = sort(input, dim, False, True)
        at = pick(input, values, *given, dim)
        found = ops.gather(values, dim, at), ops.gather(indices, dim, at)
        return found if keepdim else tuple(x.squeeze([dim]) for x in found)

    return decomposed


def _everywhere(values: Any, dim: int, at: Any) -> Any:
    return ops.full([*values.shape[:dim], 1, *values.shape[dim + 1 :]], at, dtype=dtypes.int64, device=values.device)


@kthvalue.decompose
def _(input, k, dim, keepdim):
    return _in_order(lambda input, values, k, dim: _everywhere(values, dim, k - 1))(input, k, dim, keepdim)


def _count_of_numbers(input: Any, dim: int) -> Any:
    return ops.sum(ops.logical_not(ops.isnan(input)), [dim], True)


@median_dim.decompose
def _(input, dim, keepdim):
    def place(input: Any, values: Any, dim: int) -> Any:
        n = input.shape[dim]
        numbers = _count_of_numbers(input, dim)
        return ops.where(numbers < n, numbers, (n - 1) // 2)

    return _in_order(place)(input, dim, keepdim)


@nanmedian_dim.decompose
def _(input, dim, keepdim):
    place = lambda input, values, dim: ops.floor_divide((_count_of_numbers(input, dim) - 1).clamp(min=0), 2)
    return _in_order(place)(input, dim, keepdim)


@mode.decompose
def _(input, dim, keepdim):
    def place(input: Any, values: Any, dim: int) -> Any:
        places = ops.arange(input.shape[dim], device=input.device).reshape([-1] + [1] * (input.ndim - 1 - dim)).expand(input.shape)
        n = input.shape[dim] - 1
        changes = ops.ne(values.narrow(dim, 1, n), values.narrow(dim, 0, n))
        firsts = ops.cat([places.narrow(dim, 0, 1), ops.where(changes, places.narrow(dim, 1, n), 0)], dim)
        return ops.argmax(places - ops.cummax(firsts, dim)[0], dim, True)  # less where its run of equal elements begins

    return _in_order(place)(input, dim, keepdim)


def _middle_of_nothing(x: Any) -> Any:
    """NaN, a function of x; of integers what processors make of it: the least one of int32 and int64, 0 of smaller ones."""
    if category(x.dtype) >= 2:
        return ops.sum(x) + float("nan")
    return ops.full([], 0 if x.dtype.itemsize < 4 else iinfo(x.dtype).min, dtype=x.dtype, device=x.device)


def _middle(name: str) -> None:
    @composite(f"{name}(Tensor input, int? dim=None, bool keepdim=False) -> Any")
    def definition(input, dim, keepdim):
        """The lower middle element: of all, or (values, indices) along a dimension."""
        along = getattr(ops, f"{name}_dim")
        if dim is not None:
            return along(input, dim, keepdim)
        if input.numel() == 0:
            return _middle_of_nothing(input)
        flat = ops.reshape(input, [-1])
        if category(input.dtype) < 2 or not _native.is_grad_enabled():
            return along(flat, 0)[0]
        value = along(flat.detach(), 0)[0]
        if not flat.requires_grad and not _native.is_tracer(flat):
            return value
        chosen = ops.eq(flat, value) | (ops.isnan(flat) & ops.isnan(value))
        shared = ops.sum(ops.where(chosen, flat, 0.0), [0]) / ops.sum(chosen, [0])  # equal elements share the gradient
        return ops.replace_values(shared, value)


_middle("median")
_middle("nanmedian")


@composite("quantile(Tensor input, Any q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor")
def quantile(input, q, dim, keepdim, interpolation):
    """The q-th quantiles; NaN if there is one."""
    return _quantile(input, q, dim, keepdim, interpolation, False)


@composite("nanquantile(Tensor input, Any q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor")
def nanquantile(input, q, dim, keepdim, interpolation):
    """The q-th quantiles, NaN left out."""
    return _quantile(input, q, dim, keepdim, interpolation, True)


def _quantile(input: Any, q: Any, dim: int | None, keepdim: bool, interpolation: str, ignore_nan: bool) -> Any:
    if input.dtype not in (dtypes.float32, dtypes.float64):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if not hasattr(q, "dtype"):
        if not 0 <= q <= 1:
            raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q}")
        q = ops.full([], q, dtype=input.dtype)
    if q.dtype is not input.dtype:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        kinds = "linear, lower, higher, midpoint or nearest"
        raise RuntimeError(f"quantile() interpolation must be one of {kinds}, but got {interpolation}")
    if q.ndim > 1:
        raise RuntimeError(f"quantile() q must be a scalar or 1D tensor, but got {q.ndim} dims")
    ndim, dim = input.ndim, dim if dim is None else wrap_dim(dim, input.ndim)
    x = ops.reshape(input, [-1]) if dim is None else ops.movedim(input, dim, -1) if ndim else input.unsqueeze(0)
    if is_empty(input.numel()):
        raise RuntimeError("quantile() input tensor must be non-empty")
    values = sort(x, -1)[0]
    numbers = ops.sum(ops.logical_not(ops.isnan(x)), [-1], True)
    n = numbers if ignore_nan else ops.full_like(numbers, x.shape[-1])
    rank = (n - 1).clamp(min=0).to(input.dtype) * q.reshape([-1])
    if not ignore_nan:  # NaN, which stand last
        rank = ops.where(ops.lt(numbers, x.shape[-1]), float(x.shape[-1] - 1), rank)
    low, high = rank.floor(), rank.ceil()
    if interpolation == "nearest":
        low = high = rank.round()
    elif interpolation == "lower":
        high = low
    elif interpolation == "higher":
        low = high
    a, b = ops.gather(values, -1, low.to(dtypes.int64)), ops.gather(values, -1, high.to(dtypes.int64))
    weight = ops.full_like(rank, 0.5) if interpolation == "midpoint" else rank - low
    result = ops.lerp(a, b, weight) if interpolation in ("linear", "midpoint") else a
    result = ops.movedim(result, -1, 0)
    if keepdim:
        if dim is None:
            result = result.reshape([result.shape[0], *([1] * ndim)])
        elif ndim:
            result = result.unsqueeze(dim + 1)
    return result if q.ndim else result.squeeze([0])


# ---------------------------------------------------------------------------------------------------------- search
@op(
    "searchsorted(Tensor sorted_sequence, Any input, *, bool out_int32=False, bool right=False, str? side=None, "
    "Tensor? sorter=None) -> Tensor",
    tags=["library", "function_only"],
)
def searchsorted(sorted_sequence: Meta, input: Meta, out_int32: bool, right: bool) -> Meta:
    """Where values would go to keep a sorted last dimension sorted."""
    lead = sorted_sequence.sizes[:-1]
    if sorted_sequence.ndim > 1 and (input.ndim != sorted_sequence.ndim or tuple(input.sizes[:-1]) != tuple(lead)):
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of "
            "boundaries tensor "
            f"and input value tensor must match, but we got boundaries tensor {show(sorted_sequence.sizes)} and "
            f"input value "
            f"tensor {show(input.sizes)}"
        )
    return input.like(sizes=input.sizes, dtype=dtypes.int32 if out_int32 else dtypes.int64)


@searchsorted.normal
def _(sorted_sequence, input, out_int32, right, side, sorter):
    if sorted_sequence.ndim == 0:
        raise RuntimeError("torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension")
    if not hasattr(input, "dtype"):
        input = as_compared(input, sorted_sequence)
    elif isinstance(input, np.ndarray):
        raise TypeError("searchsorted() received an invalid combination of arguments - got (Tensor, numpy.ndarray)")
    if side is not None:
        if side not in ("left", "right"):
            raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
        if right and side == "left":
            raise RuntimeError(
                "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
            )
        right = side == "right"
    return sorted_sequence, input, out_int32, right


@searchsorted.special(lambda sorted_sequence, input, out_int32, right, side, sorter: sorter is not None)
def _(sorted_sequence, input, out_int32, right, side, sorter):
    if tuple(sorter.shape) != tuple(sorted_sequence.shape):
        raise RuntimeError(
            "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
            f"{show(sorted_sequence.shape)}and got sorter tensor {show(sorter.shape)}"
        )
    ordered = ops.gather(sorted_sequence, -1, sorter)
    return searchsorted(ordered, input, out_int32=out_int32, right=right, side=side)


@searchsorted.kernel
def _(out, rows, x, out_int32, right):
    side = "right" if right else "left"
    rows, x = _comparable(rows), _comparable(x)
    if rows.ndim == 1:
        out[...] = np.searchsorted(rows, x, side)
        return
    for at in np.ndindex(*rows.shape[:-1]):
        out[at] = np.searchsorted(rows[at], x[at], side)


@composite(
    "bucketize(Any input, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
    tags=["function_only"],
)
def bucketize(input, boundaries, out_int32, right):
    """Which interval between sorted boundaries each value is in."""
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


@op("nonzero(Tensor input, *, bool as_tuple=False) -> Tensor", tags=["dynamic", "library"], native="places")
def nonzero(input: Meta) -> Meta:
    """The indices of the elements that are not 0, one a row. Its sizes depend on the data."""
    found = unknown_size("the sizes of nonzero() depend on the data", input.numel())
    return Meta(dtypes.int64, input.device, (found, input.ndim), (1, found))  # (the coordinates of each dim lie together)


nonzero.special(lambda input, as_tuple: as_tuple)(lambda input, as_tuple: _by_dim(input))


@nonzero.kernel
def _(x):
    # (The comparison makes a mask in memory: one that shows few elements too many times is refused there, at once.)
    mask = np.atleast_1d(x if x.dtype == bool and x.flags.c_contiguous else x != 0)
    if not mask.any():
        return ops.empty_strided([0, x.ndim], [1, 0], dtype=dtypes.int64)
    return _native.from_numpy(np.stack(np.nonzero(mask))[: x.ndim].astype(np.int64).T)  # (of arrays the copy would be row-major)


def _by_dim(input: Any) -> tuple[Any, ...]:
    x = input.reshape([1]) if input.ndim == 0 else input
    found = nonzero(x)
    return tuple(ops.select(found, 1, d) for d in range(x.ndim))


@composite("argwhere(Tensor input) -> Tensor")
def argwhere(input):
    """The indices of the elements that are not 0, one a row."""
    return nonzero(input)


@op("masked_select(Tensor input, BoolTensor mask) -> Tensor", tags=["dynamic", "library"], native="places")
def masked_select(input: Meta, mask: Meta) -> Meta:
    """The elements where the mask holds, in order, as a vector."""
    sizes = broadcast(input.sizes, mask.sizes)
    shown = unknown_size("the sizes of masked_select() depend on the data", product(sizes))
    return Meta(input.dtype, input.device, (shown,), (1,))


@masked_select.kernel
def _(x, mask):
    if mask.dtype != bool:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    sizes = broadcast(x.shape, mask.shape)
    return np.broadcast_to(x, sizes)[np.broadcast_to(mask, sizes)]


@masked_select.vjp
def _(g, input_meta, mask):
    sizes = np.broadcast_shapes(tuple(input_meta.sizes), tuple(mask.shape))
    zeros = ops.full(list(sizes), 0, dtype=g.dtype, device=input_meta.device)
    return ops.masked_scatter(zeros, mask, g)


@composite("masked_scatter(Tensor input, BoolTensor mask, Tensor source) -> Tensor", native="places", inplace=True)
def masked_scatter(input, mask, source):
    """input with the elements where the mask holds replaced by those of source, in order."""
    if mask.dtype is not dtypes.bool:
        raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {TYPE_NAMES[mask.dtype.name]}")
    sizes = np.broadcast_shapes(tuple(input.shape), tuple(mask.shape))
    x, mask = input.expand(list(sizes)), mask.expand(list(sizes))
    if source.dtype is not input.dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got {TYPE_NAMES[input.dtype.name]} and "
            f"{TYPE_NAMES[source.dtype.name]}"
        )
    flat = mask.reshape([-1])
    at = (ops.cumsum(flat, 0) - 1).clamp(min=0)
    unknown = flat.is_meta or differs_by_element(flat)
    needed = 1 if unknown else ops.sum(flat).item()
    if not unknown and exceeds(needed, source.numel()):
        raise RuntimeError("masked_scatter: expected source to have at least as many elements as the mask has true ones")
    if needed == 0:
        return ops.row_major(x)
    taken = ops.index_select(source.reshape([-1]), 0, ops.where(flat, at, 0)).reshape(list(sizes))
    return ops.contiguous(ops.where(mask, taken, x))


# ------------------------------------------------------------------------------------------------------------ sets
@op(
    "unique_dim(Tensor input, Any dim, bool return_inverse, bool return_counts) -> (Tensor, Tensor, Tensor)",
    tags=["dynamic", "library", "function_only"],
)
def unique_dim(input: Meta, dim: Any, return_inverse: bool, return_counts: bool) -> Meta:
    """Different elements (or slices along dim) in order, where each went, and how often it occurs."""
    n = input.numel() if dim is None else input.sizes[dim]
    found = unknown_size("the sizes of unique() depend on the data", n)
    sizes = (found,) if dim is None else (*input.sizes[:dim], found, *input.sizes[dim + 1 :])
    inverse = input.sizes if dim is None else (n,)
    return (
        Meta(input.dtype, input.device, sizes, contiguous_strides(sizes)),
        Meta(dtypes.int64, input.device, inverse, contiguous_strides(inverse)),
        Meta(dtypes.int64, input.device, (found,), (1,)),
    )


@unique_dim.kernel
def _(x, dim, return_inverse, return_counts):
    values, inverse, counts = np.unique(_comparable(x), return_inverse=True, return_counts=True, axis=dim, equal_nan=False)
    inverse = inverse.reshape(x.shape if dim is None else (x.shape[dim],))
    return values.astype(x.dtype), inverse.astype(np.int64), counts.astype(np.int64)


@unique_dim.vjp
def _(g, dim):
    return Missing("_unique2" if dim is None else "unique_dim", said=True)


@composite(
    "unique(Tensor input, bool sorted=True, bool return_inverse=False, bool return_counts=False, int? dim=None) -> Any",
    native="structure",
)
def unique(input, sorted, return_inverse, return_counts, dim):
    """Different elements (or slices along dim) in order; with their places and numbers if asked."""
    dim = None if dim is None else wrap_dim(dim, input.ndim)
    if dim is not None and any(is_empty(s) for d, s in enumerate(input.shape) if d != dim):
        several = is_empty(input.shape[dim])
        what = "There are 0 sized dimensions, and they aren't selected"
        what = "Number of zero sized dimensions is more than one" if several else what
        raise RuntimeError(f"{what}, so unique cannot be applied")
    values, inverse, counts = unique_dim(input, dim, return_inverse, return_counts)
    return _some(values, inverse, counts, return_inverse, return_counts)


def _some(values: Any, inverse: Any, counts: Any, return_inverse: bool, return_counts: bool) -> Any:
    result = (values, *([inverse] if return_inverse else []), *([counts] if return_counts else []))
    return result[0] if len(result) == 1 else result


@op(
    "unique_runs(Tensor input, bool return_inverse, bool return_counts) -> (Tensor, Tensor, Tensor)",
    tags=["dynamic", "library", "function_only", "hidden"],
)
def unique_runs(input: Meta, return_inverse: bool, return_counts: bool) -> Meta:
    """The elements, row by row, that differ from the one before; the run of each element, and the lengths of runs."""
    found = unknown_size("the sizes of unique_consecutive() depend on the data", input.numel())
    return (
        Meta(input.dtype, input.device, (found,), (1,)),
        Meta.contiguous(input.sizes, dtypes.int64, input.device),
        Meta(dtypes.int64, input.device, (found,), (1,)),
    )


@unique_runs.kernel
def _(x, return_inverse, return_counts):
    flat = x.reshape(-1)
    first = np.concatenate([np.ones(min(len(flat), 1), bool), flat[1:] != flat[:-1]])
    starts = np.flatnonzero(first)
    inverse = (np.cumsum(first) - 1).reshape(x.shape)
    return flat[starts], inverse.astype(np.int64), np.diff(np.append(starts, len(flat))).astype(np.int64)


@composite(
    "unique_consecutive(Tensor input, bool return_inverse=False, bool return_counts=False, int? dim=None) -> Any",
    native="structure",
)
def unique_consecutive(input, return_inverse, return_counts, dim):
    """Elements (or slices along dim) that differ from the one before."""
    if dim is None and input.device.type != "cuda" and not _native.is_tracer(input):  # (there it is made of ops that it has)
        values, inverse, counts = unique_runs(input.contiguous(), return_inverse, return_counts)
        return _some(values, inverse, counts, return_inverse, return_counts)
    x = input.reshape([-1]) if dim is None else ops.movedim(input, dim, 0)
    n = x.shape[0]
    changed = ops.ne(x[1:], x[:-1]) if n else ops.zeros(0, dtype=dtypes.bool)
    for _ in range(changed.ndim - 1):
        changed = ops.any(changed, 1)
    first = ops.cat([ops.ones(min(n, 1), dtype=dtypes.bool), changed]) if n else changed
    inverse = ops.cumsum(first, 0) - 1
    starts = nonzero(first).reshape([-1])
    values = ops.index_select(x, 0, starts)
    counts = ops.cat([starts[1:], ops.full([min(n, 1)], n, dtype=dtypes.int64)]) - starts
    if dim is None:
        return _some(values, inverse.reshape(list(input.shape)), counts, return_inverse, return_counts)
    return _some(ops.movedim(values, 0, dim), inverse, counts, return_inverse, return_counts)
