"""What tensors and ops mean. Ops are attributes of this package: `aten.add`; so are dtypes, modes and construction."""
# ruff: noqa: F401 (what is imported here is the package)

from importlib import import_module as _import_module
from typing import Any

import aten.asked_attributes
import aten.autocast
import aten.device
import aten.device_memory
import aten.dtype
import aten.logs
import aten.meta_of_call
from aten import autograd, learners
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
from aten.autocast import (
    autocast_decrement_nesting,
    autocast_increment_nesting,
    clear_autocast_cache,
    get_autocast_cpu_dtype,
    get_autocast_dtype,
    get_autocast_gpu_dtype,
    is_autocast_available,
    is_autocast_cache_enabled,
    is_autocast_cpu_enabled,
    is_autocast_enabled,
    set_autocast_cache_enabled,
    set_autocast_cpu_dtype,
    set_autocast_cpu_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
    set_autocast_gpu_dtype,
)
from aten.autograd import enable_grad, inference_mode, no_grad, set_grad_enabled
from aten.autograd.anomaly import is_anomaly_check_nan_enabled, is_anomaly_enabled
from aten.default_device import get_default_device
from aten.device_modes import set_default_device
from aten.dtype import *  # noqa: F403
from aten.info import broadcast_shapes, finfo, iinfo, is_complex, is_floating_point, is_nonzero, is_tensor, numel
from aten.later import later as _later
from aten.layout import (
    Layout,
    MemoryFormat,
    channels_last,
    channels_last_3d,
    contiguous_format,
    legacy_contiguous_format,
    preserve_format,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)
from aten.legacy import set_default_tensor_type, tensor_classes
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
from aten.storage import TypedStorage, UntypedStorage, frombuffer, typed_classes
from aten.storage import tensor_from_file as from_file
from aten.tensor import Parameter, as_tensor, from_dlpack, from_numpy, tensor
from aten.tensor_facts import is_conj, is_inference, is_neg, is_same_size, is_signed

device = Device  # aten.dtype stays the module of dtypes; weft.dtype is the class DType
asarray = _later("aten.as_array", "asarray")
_inf = 1e400
e, inf, nan, pi, newaxis = 2.718281828459045, _inf, -(_inf - _inf), 3.141592653589793, None

globals().update(tensor_classes)
globals().update(typed_classes)
for _name, _op in registry.items():
    globals().setdefault(_name, _op)
attach_methods()
learners.bind()
aten.ops.on_demand.finish_loaded()
aten.autocast.declare(registry)
aten.asked_attributes.declare(registry)

_LATER = dict.fromkeys(  # what is loaded when it is asked for, and its file
    (
        "sparse_bsc_tensor", "sparse_bsr_tensor", "sparse_compressed_tensor", "sparse_coo_tensor", "sparse_csc_tensor",
        "sparse_csr_tensor",
    ),
    "aten.sparse.conversion",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'aten' has no attribute {name!r}")
    value = globals()[name] = getattr(_import_module(_LATER[name]), name)
    return value


__all__ = [*[name for name in globals() if not name.startswith("_")], *_LATER]


def __dir__() -> list[str]:
    return [*globals(), *_LATER]
