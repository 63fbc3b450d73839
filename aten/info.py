"""Questions about dtypes, tensors and sizes that are no ops."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import aten.dtype as dtypes
from aten._native import DType, Size, Tensor
from aten.promotion import to_real
from aten.scalar.unpatched import math


class _Limits:
    """What both have in common: one for each dtype, as far as anybody can tell."""

    dtype: str

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.dtype == self.dtype  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((type(self), self.dtype))


class finfo(_Limits):
    """Limits of a floating dtype: bits, eps, max, min, tiny, smallest_normal, resolution."""

    def __init__(self, type: DType | None = None):
        import ml_dtypes

        dtype = dtypes.get_default_dtype() if type is None else to_real(type)
        if not dtype.is_floating_point:
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{dtype.name}'")
        info = ml_dtypes.finfo(dtype.to_numpy())
        self.dtype = dtype.name
        self.bits = info.bits
        self.eps, self.max, self.min = float(info.eps), float(info.max), float(info.min)
        self.tiny = self.smallest_normal = float(info.smallest_normal)
        self.resolution = 10.0 ** -math.floor(-math.log10(self.eps))  # the decimal digits that are kept

    def __repr__(self) -> str:
        names = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        limits = ", ".join([f"{name}={getattr(self, name):g}" for name in names])
        return f"finfo({limits}, dtype={self.dtype})"


class iinfo(_Limits):
    """Limits of an integer dtype: bits, max, min."""

    def __init__(self, type: DType):
        dtype = type
        if dtype.is_floating_point or dtype.is_complex or dtype is dtypes.bool:
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{dtype.name}'")
        info = np.iinfo(dtype.to_numpy())
        self.dtype = dtype.name
        self.bits, self.max, self.min = info.bits, int(info.max), int(info.min)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


def is_tensor(obj: Any) -> bool:
    """Whether obj is a Tensor."""
    return isinstance(obj, Tensor)


def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a floating one."""
    return input.dtype.is_floating_point


def is_complex(input: Tensor) -> bool:
    """Whether the dtype is a complex one."""
    return input.dtype.is_complex


def is_nonzero(input: Tensor) -> bool:
    """Whether the only element is not 0. Raises RuntimeError unless there is just one."""
    if input.numel() != 1:
        raise RuntimeError(
            "Boolean value of Tensor with " + ("no values" if input.numel() == 0 else "more than one value") + " is ambiguous"
        )
    return bool(input.item())


def numel(input: Tensor) -> int:
    """Number of elements."""
    if not isinstance(input, Tensor):
        raise TypeError(f"numel(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    return input.numel()


def broadcast_shapes(*shapes: Sequence[int] | int) -> Size:
    """The sizes that all broadcast to. Raises RuntimeError if they do not, ValueError for a negative size."""
    rows = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    sizes: list[Any] = [1] * max([len(row) for row in rows], default=0)
    for k, row in enumerate(rows):
        for i in range(-1, -1 - len(row), -1):
            if row[i] < 0:
                raise ValueError("Attempting to broadcast a dimension with negative length!")
            if row[i] == 1 or row[i] == sizes[i]:
                continue
            if sizes[i] != 1:
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {row[i]} at {i}! Mismatching argument at index {k} had "
                    f"{row}; but expected shape should be broadcastable to {sizes}"
                )
            sizes[i] = row[i]
    return Size(sizes)


__all__ = ["broadcast_shapes", "finfo", "iinfo", "is_complex", "is_floating_point", "is_nonzero", "is_tensor", "numel"]
