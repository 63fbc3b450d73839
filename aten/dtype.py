"""The dtypes, under their PyTorch names, and the default dtype."""

from typing import TYPE_CHECKING, Any

from aten._native import Device as device
from aten._native import DType, dtype_by_name, dtype_from_numpy, dtypes, get_default_dtype, promote_types, set_default_dtype

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


_named = {dtype.name: dtype for dtype in dtypes}  # one row of WEFT_DTYPES in aten/native/weft.h each
globals().update(_named)
short, half = _named["int16"], _named["float16"]
int, long = _named["int32"], _named["int64"]
float, double = _named["float32"], _named["float64"]
chalf, cfloat, cdouble = _named["complex32"], _named["complex64"], _named["complex128"]
FLOAT8 = frozenset(d for d in dtypes if d.itemsize == 1 and d.is_floating_point)  # kept and cast: they promote with nothing

__all__ = [
    *_named,
    "FLOAT8",
    "DType",
    "cdouble",
    "cfloat",
    "chalf",
    "device",
    "double",
    "dtype_by_name",
    "dtype_from_numpy",
    "float",
    "get_default_dtype",
    "half",
    "int",
    "long",
    "promote_types",
    "set_default_dtype",
    "short",
]
