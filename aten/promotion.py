"""Which dtype a result has: that of operands of several ranks, `result_type`, `can_cast` (of two dtypes: native/dtype.cpp)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import aten.dtype as dtypes
from aten._native import dtypes as all_dtypes
from aten._native import promote_types
from aten.dtype import DType
from aten.scalar.unpatched import math
from aten.symbolic.symint import SYMBOLIC, SymFloat

TYPE_NAMES = {dtype.name: dtype.type_name for dtype in all_dtypes}  # for messages
BOOL, INTEGER, FLOATING, COMPLEX = range(4)

_TO_COMPLEX = {dtypes.float64: dtypes.complex128, dtypes.float16: dtypes.complex32}
_TO_REAL = {dtypes.complex64: dtypes.float32, dtypes.complex128: dtypes.float64, dtypes.complex32: dtypes.float16}


def category(dtype: DType) -> int:
    """BOOL, INTEGER, FLOATING or COMPLEX: promotion never leaves the highest category among the operands."""
    if dtype.is_complex:
        return COMPLEX
    if dtype.is_floating_point:
        return FLOATING
    return BOOL if dtype is dtypes.bool else INTEGER


def to_complex(dtype: DType) -> DType:
    """The complex dtype whose parts hold `dtype`."""
    return dtype if dtype.is_complex else _TO_COMPLEX.get(dtype, dtypes.complex64)


def to_real(dtype: DType) -> DType:
    """The dtype of the parts of a complex dtype; any other dtype itself."""
    return _TO_REAL.get(dtype, dtype)


def floating(dtype: DType) -> DType:
    """`dtype` if floating or complex, else the default dtype."""
    return dtype if category(dtype) >= FLOATING else dtypes.get_default_dtype()


def number_dtype(x: Any) -> DType:
    """The dtype that a Python number stands for: bool, int64, the default dtype, or its complex."""
    if isinstance(x, bool):
        return dtypes.bool
    if isinstance(x, float):
        return dtypes.get_default_dtype()
    if isinstance(x, complex):
        return to_complex(dtypes.get_default_dtype())
    kind = getattr(x, "kind", "int")  # a symbolic number
    return {"float": dtypes.get_default_dtype(), "bool": dtypes.bool}.get(kind, dtypes.int64)


def _combine(higher: DType | None, lower: DType | None) -> DType | None:
    """Priority of dimensioned tensors over 0-d ones over numbers: a lower one only counts by a higher category."""
    if higher is None or lower is None:
        return lower if higher is None else higher
    ch, cl = category(higher), category(lower)
    if ch >= cl:
        return higher
    if cl == COMPLEX and ch == FLOATING:
        return to_complex(higher)
    return promote_types(higher, lower)


def result_dtype(operands: Iterable[tuple[DType, int]]) -> DType:
    """The promoted dtype of operands given as (dtype, rank): 2 tensors with dims, 1 tensors of 0 dims, 0 numbers."""
    by_rank: list[DType | None] = [None, None, None]
    for dtype, rank in operands:
        before = by_rank[rank]
        by_rank[rank] = dtype if before is None or before is dtype else promote_types(before, dtype)
    found = _combine(by_rank[2], _combine(by_rank[1], by_rank[0]))
    if found is None:
        raise RuntimeError("result_type: at least one operand is needed")
    return found


FINITE = {
    "float16": 65504.0,
    "bfloat16": 3.3895313892515355e38,
    "float32": 3.4028234663852886e38,
    "float8_e4m3fn": 448.0,
    "float8_e5m2": 57344.0,
    "float8_e4m3fnuz": 240.0,
    "float8_e5m2fnuz": 57344.0,
    "float8_e8m0fnu": 2.0**127,
}
_NO_INFINITY = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")


def check_fits(low: Any, high: Any, dtype: DType) -> None:
    """Raises RuntimeError unless the real numbers low <= high are elements of `dtype`: a negative one may stand for its
    two's complement, infinities and NaN are floating only (some dtypes of eight bits have no infinities, one has no sign), and what
    is finite stays so."""
    bits, kind = 8 * dtype.itemsize, category(dtype)
    if kind == INTEGER:
        largest = 2 ** (bits - dtype.is_signed) - 1
        least = 0 if isinstance(low, float) and not dtype.is_signed else -largest - dtype.is_signed
        fits = least <= low <= high <= largest
    else:
        largest, no_infinity = FINITE.get(dtype.name, math.inf), dtype.name in _NO_INFINITY
        fits = kind != FLOATING or -largest <= low <= high <= largest
        fits = fits or not any(largest < abs(x) and (no_infinity or abs(x) < math.inf) for x in (low, high))
        fits &= dtype.name != "float8_e8m0fnu" or not low < 0
    if not fits:
        raise RuntimeError(f"value cannot be converted to type {dtype.element} without overflow")


def _check_symbolic(value: Any, dtype: DType) -> None:
    """The same of a symbolic number, which is guarded to fit; one that data decides is not asked."""
    whole, widest = type(value) is not SymFloat, FINITE.get(dtype.name, math.inf)
    fits = widest > 2**64 if category(dtype) == FLOATING else dtype.itemsize == 8
    if not (fits and (whole or widest == math.inf and category(dtype) == FLOATING)) and value.hint is not None:
        check_fits(value, value, dtype)


def check_width(value: Any) -> None:
    """Raises OverflowError for an integer of more than 64 bits."""
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise OverflowError("int too big to convert" if value > 0 else "can't convert negative int to unsigned")


def element(value: Any, dtype: DType, alone: bool = False) -> Any:
    """A Python number as one of the kind of `dtype`, which it must fit (see `check_fits`); a symbolic one itself.

    alone: it is for a tensor of one element, where PyTorch casts to floats of up to 16 bits what these cannot hold.
    """
    if alone and category(dtype) == FLOATING and dtype.itemsize <= 2 and isinstance(value, (int, float)):
        check_width(value)
        return float(value)
    if category(dtype) == COMPLEX and isinstance(value, (int, float, complex)):
        check_width(value)
        largest = {4: 65504.0, 8: FINITE["float32"]}.get(dtype.itemsize, math.inf)
        if any(largest < abs(part) < math.inf for part in (value.real, value.imag)):
            raise RuntimeError(f"value cannot be converted to type {dtype.element} without overflow")
        return value
    if isinstance(value, complex):
        if category(dtype) != BOOL and value.imag != 0:
            raise RuntimeError(f"value cannot be converted to type {dtype.element} without overflow")
        value = value.real if category(dtype) != BOOL else value != 0
    if type(value) in SYMBOLIC and category(dtype) in (INTEGER, FLOATING):
        _check_symbolic(value, dtype)
        return math.trunc(value) if type(value) is SymFloat and category(dtype) == INTEGER else value
    if not isinstance(value, (int, float)) or category(dtype) == COMPLEX:
        return value
    check_width(value)
    check_fits(value, value, dtype)
    return bool(value) if dtype is dtypes.bool else int(value) if category(dtype) == INTEGER else value


def can_cast(source: DType, target: DType) -> bool:
    """Whether an in-place op may put a result of dtype `source` into a tensor of dtype `target`."""
    return category(source) <= category(target) and not (target is dtypes.bool and source is not dtypes.bool)
