"""Rearrangements as composites: transposed, split, stacked, repeated, on grids and diagonals."""

from typing import Any

import numpy as np

from aten import dtype as dtypes
from aten.errors import warn_caller
from aten.meta import exceeds, known_equal
from aten.op import alias_of, composite, ops
from aten.ops.formats import format_of
from aten.ops.structure import cat, constant_pad_nd, flip, interleaved, wrap_all
from aten.promotion import INTEGER, TYPE_NAMES, category
from aten.scalar.unpatched import math
from aten.shapes import broadcast, infer_size, is_int, product, show, wrap_dim


# ------------------------------------------------------------------------------------------- reordered dimensions
@composite("transpose(Tensor input, int dim0, int dim1) -> Tensor", native="view")
def transpose(input, dim0, dim1):
    """Two dimensions exchanged."""
    a, b = wrap_dim(dim0, input.ndim), wrap_dim(dim1, input.ndim)
    if input.ndim == 0:
        return ops.alias(input)
    order = list(range(input.ndim))
    order[a], order[b] = b, a
    return ops.permute(input, order)


alias_of("swapaxes", transpose)
alias_of("swapdims", transpose)


@composite("t(Tensor input) -> Tensor", native="view")
def t(input):
    """The transpose of a matrix; vectors and scalars stay."""
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return ops.permute(input, [1, 0]) if input.ndim == 2 else ops.alias(input)


@composite("movedim(Tensor input, int[1] source, int[1] destination) -> Tensor")
def movedim(input, source, destination):
    """Dimensions moved to other positions; the others keep their order."""
    if len(source) != len(destination):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({show(source)} dims) should contain the same "
            f"number of "
            f"dims as destination ({show(destination)} dims)"
        )
    for which, dims in (("source", source), ("destination", destination)):
        if len({d % max(input.ndim, 1) for d in dims}) != len(dims) and all(-input.ndim <= d < input.ndim for d in dims):
            raise RuntimeError(f"movedim: repeated dim in `{which}` ({show(dims)})")
    source = wrap_all(input, source)[1]
    destination = wrap_all(input, destination)[1]
    if input.ndim == 0:
        return ops.alias(input)
    rest = iter(d for d in range(input.ndim) if d not in source)
    place = dict(zip(destination, source))
    return ops.permute(input, [place[d] if d in place else next(rest) for d in range(input.ndim)])


alias_of("moveaxis", movedim)


@composite("flatten(Tensor input, int start_dim=0, int end_dim=-1) -> Tensor", native="view")
def flatten(input, start_dim, end_dim):
    """Several dimensions as one."""
    a, b = wrap_dim(start_dim, input.ndim), wrap_dim(end_dim, input.ndim)
    if input.ndim == 0:
        return ops.reshape(input, [1])
    if a > b:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if a == b:
        return input
    return ops.reshape(input, [*input.shape[:a], product(input.shape[a : b + 1]), *input.shape[b + 1 :]])


@composite("ravel(Tensor input) -> Tensor")
def ravel(input):
    """All elements as one dimension."""
    return ops.reshape(ops.contiguous(input), [-1])


@composite("unflatten(Tensor input, int dim, int[] sizes) -> Tensor")
def unflatten(input, dim, sizes):
    """One dimension as several."""
    d = wrap_dim(dim, input.ndim)
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    holes = [s for s in sizes if type(s) is int and s == -1]
    size = input.shape[d]
    if not holes and not known_equal(product(sizes), size) and not bool(product(sizes) == size):
        raise RuntimeError(
            f"unflatten: Provided sizes {show(sizes)} don't multiply up to the size of dim {d} ({size}) in the input tensor"
        )
    if holes:  # among the sizes of this dimension: the others may be 0
        sizes = infer_size(sizes, size)
    return ops.view(input, [*input.shape[:d], *sizes, *input.shape[d + 1 :]])


@composite("view_as(Tensor input, Tensor other) -> Tensor")
def view_as(input, other):
    """`view` with the sizes of another tensor."""
    return ops.view(input, list(other.shape))


@composite("reshape_as(Tensor input, Tensor other) -> Tensor")
def reshape_as(input, other):
    """`reshape` with the sizes of another tensor."""
    return ops.reshape(input, list(other.shape))


@composite("expand_as(Tensor input, Tensor other) -> Tensor")
def expand_as(input, other):
    """`expand` to the sizes of another tensor."""
    return ops.expand(input, list(other.shape))


@composite("broadcast_to(Tensor input, int[*] size) -> Tensor")
def broadcast_to(input, size):
    """`expand` under its NumPy name."""
    return ops.expand(input, size)


@composite("broadcast_tensors(Tensor[*] tensors) -> Tensor[]", tags=["function_only"])
def broadcast_tensors(tensors):
    """All expanded to their common sizes; those that have them are returned themselves."""
    sizes = list(broadcast(*[tuple(x.shape) for x in tensors]))
    there = lambda x: x.ndim == len(sizes) and all(map(known_equal, x.shape, sizes))
    return tuple(x if there(x) else ops.expand(x, sizes) for x in tensors)


@composite("narrow(Tensor input, int dim, Any start, int length) -> Tensor", native="view")
def narrow(input, dim, start, length):
    """`length` elements along dim from `start` on."""
    if input.ndim == 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if hasattr(start, "item"):
        if start.ndim or category(start.dtype) != INTEGER:
            raise RuntimeError("start must be an 0-dim integral Tensor.")
        start = start.item()
    d = wrap_dim(dim, input.ndim)
    size = input.shape[d]
    if bool(length < 0):
        raise RuntimeError("narrow(): length must be non-negative.")
    if bool(start < -size) or bool(start > size):
        raise IndexError(f"start out of range (expected to be in range of [-{size}, {size}], but got {start})")
    if bool(start < 0):
        start = start + size
    if bool(start + length > size):
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return ops.slice(input, d, start, start + length, 1)


@composite("narrow_copy(Tensor input, int dim, int start, int length) -> Tensor")
def narrow_copy(input, dim, start, length):
    """A copy of `narrow`."""
    return ops.row_major(narrow(input, dim, start, length))


# -------------------------------------------------------------------------------------------------- apart, together
@composite("unbind(Tensor input, int dim=0) -> Tensor[]", native="view")
def unbind(input, dim):
    """The slices along a dimension, without it."""
    if input.ndim == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    d = wrap_dim(dim, input.ndim)
    return tuple(ops.select(input, d, i) for i in range(int(input.shape[d])))


@composite("split(Tensor input, Any split_size_or_sections, int dim=0) -> Tensor[]", native="view")
def split(input, split_size_or_sections, dim):
    """Pieces of one size (the last may be smaller), or of the given sizes."""
    if input.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    d, size = wrap_dim(dim, input.ndim), split_size_or_sections
    n = input.shape[d]
    if is_int(size):
        if bool(size < 0) or (bool(size == 0) and not bool(n == 0)):
            raise RuntimeError(
                f"split expects split_size be non-negative, but got split_size={size}"
                if bool(size < 0)
                else f"split_size can only be 0 if dimension size is 0, but got dimension size of {n}"
            )
        pieces = 1 if bool(n == 0) else int((n + size - 1) // size)
        return tuple(ops.slice(input, d, i * size, n if i == pieces - 1 else (i + 1) * size, 1) for i in range(pieces))
    sections = list(size)
    total = sum(sections[1:], sections[0]) if sections else 0
    if not known_equal(total, n) and not bool(total == n):
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at dimension {d}), "
            f"but got "
            f"split_sizes={show(sections)}"
        )
    result, start = [], 0
    for s in sections:
        result.append(ops.slice(input, d, start, start + s, 1))
        start = start + s
    return tuple(result)


@composite("split_with_sizes(Tensor input, int[] split_sizes, int dim=0) -> Tensor[]")
def split_with_sizes(input, split_sizes, dim):
    """Pieces of the given sizes."""
    return split(input, split_sizes, dim)


@composite("_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor", tags=["function_only"])
def chunk_cat(tensors, dim, num_chunks):
    """Tensors cut along `dim` into equal chunks, zeros behind the last, and chunk i of all side by side in row i of a new dim."""
    if not tensors:
        raise RuntimeError("_chunk_cat expects a non-empty input tensor list")
    if num_chunks <= 0:
        raise RuntimeError("_chunk_cat expects positive num_chunks")
    first = tensors[0]
    dim = wrap_dim(dim, first.ndim)
    for t in tensors:
        if t.dtype is not first.dtype:
            raise RuntimeError("_chunk_cat expects all input tensors with the same dtype")
        if any(is_int(s) and s == 0 for s in t.shape):
            raise RuntimeError("_chunk_cat expects non-empty tensor")
        if list(t.shape[:dim]) != list(first.shape[:dim]) or t.ndim <= dim:
            raise RuntimeError("_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors")
    before, rows = list(first.shape[:dim]), []
    for t in tensors:
        short = -t.shape[dim] % num_chunks
        padded = constant_pad_nd(t, [*[0, 0] * (t.ndim - dim - 1), 0, short]) if short else t
        rows.append(padded.reshape([*before, num_chunks, -1]))
    return cat(rows, dim + 1)


@composite("chunk(Tensor input, int chunks, int dim=0) -> Tensor[]", native="view")
def chunk(input, chunks, dim):
    """At most `chunks` pieces of equal size (the last may be smaller)."""
    if input.ndim == 0:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    n = input.shape[wrap_dim(dim, input.ndim)]
    size = (n + chunks - 1) // chunks
    if bool(size == 0):
        return split(input, [0] * chunks, dim)
    return split(input, size, dim)


@composite("tensor_split(Tensor input, Any indices_or_sections, int dim=0) -> Tensor[]")
def tensor_split(input, indices_or_sections, dim):
    """Pieces at the given places, or as many as asked, the first ones larger by one."""
    if input.ndim == 0:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    where, d = indices_or_sections, wrap_dim(dim, input.ndim)
    if hasattr(where, "tolist"):
        if where.ndim > 1 or where.dtype is not dtypes.int64:
            flat = f"be a zero-dimensional or one-dimensional tensor, but got a tensor with {where.ndim} dims"
            what = flat if where.ndim > 1 else f"have dtype of long, but got {TYPE_NAMES[where.dtype.name]}"
            raise RuntimeError(f"tensor_split expected tensor_indices_or_sections to {what}")
        where = where.tolist()
    n = input.shape[d]
    if not is_int(where) and not isinstance(where, (list, tuple)):
        raise TypeError(f"tensor_split() received an invalid combination of arguments: sections are {type(where).__name__}")
    if is_int(where):
        if where <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {where}")
        if where > 1 << 31:  # views, each a tensor of its own
            raise MemoryError(f"tensor_split: no memory for {where} sections")
        small, more = n // where, n % where
        where = [i * (small + 1) if i <= more else more * (small + 1) + (i - more) * small for i in range(1, where)]
    starts, ends = [0, *where], [*where, n]
    return tuple(ops.slice(input, d, a, b, 1) for a, b in zip(starts, ends))


def _axis_split(name: str, low: int, axis: Any) -> None:
    @composite(f"{name}(Tensor input, Any indices_or_sections) -> Tensor[]")
    def definition(input, indices_or_sections):
        """`tensor_split` along a fixed dimension."""
        if input.ndim < low:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {low} dimension, but got a tensor with {input.ndim} dimensions!"
            )
        along, sections = axis(input), indices_or_sections
        size = input.shape[along]
        if is_int(sections) and (sections == 0 or size % sections != 0):
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {along}, but the size of the dimension {size} is not "
                f"divisible by the split_size {sections}!"
            )
        return tensor_split(input, sections, along)


_axis_split("hsplit", 1, lambda x: 0 if x.ndim == 1 else 1)
_axis_split("vsplit", 2, lambda x: 0)
_axis_split("dsplit", 3, lambda x: 2)


@composite("stack(Tensor[] tensors, int dim=0) -> Tensor", tags=["function_only"], native="join")
def stack(tensors, dim):
    """Tensors of equal sizes joined along a new dimension."""
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = tensors[0]
    for i, x in enumerate(tensors):
        if len(x.shape) != len(first.shape) or not all(known_equal(a, b) or bool(a == b) for a, b in zip(x.shape, first.shape)):
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {show(first.shape)} at entry 0 and "
                f"{show(x.shape)} at "
                f"entry {i}"
            )
    d = wrap_dim(dim, first.ndim + 1)
    if d < first.ndim and format_of(first) is not None:  # one dim, cut in two
        sizes = [*first.shape[:d], len(tensors), *first.shape[d:]]
        return ops.view(cat(tensors, d), sizes)
    return cat([ops.unsqueeze(x, d) for x in tensors], d)


def _at_least(name: str, widen: Any) -> None:
    @composite(f"{name}(Any[*] tensors=()) -> Any", tags=["function_only"])
    def definition(tensors):
        """Tensors with at least so many dimensions."""
        result = tuple(widen(x) for x in tensors)
        return result[0] if len(result) == 1 else result


def _one(x):
    return ops.reshape(x, [1]) if x.ndim == 0 else x


def _two(x):
    return ops.unsqueeze(_one(x), 0) if x.ndim < 2 else x


def _three(x):
    return ops.unsqueeze(_two(x), -1) if x.ndim < 3 else x


_at_least("atleast_1d", _one)
_at_least("atleast_2d", _two)
_at_least("atleast_3d", _three)


def _some(name: str, tensors: Any) -> Any:
    if not len(tensors):
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return tensors


@composite("hstack(Tensor[] tensors) -> Tensor", tags=["function_only"])
def hstack(tensors):
    """Joined along the second dimension (the first of vectors)."""
    xs = [_one(x) for x in _some("hstack", tensors)]
    return cat(xs, 0 if xs[0].ndim == 1 else 1)


@composite("vstack(Tensor[] tensors) -> Tensor", tags=["function_only"])
def vstack(tensors):
    """Joined along the first dimension, vectors as rows."""
    return cat([_two(x) for x in _some("vstack", tensors)], 0)


alias_of("row_stack", vstack)


@composite("dstack(Tensor[] tensors) -> Tensor", tags=["function_only"])
def dstack(tensors):
    """Joined along the third dimension."""
    return cat([_three(x) for x in _some("dstack", tensors)], 2)


@composite("column_stack(Tensor[] tensors) -> Tensor", tags=["function_only"])
def column_stack(tensors):
    """Joined along the second dimension, vectors as columns."""
    return cat([ops.reshape(x, [-1, 1]) if x.ndim <= 1 else x for x in _some("column_stack", tensors)], 1)


@composite("repeat(Tensor input, int[*] repeats) -> Tensor")
def repeat(input, repeats):
    """The tensor several times along each dimension."""
    if len(repeats) < input.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    for r in repeats:
        if exceeds(0, r):
            raise RuntimeError(f"Trying to create tensor with negative dimension {r}: {show(repeats)}")
    extra = len(repeats) - input.ndim
    sizes = [1] * extra + list(input.shape)
    once = [type(r) is int and r == 1 for r in repeats]  # these need no dim of their own
    shown = [p for one, s in zip(once, sizes) for p in ((s,) if one else (1, s))]
    wide = ops.reshape(input, shown).expand([p for r, one, s in zip(repeats, once, sizes) for p in ((s,) if one else (r, s))])
    return ops.reshape(ops.row_major(wide), [r * s for r, s in zip(repeats, sizes)])


@composite("tile(Tensor input, int[*] dims) -> Tensor")
def tile(input, dims):
    """`repeat`, with missing leading counts as 1."""
    return repeat(input, [1] * (input.ndim - len(dims)) + list(dims))


@composite(
    "repeat_interleave(Tensor input, Any repeats=None, int? dim=None, *, int? output_size=None) -> Tensor", native="structure"
)
def repeat_interleave(input, repeats, dim, output_size):
    """Each element (or slice along dim) several times in a row."""
    if repeats is None:
        return interleaved(input, output_size)
    if dim is None:
        input, dim = ops.reshape(input, [-1]), 0
    dim = wrap_dim(dim, input.ndim)
    if hasattr(repeats, "dtype"):
        if repeats.numel() == 1:
            repeats = repeats.expand([input.shape[dim]]) if repeats.ndim < 2 else repeats.reshape([1]).expand([input.shape[dim]])
        if repeats.shape[0] != input.shape[dim]:
            raise RuntimeError(
                "repeats must have the same size as input along dim, but got repeats.size(0) = "
                f"{repeats.shape[0]} and input.size({dim}) = {input.shape[dim]}"
            )
        return ops.index_select(input, dim, repeat_interleave(repeats, output_size=output_size))
    if bool(repeats < 0):
        raise RuntimeError("repeats can not be negative")
    sizes = list(input.shape)
    if output_size is not None and exceeds(sizes[dim] * repeats, output_size) | exceeds(output_size, sizes[dim] * repeats):
        raise RuntimeError(f"repeat_interleave: Invalid output_size, expected {sizes[dim] * repeats} but got {output_size}")
    wide = ops.unsqueeze(input, dim + 1).expand([*sizes[: dim + 1], repeats, *sizes[dim + 1 :]])
    return ops.reshape(ops.row_major(wide), [*sizes[:dim], sizes[dim] * repeats, *sizes[dim + 1 :]])


@composite("meshgrid(Tensor[*] tensors, *, str? indexing=None) -> Tensor[]", tags=["function_only"])
def meshgrid(tensors, indexing):
    """Grids of coordinates of vectors; indexing is "ij" (default) or "xy"."""
    if indexing is None:
        warn_caller("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.", once=True)
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for x in tensors:
        if x.ndim > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {list(x.shape)}")
    xs = [ops.reshape(x, [-1]) for x in tensors]
    swap = indexing == "xy" and len(xs) >= 2
    if swap:
        xs[0], xs[1] = xs[1], xs[0]
    sizes = [x.shape[0] for x in xs]
    grids = [x.reshape([-1 if i == d else 1 for i in range(len(xs))]).expand(sizes) for d, x in enumerate(xs)]
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


@composite("cartesian_prod(Tensor[*] tensors) -> Tensor", tags=["function_only"])
def cartesian_prod(tensors):
    """All combinations of elements of vectors, one a row."""
    for x in tensors:
        if x.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(x.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return stack([ops.reshape(x, [-1]) for x in meshgrid(*tensors, indexing="ij")], 1)


@composite("combinations(Tensor input, int r=2, bool with_replacement=False) -> Tensor")
def combinations(input, r, with_replacement):
    """All ways to choose r elements, in order."""
    if input.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {show(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    n = int(input.shape[0])
    if r < 2:
        return ops.reshape(ops.clone(input), [n, 1]) if r else input.new_empty([0])
    rows = math.comb(n + r - 1 if with_replacement else n, r)
    ops.new_empty(input, [min(rows * r, 2**63 - 1)], dtype=dtypes.int64)  # (there is memory for so many, or that is said at once)
    chosen = _int_tensor(_choices(n, rows, r, 0 if with_replacement else 1), input.device)
    return ops.reshape(ops.index_select(input, 0, ops.reshape(chosen, [rows * r])), [rows, r])


def _choices(n: int, rows: int, r: int, step: int) -> np.ndarray:
    """All rows of r numbers below n, each at least `step` more than the one before it, in order: (rows, r), int64."""
    found = np.empty((rows, r), np.int64)
    if not rows:
        return found
    last = np.arange(n)
    levels = [(last, last)]  # of a choice of so many numbers: the last one, and which choice of one less it goes on from
    for _ in range(r - 1):
        counts = np.maximum(n - step - last, 0)
        before = np.repeat(np.arange(len(last)), counts)
        last = last[before] + step + np.arange(len(before)) - (np.cumsum(counts) - counts)[before]
        levels.append((last, before))
    row = np.arange(rows)
    for k in range(r - 1, -1, -1):
        last, before = levels[k]
        found[:, k] = last[row]
        row = before[row]
    return found


def _int_tensor(values: np.ndarray, device: Any) -> Any:
    from aten.tensor import tensor

    return tensor(values, dtype=dtypes.int64, device=device)


@composite("block_diag(Tensor[*] tensors) -> Tensor", tags=["function_only"])
def block_diag(tensors):
    """Matrices along the diagonal, zeros elsewhere."""
    xs = [_two(x) for x in tensors]
    width = sum(x.shape[1] for x in xs)
    rows, left = [], 0
    for x in xs:
        rows.append(constant_pad_nd(x, [left, width - left - x.shape[1]], 0))
        left += x.shape[1]
    return cat(rows, 0)


@composite("rot90(Tensor input, int k=1, int[] dims=(0, 1)) -> Tensor")
def rot90(input, k, dims):
    """Turned k times by 90 degrees in a plane."""
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.ndim}")
    if wrap_dim(dims[0], input.ndim) == wrap_dim(dims[1], input.ndim):
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    k %= 4
    if k == 1:
        return transpose(flip(input, [dims[1]]), dims[0], dims[1])
    if k == 2:
        return flip(input, dims)
    return transpose(flip(input, [dims[0]]), dims[0], dims[1]) if k == 3 else ops.clone(input)


@composite("fliplr(Tensor input) -> Tensor")
def fliplr(input):
    """Columns in reverse order."""
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, [1])


@composite("flipud(Tensor input) -> Tensor")
def flipud(input):
    """Rows in reverse order."""
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, [0])


@composite("diag(Tensor input, int diagonal=0) -> Tensor")
def diag(input, diagonal):
    """A vector as a diagonal matrix; of a matrix its diagonal."""
    if input.ndim == 1:
        return diag_embed(input, diagonal, 0, 1)
    if input.ndim != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    return ops.row_major(ops.diagonal(input, diagonal, 0, 1))


@composite("diag_embed(Tensor input, int offset=0, int dim1=-2, int dim2=-1) -> Tensor")
def diag_embed(input, offset, dim1, dim2):
    """Matrices whose diagonals are the last dimension of the input."""
    a, b = wrap_dim(dim1, input.ndim + 1), wrap_dim(dim2, input.ndim + 1)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    n = input.shape[-1] + abs(offset)
    sizes = list(input.shape[:-1])
    for d in sorted((a, b)):
        sizes.insert(d, n)
    return ops.diagonal_scatter(input.new_zeros([]).expand(sizes), input, offset, a, b)


@composite("diagflat(Tensor input, int offset=0) -> Tensor")
def diagflat(input, offset):
    """All elements on the diagonal of a matrix."""
    return diag_embed(ops.reshape(input, [-1]), offset, 0, 1)


@composite("trace(Tensor input) -> Tensor")
def trace(input):
    """The sum of the diagonal of a matrix."""
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    return ops.sum(ops.diagonal(input, 0, 0, 1))


@composite("unfold_copy(Tensor input, int dimension, int size, int step) -> Tensor", tags=["function_only"])
def unfold_copy(input, dimension, size, step):
    """A copy of `unfold`."""
    return ops.row_major(ops.unfold(input, dimension, size, step))
