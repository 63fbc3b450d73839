"""What tensors and ops mean. Ops are attributes of this package: `aten.add`; so are dtypes, modes and construction."""

import aten.device
import aten.dtype  # these two modules share their names with the classes that PyTorch code expects here
from aten import autograd
from aten._native import (
    Device,
    DType,
    Generator,
    Size,
    Tensor,
    get_default_dtype,
    get_num_threads,
    is_grad_enabled,
    is_inference_mode_enabled,
    promote_types,
    set_default_dtype,
    set_num_threads,
)
from aten.autograd import enable_grad, inference_mode, no_grad, set_grad_enabled
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
from aten.layout import channels_last, channels_last_3d, contiguous_format, preserve_format, strided
from aten.op import registry
from aten.ops import attach_methods
from aten.random import (
    default_generator,
    fork_rng,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from aten.tensor import Parameter, as_tensor, from_dlpack, from_numpy, tensor

dtype = DType
device = Device

for _name, _op in registry.items():
    globals().setdefault(_name, _op)
attach_methods()

__all__ = [
    "DType", "Generator", "Parameter", "Size", "Tensor", "as_tensor", "autograd", "bfloat16", "bool", "complex128", "complex64",
    "default_generator", "device", "double", "dtype", "enable_grad", "float", "float16", "float32", "float64", "fork_rng",
    "from_dlpack", "from_numpy", "get_default_dtype", "get_num_threads", "get_rng_state", "half", "inference_mode",
    "initial_seed", "int", "int16", "int32", "int64", "int8", "is_grad_enabled", "is_inference_mode_enabled", "long",
    "manual_seed", "no_grad", "promote_types", "registry", "seed", "set_default_dtype", "set_grad_enabled", "set_num_threads",
    "set_rng_state", "short", "tensor", "uint16", "uint32", "uint64", "uint8",
]
