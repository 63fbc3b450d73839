"""Floats of eight bits on a device: casts by arithmetic on their bits, and moves of their bytes.

The formats are those of `aten/native/float8.h`. A number is rounded from float32 to the nearest, ties to even; what is too great is
infinite, the greatest number in float8_e4m3fn, NaN in the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from aten import dtype as dtypes
from aten._native import Tensor
from aten.op import Op, ops, registry

MOVES = frozenset(
    "copy clone row_major cat stack index index_select gather take masked_select flip roll select_scatter slice_scatter index_put "
    "where repeat_interleave pad".split()
)  # ops that look at no number


@dataclass(frozen=True)
class Format:
    """`last`: the greatest code of a number; `over`: that of what is greater; `nan`: of NaN. `signed`: whether these have signs."""

    mantissa: int
    bias: int
    last: int
    over: int
    nan: int
    signed: bool


FORMATS = {
    "float8_e4m3fn": Format(3, 7, 0x7E, 0x7E, 0x7F, True), "float8_e5m2": Format(2, 15, 0x7B, 0x7C, 0x7F, True),
    "float8_e4m3fnuz": Format(3, 8, 0x7F, 0x80, 0x80, False), "float8_e5m2fnuz": Format(2, 16, 0x7F, 0x80, 0x80, False),
}  # fmt: skip
POWERS = "float8_e8m0fnu"


def is_float8(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dtype.name.startswith("float8")


def run(op: Op, args: tuple[Any, ...]) -> Any:
    """The op's result where it casts or moves floats of eight bits, else NotImplemented."""
    if op.name == "cast":
        x, dtype = args
        if is_float8(x):
            return decoded(x).to(dtype)
        if dtype.name.startswith("float8") and not x.dtype.is_complex:
            return encoded(x.to(dtypes.float32), dtype)
        return NotImplemented
    if op.name == "copy":
        source = args[1] if args[1].dtype is args[0].dtype else ops.cast(args[1], args[0].dtype)
        args = (args[0], source, *args[2:])
    given = [v for a in args for v in (a if type(a) is list else [a]) if isinstance(v, Tensor)]
    floats = {v.dtype for v in given if is_float8(v)}
    if op.name not in MOVES or len(floats) != 1 or any(v.dtype.is_floating_point and not is_float8(v) for v in given):
        return NotImplemented
    (dtype,) = floats
    bytes_of = lambda v: v.view(dtypes.uint8) if is_float8(v) else v
    return registry[op.name](*[[*map(bytes_of, a)] if type(a) is list else bytes_of(a) for a in args]).view(dtype)


def encoded(x: Tensor, dtype: Any) -> Tensor:
    """float32 in fewer bits."""
    bits = x.contiguous().view(dtypes.int32)
    magnitude = bits & 0x7FFFFFFF
    if dtype.name == POWERS:  # the nearest, ties up; below the least normal number the half of it is still the least power
        exponent, rest = magnitude >> 23, magnitude & 0x7FFFFF
        up = (rest >= 0x400000) & ((rest > 0x400000) | (exponent > 0)) & (exponent < 255)
        return (exponent + up).to(dtypes.uint8).view(dtype)
    f = FORMATS[dtype.name]
    cut, least = 23 - f.mantissa, 127 + 1 - f.bias  # bits that are rounded away; the exponent of the least normal number
    rounded = (magnitude + ((1 << (cut - 1)) - 1) + ((magnitude >> cut) & 1)) >> cut
    small = ops.round(magnitude.view(dtypes.float32) * 2.0 ** (f.bias - 1 + f.mantissa)).to(dtypes.int32)
    code = ops.where(magnitude < least << 23, small, rounded - ((127 - f.bias) << f.mantissa))
    code = ops.where((code > f.last) | (magnitude >= 0x7F800000), f.over, code)
    code = ops.where(magnitude > 0x7F800000, f.nan, code)
    signs = (bits >> 24) & 0x80
    code = code | (signs if f.signed else ops.where((code == 0) | (code == f.nan), 0, signs))
    return code.to(dtypes.uint8).view(dtype)


def decoded(x: Tensor) -> Tensor:
    """As float32."""
    code = x.contiguous().view(dtypes.uint8).to(dtypes.int32)
    if x.dtype.name == POWERS:
        bits = ops.where(code == 0, 0x400000, ops.where(code == 255, 0x7FC00000, code << 23))
        return bits.to(dtypes.int32).view(dtypes.float32)
    f, magnitude = FORMATS[x.dtype.name], code & 0x7F
    small = magnitude.to(dtypes.float32) * 2.0 ** (1 - f.bias - f.mantissa)
    normal = (magnitude << (23 - f.mantissa)) + ((127 - f.bias) << 23)
    bits = ops.where(magnitude < 1 << f.mantissa, small.view(dtypes.int32), normal)
    if f.signed:
        bits = ops.where(magnitude > f.last, 0x7F800000, bits) if f.over > f.last else bits
        bits = ops.where(magnitude > f.over, 0x7FC00000, bits) | ((code & 0x80) << 24)
    else:
        bits = ops.where(code == f.nan, 0x7FC00000, bits | ((code & 0x80) << 24))
    return bits.to(dtypes.int32).view(dtypes.float32)
