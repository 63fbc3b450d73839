"""What tensors and ops mean. Ops are attributes of this package: `aten.add`."""

from aten import dtype
from aten._native import Device as device
from aten._native import DType, Generator, Size, Tensor, get_default_dtype, set_default_dtype
from aten.dtype import (
    bfloat16,
    bool,
    complex64,
    complex128,
    double,
    float,
    float16,
    float32,
    float64,
    half,
    int,
    int8,
    int16,
    int32,
    int64,
    long,
    short,
    uint8,
    uint16,
    uint32,
    uint64,
)
from aten.op import registry
from aten.ops import attach_methods
from aten.tensor import Parameter, as_tensor, from_dlpack, from_numpy, tensor

for _name, _op in registry.items():
    globals().setdefault(_name, _op)
attach_methods()

__all__ = [
    "DType",
    "Generator",
    "Parameter",
    "Size",
    "Tensor",
    "as_tensor",
    "bfloat16",
    "bool",
    "complex128",
    "complex64",
    "device",
    "double",
    "dtype",
    "float",
    "float16",
    "float32",
    "float64",
    "from_dlpack",
    "from_numpy",
    "get_default_dtype",
    "half",
    "int",
    "int16",
    "int32",
    "int64",
    "int8",
    "long",
    "registry",
    "set_default_dtype",
    "short",
    "tensor",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
]
