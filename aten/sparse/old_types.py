"""Sparse tensor types of old, as `sparse.FloatTensor(indices, values, size)`: names of a dtype, in coordinates, on the CPU."""

from __future__ import annotations

from typing import Any

from aten.legacy import tensor_classes
from aten.sparse.conversion import sparse_coo_tensor
from aten.sparse.tensor import CooTensor


class SparseType(type):
    """The type of sparse.FloatTensor and its like: no classes of tensors, but names of a dtype."""

    dtype: Any

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, CooTensor) and instance.dtype is cls.dtype

    def __call__(cls, *args: Any) -> CooTensor:
        """Of indices and values, with a size or the smallest; of a size; or of no arguments, empty."""
        if len(args) > 1 and hasattr(args[0], "ndim"):
            indices, values, *size = args
            if values.dtype is not cls.dtype:
                raise TypeError(f"expected {cls.dtype.name} values (got {values.dtype.name})")
            return sparse_coo_tensor(indices, values, *[tuple(s) for s in size])
        sizes = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
        return sparse_coo_tensor(tuple(sizes) or (0,), dtype=cls.dtype)

    def __repr__(cls) -> str:
        return f"<class 'torch.sparse.{cls.__name__}'>"


def _of(name: str) -> SparseType:
    return SparseType(name, (), {"dtype": tensor_classes[name].dtype, "__module__": "torch.sparse", "is_sparse": True})


BFloat16Tensor, ByteTensor, CharTensor = _of("BFloat16Tensor"), _of("ByteTensor"), _of("CharTensor")
DoubleTensor, FloatTensor, HalfTensor = _of("DoubleTensor"), _of("FloatTensor"), _of("HalfTensor")
IntTensor, LongTensor, ShortTensor = _of("IntTensor"), _of("LongTensor"), _of("ShortTensor")
