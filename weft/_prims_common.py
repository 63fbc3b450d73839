"""torch._prims_common: questions about dtypes and strides that decompositions and tests of PyTorch programs ask."""

from __future__ import annotations

from typing import Any

import aten
from aten import Tensor

_INTEGERS = (aten.uint8, aten.uint16, aten.uint32, aten.uint64, aten.int8, aten.int16, aten.int32, aten.int64)


def is_boolean_dtype(dtype: aten.DType) -> bool:
    """Whether it is bool."""
    return dtype is aten.bool


def is_integer_dtype(dtype: aten.DType) -> bool:
    """Whether it is an integer type, signed or not; bool is none."""
    return dtype in _INTEGERS


def is_float_dtype(dtype: aten.DType) -> bool:
    """Whether it is a real floating type."""
    return dtype.is_floating_point


def is_complex_dtype(dtype: aten.DType) -> bool:
    """Whether it is a complex type."""
    return dtype.is_complex


def get_computation_dtype(dtype: aten.DType) -> aten.DType:
    """In which dtype elements of this one are computed with: float32 for those of 16 bits, complex64 for complex32, else itself."""
    return {aten.float16: aten.float32, aten.bfloat16: aten.float32, aten.complex32: aten.complex64}.get(dtype, dtype)


def dtype_to_type(dtype: aten.DType) -> type:
    """The Python type of an element. Raises ValueError for what is none of bool, integer, real or complex."""
    if dtype is aten.bool:
        return bool
    if is_integer_dtype(dtype):
        return int
    if is_float_dtype(dtype):
        return float
    if is_complex_dtype(dtype):
        return complex
    raise ValueError("Invalid dtype!")


def check_significant_strides(
    a: Tensor, b: Tensor, *, only_cuda: bool = True, allow_rhs_unbacked: bool = False
) -> tuple[bool, Any]:
    """(whether the strides of all dims of more than one element agree, the first dim where they do not).

    With only_cuda, tensors that are not on such a device agree.
    """
    if only_cuda and not (a.device.type == "cuda" or b.device.type == "cuda"):
        return True, None
    if a.numel() == 0:
        return True, None
    for d, (size, mine, other) in enumerate(zip(a.shape, a.stride(), b.stride())):
        if size > 1 and mine != other:
            return False, d
    return True, None
