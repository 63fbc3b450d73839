"""The dtypes, under their PyTorch names, and the default dtype."""

from aten._native import Device as device
from aten._native import DType, dtype_by_name, dtype_from_numpy, get_default_dtype, promote_types, set_default_dtype

bool = dtype_by_name("bool")
uint8 = dtype_by_name("uint8")
uint16 = dtype_by_name("uint16")
uint32 = dtype_by_name("uint32")
uint64 = dtype_by_name("uint64")
int8 = dtype_by_name("int8")
int16 = short = dtype_by_name("int16")
int32 = int = dtype_by_name("int32")
int64 = long = dtype_by_name("int64")
float16 = half = dtype_by_name("float16")
bfloat16 = dtype_by_name("bfloat16")
float32 = float = dtype_by_name("float32")
float64 = double = dtype_by_name("float64")
complex64 = cfloat = dtype_by_name("complex64")
complex128 = cdouble = dtype_by_name("complex128")

complex32 = chalf = dtype_by_name("complex32")
float8_e4m3fn = dtype_by_name("float8_e4m3fn")
float8_e5m2 = dtype_by_name("float8_e5m2")
float8_e4m3fnuz = dtype_by_name("float8_e4m3fnuz")
float8_e5m2fnuz = dtype_by_name("float8_e5m2fnuz")
FLOAT8 = frozenset((float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz))  # kept and cast: they promote with nothing

__all__ = [
    "FLOAT8",
    "chalf",
    "complex32",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "DType",
    "bfloat16",
    "bool",
    "cdouble",
    "cfloat",
    "complex128",
    "complex64",
    "device",
    "double",
    "dtype_by_name",
    "dtype_from_numpy",
    "float",
    "float16",
    "float32",
    "float64",
    "get_default_dtype",
    "half",
    "int",
    "int16",
    "int32",
    "int64",
    "int8",
    "long",
    "promote_types",
    "set_default_dtype",
    "short",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
]
