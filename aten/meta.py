"""A tensor without data: dtype, device, sizes, strides, offset. Shape rules map Metas to Metas."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from aten.errors import DataDependentError

Size = Any  # int or SymInt


def contiguous_strides(sizes: Iterable[Size]) -> tuple[Size, ...]:
    """Row-major strides in elements; a dimension of size 0 counts as 1, as in PyTorch."""
    strides: list[Size] = []
    step: Size = 1
    for size in reversed(tuple(sizes)):
        strides.append(step)
        if type(size) is not int:
            step = step * size
        elif size > 1:
            step = step * size
    strides.reverse()
    return tuple(strides)


CHANNELS_INNERMOST = {"channels_last": 4, "channels_last_3d": 5}  # memory formats → the number of dims of their tensors


class Meta:
    """What is known of a tensor without its data. Immutable by habit; sizes, strides and offset may be SymInts."""

    __slots__ = ("dtype", "device", "sizes", "strides", "offset", "requires_grad")
    stands_for = "Tensor"  # in messages

    def __init__(self, dtype, device, sizes, strides, offset=0, requires_grad=False):
        self.dtype = dtype
        self.device = device
        self.sizes = tuple(sizes)
        self.strides = tuple(strides)
        self.offset = offset
        self.requires_grad = requires_grad

    @staticmethod
    def of(tensor) -> Meta:
        """The Meta of a Tensor or a Tracer."""
        meta = getattr(tensor, "meta", None)
        if type(meta) is Meta:
            return meta
        if type(tensor) is Meta:  # (a shape rule asks of what stands for a tensor)
            return tensor
        return Meta(tensor.dtype, tensor.device, tensor.shape, tensor.stride(), tensor.storage_offset(), tensor.requires_grad)

    @staticmethod
    def contiguous(sizes, dtype, device) -> Meta:
        """Row-major, offset 0. Raises RuntimeError when the bytes of static sizes overflow 64 bits."""
        sizes = tuple(sizes)
        strides = contiguous_strides(sizes)
        if sizes and type(strides[0]) is int and type(sizes[0]) is int and strides[0] * sizes[0] * dtype.itemsize >= 1 << 63:
            raise RuntimeError(f"{'Stride' if 0 in sizes else 'Storage size'} calculation overflowed with sizes={list(sizes)}")
        return Meta(dtype, device, sizes, strides)

    def like(self, sizes=None, dtype=None, strides=None, offset=0) -> Meta:
        """A fresh tensor on the same device: these sizes (default: mine), row-major unless strides are given.

        Without sizes the layout is kept if it is dense.
        """
        dtype = self.dtype if dtype is None else dtype
        if strides is None:
            strides = dense_strides(self) if sizes is None else contiguous_strides(sizes)
        return Meta(dtype, self.device, self.sizes if sizes is None else sizes, strides, offset)

    def view(self, sizes, strides, offset, dtype=None) -> Meta:
        """A view of the same memory, in items of `dtype`."""
        return Meta(dtype or self.dtype, self.device, sizes, strides, offset, self.requires_grad)

    @property
    def ndim(self) -> int:
        return len(self.sizes)

    @property
    def shape(self) -> tuple[Size, ...]:
        return self.sizes

    def size(self, dim: int | None = None) -> Any:
        """The size at `dim`; all of them for None. Metas answer such questions as the tensors do that they stand for."""
        return self.sizes if dim is None else self.sizes[dim]

    def stride(self, dim: int | None = None) -> Any:
        """The stride at `dim`, in elements; all of them for None."""
        return self.strides if dim is None else self.strides[dim]

    def dim(self) -> int:
        """How many dimensions there are."""
        return len(self.sizes)

    def storage_offset(self) -> Size:
        """The place of the first element in memory, in elements."""
        return self.offset

    def numel(self) -> Size:
        """Number of elements."""
        n: Size = 1
        for size in self.sizes:
            n = n * size
        return n

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Row-major without gaps, as far as is known without a guard, or with the channels (dim 1) innermost, which is guarded:
        inputs are told apart by the first alone."""
        channels_innermost = CHANNELS_INNERMOST.get(getattr(memory_format, "name", None))
        if channels_innermost not in (None, len(self.sizes)):
            return False
        order = range(len(self.sizes)) if channels_innermost is None else [0, *range(2, channels_innermost), 1]
        expected: Size = 1
        for size, stride in [(self.sizes[d], self.strides[d]) for d in reversed(order)]:
            if type(size) is int and size == 1:
                continue
            if not known_equal(stride, expected) and (channels_innermost is None or not _equal_now(stride, expected)):
                return any(type(s) is int and s == 0 for s in self.sizes)
            expected = expected * size
        return True

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Meta)
            and self.dtype is other.dtype
            and self.device == other.device
            and len(self.sizes) == len(other.sizes)
            and all(map(known_equal, self.sizes, other.sizes))
            and all(map(known_equal, self.strides, other.strides))
            and known_equal(self.offset, other.offset)
        )

    def __hash__(self) -> int:
        return hash((self.dtype.code, len(self.sizes)))

    def __repr__(self) -> str:
        sizes = ", ".join(map(str, self.sizes))
        layout = (
            ""
            if self.is_contiguous() and known_equal(self.offset, 0)
            else (f", strides=({', '.join(map(str, self.strides))}), offset={self.offset}")
        )
        return f"Meta({self.dtype.name}[{sizes}]{layout}, {self.device})"


def exceeds(a: Size, b: Size) -> bool:
    """Whether size a is larger than b. Symbols decide it for this call, with a guard; of sizes that data decides, False."""
    if isinstance(a, int) and isinstance(b, int):  # (of a class of the user's, which may compare otherwise)
        return int.__gt__(a, b)
    try:
        return not known_equal(a, b) and bool(a > b)
    except DataDependentError:
        return False


def known_equal(a: Size, b: Size) -> bool:
    """Whether two sizes are equal for certain, by what earlier guards say. Never guards."""
    if type(a) is int and type(b) is int:
        return a == b
    ea, eb = getattr(a, "expr", a), getattr(b, "expr", b)
    if ea is eb:
        return True
    env = getattr(a, "shape_env", None) or getattr(b, "shape_env", None)
    return env is not None and env.simplify(ea) is env.simplify(eb)


def same_size(a: Size, b: Size) -> bool:
    """Whether two sizes are equal in this call; what is not known for certain is guarded."""
    return known_equal(a, b) or bool(a == b)


def is_transposed(x: Meta) -> bool:
    """Whether a matrix is a row-major one seen the other way, for certain. Its gradient by a product is made to lie like it."""
    (rows, columns), (down, across) = x.sizes, x.strides
    return known_equal(down, 1) and known_equal(across, rows) and not known_equal(columns, 1)


def _equal_now(a: Size, b: Size) -> bool:
    """Whether two sizes are equal in this call, which is guarded; False where data decides it."""
    if type(a) is int and type(b) is int:
        return a == b
    return None not in (_hint(a), _hint(b)) and bool(a == b)


def shows_twice(meta: Meta) -> bool:
    """Whether an expanded dim shows elements of memory more than once: of nothing none does."""
    dims = [(n if type(n) is int else None, s) for n, s in zip(meta.sizes, meta.strides)]
    return any(type(s) is int and s == 0 and n not in (0, 1) for n, s in dims) and all(n != 0 for n, _ in dims)


def may_show_twice(meta: Meta) -> bool:
    """Whether elements may share memory: of an expanded dim, or of windows that reach into one another. Symbols are guarded."""
    if shows_twice(meta):
        return True
    if meta.is_contiguous() or any(type(_hint(x)) is not int for x in (*meta.sizes, *meta.strides)):
        return False
    dims = [(s, n) for s, n in zip(meta.strides, meta.sizes) if _hint(n) != 1]
    if any(_hint(n) == 0 for _, n in dims):
        return False
    reach: Size = 0
    for stride, size in sorted(dims, key=lambda d: _hint(d[0])):
        if not exceeds(stride, reach):
            return True
        reach = reach + (size - 1) * stride
    return False


def is_row_major_now(meta: Meta) -> bool:
    """Row-major without gaps in this call. What symbols decide of that (sizes that happen to be 1, strides) is guarded."""
    expected: Size = 1
    for size, stride in zip(reversed(meta.sizes), reversed(meta.strides)):
        if not known_equal(stride, expected) and not _equal_now(size, 1) and not _equal_now(stride, expected):
            return any(_equal_now(s, 0) for s in meta.sizes)
        expected = expected * size
    return True


def _hint(size: Size) -> int:
    return size if type(size) is int else getattr(size, "hint", 1)


def dense_strides(meta: Meta) -> tuple[Size, ...]:
    """The layout of an elementwise result of this argument: its own strides if they are a dense permutation of row-major ones, else
    what `strides_in_order` says: of elements that lie apart, as a slice leaves them, the same order with the gaps closed."""
    if meta.is_contiguous() or is_row_major_now(meta):
        return contiguous_strides(meta.sizes)
    if is_dense(meta):
        return meta.strides
    return strides_in_order(meta.sizes, [meta])


def overlap(target: Meta, other: Meta) -> bool:
    """Whether two views of one memory, both without gaps, share a part of it, or all in another order: what an op in place may not
    read (`check_overlap` of inplace.cpp). What symbols decide of that is guarded."""
    if any(_equal_now(n, 0) for n in (*target.sizes, *other.sizes)) or not (is_dense(target) and is_dense(other)):
        return False
    spans = []
    for meta in (target, other):
        begin = meta.offset * meta.dtype.itemsize
        spans.append((begin, begin + meta.numel() * meta.dtype.itemsize))
    (begin, end), (start, stop) = spans
    if _equal_now(begin, start) and _equal_now(end, stop) and target.ndim == other.ndim:
        return not all(map(_equal_now, target.strides, other.strides))
    return bool(start < end) and bool(begin < stop)


def is_dense(meta: Meta) -> bool:
    """Whether the strides are a permutation of row-major ones, as far as is known without a guard."""
    return dense_order(meta) is not None


def dense_order(meta: Meta) -> list[int] | None:
    """The order of dims in which the strides are row-major ones, as far as is known without a guard; None: there is none."""
    ones = [d for d, size in enumerate(meta.sizes) if type(size) is int and size == 1]
    dims = [d for d in range(meta.ndim) if d not in ones]
    order = sorted(dims, key=lambda d: (_hint(meta.strides[d]) or 0, _hint(meta.sizes[d]) != 1, -d))
    expected: Size = 1
    for d in order:
        if not known_equal(meta.strides[d], expected):
            return None
        expected = expected * meta.sizes[d]
    return ones + order[::-1]


def channels_innermost(meta: Meta) -> bool:
    """Whether the dims of an image or volume lie in the order (0, 2, …, 1), channels innermost, with gaps or without; row-major
    ones do not, whatever their sizes. What symbols decide of that is guarded."""
    n = len(meta.sizes)
    if n not in (4, 5) or meta.is_contiguous() or is_row_major_now(meta):
        return False
    sizes, strides = meta.sizes, meta.strides
    least: Size = 0
    for d in (1, *range(n - 1, 1, -1), 0):
        if type(_hint(strides[d])) is not int or type(_hint(sizes[d])) is not int or _hint(sizes[d]) == 0 or _hint(strides[d]) == 0:
            return False
        if _exceeds_now(least, strides[d]) or (d == 0 and (known_equal(least, strides[1]) or _equal_now(least, strides[1]))):
            return False
        least = strides[d] if type(sizes[d]) is int and sizes[d] == 1 else strides[d] * sizes[d]
    return True


def strides_in_order(sizes: tuple[Size, ...], metas: Sequence[Meta]) -> tuple[Size, ...]:
    """The strides, without gaps, of an elementwise result of arguments that broadcast to `sizes`: its dims lie in memory in the
    order that the first argument gives them in which neither is broadcast, as PyTorch's TensorIterator finds it. Order of strides
    that are symbols is guarded."""
    n = len(sizes)
    if any(type(size) is int and size == 0 for size in sizes):
        return contiguous_strides(sizes)
    operands = [_steps_for(sizes, meta) for meta in metas]
    order = list(range(n - 1, -1, -1))  # from the innermost
    for i in range(1, n):
        at = i  # of what nothing says the dim stays where it is, and is compared with what lies farther inside
        for k in range(i - 1, -1, -1):
            outside = _lies_outside(sizes, operands, order[k], order[at])
            if outside > 0:
                order[k], order[at], at = order[at], order[k], k
            elif outside < 0:
                break
    strides: list[Size] = [1] * n
    step: Size = 1
    for d in order:
        strides[d], step = step, step * sizes[d]
    return tuple(strides)


def _steps_for(sizes: tuple[Size, ...], meta: Meta) -> list[Size]:
    """The strides of an argument by dims of the result, 0 where it broadcasts."""
    extra = len(sizes) - len(meta.sizes)
    steps: list[Size] = [0] * extra
    for size, stride, wanted in zip(meta.sizes, meta.strides, sizes[extra:]):
        steps.append(0 if _broadcasts(size, wanted) or type(_hint(stride)) is not int else stride)
    return steps


def _broadcasts(size: Size, wanted: Size) -> bool:
    """Whether a dim of an argument is 1 where that of the result is not. (That a size which is a symbol is 1 is known by then.)"""
    if type(size) is int:
        return size == 1 and not (type(wanted) is int and wanted == 1)
    return _hint(size) == 1 and _hint(wanted) != 1 and not known_equal(size, wanted) and _equal_now(size, 1)


def _lies_outside(sizes: tuple[Size, ...], operands: list[list[Size]], a: int, b: int) -> int:
    """1: dim a lies outside of b in memory, -1: inside, 0: nothing says so."""
    for steps in operands:
        if _is_zero_now(steps[a]) or _is_zero_now(steps[b]):
            continue
        if known_equal(steps[a], steps[b]) or _equal_now(steps[a], steps[b]):
            if _exceeds_now(sizes[a], sizes[b]):
                return 1
            continue
        return 1 if _exceeds_now(steps[a], steps[b]) else -1
    return 0


def _is_zero_now(step: Size) -> bool:
    """Whether a stride is 0 in this call: it broadcasts, or a size farther inside is 0, which is guarded."""
    return _hint(step) == 0 and (type(step) is int or _equal_now(step, 0))


def _exceeds_now(a: Size, b: Size) -> bool:
    """Whether a is more than b in this call, which is guarded; False where data decides it."""
    if type(a) is int and type(b) is int:
        return a > b
    return type(_hint(a)) is int and type(_hint(b)) is int and bool(a > b)
