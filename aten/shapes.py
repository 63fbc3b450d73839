"""Arithmetic of sizes and strides, for ints and SymInts alike. A guard is only asked where the answer matters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from aten.meta import Meta, contiguous_strides, dense_strides, is_dense, is_row_major_now, known_equal, strides_in_order
from aten.symbolic.unknown import decided, unknown_number, unknown_size

Size = Any
OF_DATA = "the bounds of a slice depend on data"


def is_symbolic(x: Any) -> bool:
    """Whether x is a SymInt, SymFloat or SymBool."""
    return getattr(x, "shape_env", None) is not None


def is_int(x: Any) -> bool:
    """Whether x can be a size or a dim: an int (not a bool) or a SymInt."""
    return (
        type(x) is int
        or (isinstance(x, int) and not isinstance(x, bool))
        or (is_symbolic(x) and getattr(x, "kind", "int") == "int")
    )


def is_one(size: Size) -> bool:
    """Whether a size is 1 for certain."""
    return type(size) is int and size == 1


def is_empty(size: Size) -> bool:
    """Whether a size is 0, which is guarded; one that depends on data is taken to be more."""
    if is_symbolic(size):
        return size.hint is not None and bool(size == 0)
    return size == 0


def product(sizes: Iterable[Size]) -> Size:
    """The product of sizes (1 for none)."""
    n: Size = 1
    for size in sizes:
        n = n * size
    return n


def show(sizes: Iterable[Size]) -> str:
    """Sizes as PyTorch prints them in messages."""
    return "[" + ", ".join(map(str, sizes)) + "]"


def wrap_dim(dim: int, ndim: int) -> int:
    """A dim in [0, ndim); a 0-d tensor counts as 1-d. Raises IndexError outside [-ndim, ndim)."""
    if type(dim) is not int:
        dim = int(dim)  # which dim it is decides what is computed: a symbol is fixed to its value
    n = ndim or 1
    if -n <= dim < n:
        return dim + n if dim < 0 else dim
    raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")


def refuse_many(ndim: int) -> None:
    """Raises RuntimeError for a tensor whose dims do not fit into 64 bits."""
    if ndim > 64:
        raise RuntimeError("only tensors with up to 64 dims are supported")


def wrap_dims(dims: int | Sequence[int] | None, ndim: int) -> list[int]:
    """An explicit list of non-negative dims; None or an empty list means all. Raises on repeated dims, and where PyTorch's set of
    dims does not hold them."""
    if dims is not None and is_symbolic(dims):
        dims = int(dims)
    if dims is None or (not isinstance(dims, int) and len(dims) == 0):
        return list(range(ndim))
    refuse_many(ndim)
    if isinstance(dims, int):
        dims = [dims]
    wrapped = [wrap_dim(d, ndim) for d in dims]
    if len(set(wrapped)) != len(wrapped):
        twice = next(d for d in wrapped if wrapped.count(d) > 1)
        raise RuntimeError(f"dim {twice} appears multiple times in the list of dims")
    return wrapped if ndim else []


def check_dims(name: str, dims: Any) -> None:
    """Raises TypeError for what are no ints, where any value is taken for dims."""
    given = () if dims is None else [dims] if is_int(dims) or isinstance(dims, (bool, str)) else dims
    for d in given:
        if isinstance(d, bool) or not is_int(d):
            raise TypeError(f"{name}(): argument 'dim' must be tuple of ints, but found element of type {type(d).__name__}")


def broadcast_size(a: Size, b: Size) -> Size | None:
    """The common size of two sizes of one dimension; None if they do not broadcast."""
    if a is b or known_equal(a, b) or is_one(b):
        return a
    if is_one(a):
        return b
    if type(a) is int and type(b) is int:
        return None
    if bool(a == b):
        return b if type(b) is int else a
    if bool(b == 1):
        return a
    return b if bool(a == 1) else None


def broadcast(*shapes: Sequence[Size]) -> tuple[Size, ...]:
    """The sizes that all broadcast to. Raises RuntimeError with PyTorch's words."""
    if len(shapes) == 1:
        return tuple(shapes[0])
    result = tuple(shapes[0])
    for shape in shapes[1:]:
        if len(result) == len(shape) and all(map(known_equal, result, shape)):
            continue
        ndim = max(len(result), len(shape))
        a = (1,) * (ndim - len(result)) + result
        b = (1,) * (ndim - len(shape)) + tuple(shape)
        sizes = []
        for dim in range(ndim):
            size = broadcast_size(a[dim], b[dim])
            if size is None:
                last = max(d for d in range(dim, ndim) if d == dim or broadcast_size(a[d], b[d]) is None)
                raise RuntimeError(
                    f"The size of tensor a ({a[last]}) must match the size of tensor b ({b[last]}) at non-singleton dimension "
                    f"{last}"
                )
            sizes.append(size)
        result = tuple(sizes)
    return result


def pointwise_strides(sizes: tuple[Size, ...], metas: Sequence[Meta]) -> tuple[Size, ...]:
    """The layout of an elementwise result: that of the arguments if all are laid out alike without gaps; else without gaps in
    the order that they give its dims, the first ones first."""
    if len(metas) == 1:
        return dense_strides(metas[0])
    if all([meta.is_contiguous() or is_row_major_now(meta) for meta in metas]):
        return contiguous_strides(sizes)
    first = metas[0]
    if all(_lies_as(meta, first) for meta in metas[1:]) and is_dense(first):
        return first.strides
    return strides_in_order(sizes, metas)


def _lies_as(meta: Meta, other: Meta) -> bool:
    alike = len(meta.sizes) == len(other.sizes) and all(map(known_equal, meta.sizes, other.sizes))
    return alike and all(map(known_equal, meta.strides, other.strides))


def infer_size(size: Sequence[Size], numel: Size) -> list[Size]:
    """`size` with its one -1 replaced. Raises RuntimeError if `numel` elements cannot have these sizes.

    A number that is known by a symbol may be -1, too: it is read where it is negative, and guarded not to be where it is not."""
    size = [int(s) if is_symbolic(s) and s.hint is not None and bool(s < 0) else s for s in size]
    holes = [i for i, s in enumerate(size) if type(s) is int and s == -1]
    if len(holes) > 1:
        raise RuntimeError("only one dimension can be inferred")
    for s in size:
        if type(s) is int and s < -1:
            raise RuntimeError(f"invalid shape dimension {s}")
    if not holes:
        if not (known_equal(product(size), numel) or bool(product(size) == numel)):
            raise RuntimeError(f"shape '{show(size)}' is invalid for input of size {numel}")
        return size
    rest = product(s for i, s in enumerate(size) if i != holes[0])
    if type(rest) is int and rest == 0:
        if type(numel) is int and numel != 0:
            raise RuntimeError(f"shape '{show(size)}' is invalid for input of size {numel}")
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {show(size)} because the unspecified "
            "dimension size -1 can be any value and is ambiguous"
        )
    if is_symbolic(rest) and bool(rest == 0):
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {show(size)} because the unspecified "
            "dimension size -1 can be any value and is ambiguous"
        )
    if not bool(numel % rest == 0):
        raise RuntimeError(f"shape '{show(size)}' is invalid for input of size {numel}")
    size[holes[0]] = numel // rest
    return size


def _groups(old: Sequence[Size], new: Sequence[Size], sure: bool) -> list[tuple[list[int], list[int]]] | None:
    """Pair runs of old dims with runs of new dims of the same product; None if there is no such pairing. Hints choose
    which run grows; that the products are equal is known or guarded."""
    groups, i, j = [], 0, 0
    while i < len(old) or j < len(new):
        left, right = ([i] if i < len(old) else []), ([j] if j < len(new) else [])
        a: Size = old[i] if i < len(old) else 1
        b: Size = new[j] if j < len(new) else 1
        i, j = i + len(left), j + len(right)
        while not known_equal(a, b):
            low, high = _hint(a), _hint(b)
            if low == high:
                if bool(a == b):
                    break
                return None
            if sure:
                _differ(a, b)
            if low < high and i < len(old):
                a, left, i = a * old[i], left + [i], i + 1
            elif high < low and j < len(new):
                b, right, j = b * new[j], right + [j], j + 1
            else:
                return None
        groups.append((left, right))
    return groups


def _hint(size: Size) -> int:
    return size if type(size) is int else size.hint


def _same_step(a: Size, b: Size, sure: bool) -> bool:
    """Whether two strides are equal; what only happens to be so is guarded."""
    if sure and _hint(a) != _hint(b):
        _differ(a, b)
    return known_equal(a, b) or (_hint(a) == _hint(b) is not None and bool(a == b))


def _differ(a: Size, b: Size) -> None:
    """Guard that two sizes differ, which do in this call."""
    if is_symbolic(a) or is_symbolic(b):
        decided(a == b, special=True)


def view_strides(sizes: Sequence[Size], strides: Sequence[Size], size: Sequence[Size]) -> tuple[Size, ...] | None:
    """Strides that show memory laid out as (sizes, strides) with other sizes of the same number of elements; None if
    no strides can (then a copy is needed)."""
    if all(map(known_equal, strides, contiguous_strides(sizes))):
        return contiguous_strides(size)
    if any(type(s) is int and s == 0 for s in sizes):
        return contiguous_strides(size)
    kept = [d for d, s in enumerate(sizes) if not is_one(s)]
    found = _steps_of(sizes, strides, size, kept)
    if found is None and any(is_symbolic(sizes[d]) for d in kept):  # a copy, but not of sizes that happen to be 1
        kept = [d for d in kept if not (is_symbolic(sizes[d]) and decided(sizes[d] == 1, special=True))]
        found = _steps_of(sizes, strides, size, kept)
    if found is None:  # what makes it a copy is guarded
        _steps_of(sizes, strides, size, kept, sure=True)
    return found


def _steps_of(
    sizes: Sequence[Size], strides: Sequence[Size], size: Sequence[Size], kept: Sequence[int], sure: bool = False
) -> tuple[Size, ...] | None:
    """The strides of `view_strides`, read from the dims that are kept. `sure`: what is found to differ is guarded to."""
    old = [sizes[d] for d in kept]
    steps = [strides[d] for d in kept]
    groups = _groups(old, list(size), sure)
    if groups is None:
        return None
    result: list[Size] = [1] * len(size)
    for left, right in groups:
        for d, after in zip(left, left[1:]):
            if not _same_step(steps[d], steps[after] * old[after], sure):
                return None
        step: Size = steps[left[-1]] if left else 1
        for d in reversed(right):
            result[d] = step
            step = step * size[d]
    return tuple(result)


def reduced_sizes(sizes: Sequence[Size], dims: Sequence[int], keepdim: bool) -> tuple[Size, ...]:
    """Sizes after reducing the (non-negative) dims."""
    if keepdim:
        return tuple(1 if d in dims else s for d, s in enumerate(sizes))
    return tuple(s for d, s in enumerate(sizes) if d not in dims)


def slice_bounds(size: Size, start: Size | None, end: Size | None, step: int) -> tuple[Size, Size, Size]:
    """(start, end, length) of a slice, clamped as Python does. Raises ValueError unless step > 0."""
    if step <= 0:
        raise ValueError("slice step must be positive")
    start = 0 if start is None else clamp_index(start, size)
    end = size if end is None else clamp_index(end, size)
    if start is None or end is None:
        start = unknown_number(OF_DATA, "int") if start is None else start
        return start, end, unknown_size(OF_DATA, size)
    if known_equal(start, 0):
        length = end
    elif type(start) is int and type(end) is int:
        length = max(end - start, 0)
    else:
        ordered = decided(end >= start)
        if ordered is None:
            return start, end, unknown_size(OF_DATA, size)
        if not ordered:
            return start, start, 0
        length = end - start
    if not is_one(step):
        length = (length + (step - 1)) // step
    return start, end, length


def clamp_index(index: Size, size: Size) -> Size | None:
    """A slice bound moved into [0, size]; None where it depends on data how."""
    if known_equal(index, size):
        return size
    if type(index) is int and type(size) is int:
        return max(index + size, 0) if index < 0 else min(index, size)
    if type(index) is int and index == 0:
        return 0
    if type(index) is int and index >= 1 << 62:
        return size
    negative = decided(index < 0, special=True)
    if negative:
        index = index + size
        inside = decided(index >= 0)
        return None if inside is None else index if inside else 0
    inside = None if negative is None else decided(index <= size)
    return None if inside is None else index if inside else size
