"""A tensor without data: dtype, device, sizes, strides, offset. Shape rules map Metas to Metas."""

from collections.abc import Iterable
from math import prod
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

    def __init__(self, dtype, device, sizes, strides, offset=0, requires_grad=False):
        self.dtype = dtype
        self.device = device
        self.sizes = tuple(sizes)
        self.strides = tuple(strides)
        self.offset = offset
        self.requires_grad = requires_grad

    @staticmethod
    def of(tensor) -> "Meta":
        """The Meta of a Tensor or a Tracer."""
        meta = getattr(tensor, "meta", None)
        if type(meta) is Meta:
            return meta
        if type(tensor) is Meta:  # (a shape rule asks of what stands for a tensor)
            return tensor
        return Meta(tensor.dtype, tensor.device, tensor.shape, tensor.stride(), tensor.storage_offset(), tensor.requires_grad)

    @staticmethod
    def contiguous(sizes, dtype, device) -> "Meta":
        """Row-major, offset 0. Raises RuntimeError when the bytes of static sizes overflow 64 bits."""
        sizes = tuple(sizes)
        strides = contiguous_strides(sizes)
        if sizes and type(strides[0]) is int and type(sizes[0]) is int and strides[0] * sizes[0] * dtype.itemsize >= 1 << 63:
            raise RuntimeError(f"{'Stride' if 0 in sizes else 'Storage size'} calculation overflowed with sizes={list(sizes)}")
        return Meta(dtype, device, sizes, strides)

    def like(self, sizes=None, dtype=None, strides=None, offset=0) -> "Meta":
        """A fresh tensor on the same device: these sizes (default: mine), row-major unless strides are given.

        Without sizes the layout is kept if it is dense.
        """
        dtype = self.dtype if dtype is None else dtype
        if strides is None:
            strides = dense_strides(self) if sizes is None else contiguous_strides(sizes)
        return Meta(dtype, self.device, self.sizes if sizes is None else sizes, strides, offset)

    def view(self, sizes, strides, offset, dtype=None) -> "Meta":
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


def _equal_now(a: Size, b: Size) -> bool:
    """Whether two sizes are equal in this call, which is guarded; False where data decides it."""
    if type(a) is int and type(b) is int:
        return a == b
    return None not in (_hint(a), _hint(b)) and bool(a == b)


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
    """The layout of an elementwise result of this argument: its own strides if they are a dense permutation of row-major ones; of
    elements that lie apart, as a slice leaves them, the same order with the gaps closed; else (overlap) row-major."""
    if meta.is_contiguous():
        return contiguous_strides(meta.sizes)
    dims = [d for d, size in enumerate(meta.sizes) if not (type(size) is int and size == 1)]
    order = sorted(dims, key=lambda d: (_hint(meta.strides[d]) or 0, _hint(meta.sizes[d]) != 1, -d))
    expected: Size = 1
    for d in order:
        if not known_equal(meta.strides[d], expected):
            return _gaps_closed(meta, order)
        expected = expected * meta.sizes[d]
    return meta.strides


def _gaps_closed(meta: Meta, order: list[int]) -> tuple[Size, ...]:
    """Of known strides, the dims (all but those of one element) in this order, from the innermost; row-major if they overlap.
    That strides which are symbols lie in this order, and whether a size is 0, is guarded."""
    sizes, strides = meta.sizes, meta.strides
    known = all(type(_hint(s)) is int for s in (*strides, *sizes))
    if not known or any(bool(s == 0) for s in sizes) or bool(strides[order[0]] <= 0):
        return contiguous_strides(sizes)
    if any(bool(strides[b] < strides[a] * sizes[a]) for a, b in zip(order, order[1:])):
        return contiguous_strides(sizes)
    closed: list[Size] = [1] * len(sizes)
    step: Size = 1
    for d in order:
        closed[d], step = step, step * sizes[d]
    for d in range(len(sizes)):
        if type(sizes[d]) is int and sizes[d] == 1:
            closed[d] = prod(sizes[k] for k in order if (_hint(strides[k]), -k) < (_hint(strides[d]), -d))
    return tuple(closed)
