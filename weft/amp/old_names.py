"""`torch.cpu.amp` and `torch.cuda.amp`: weft.amp with the device in the name. They warn that they are deprecated."""

from __future__ import annotations

import warnings
from typing import Any

import aten
from weft.amp.autocast_mode import autocast, custom_bwd, custom_fwd
from weft.amp.grad_scaler import GradScaler


def _deprecated(old: str, new: str) -> None:
    warnings.warn(f"`torch.{old}(args...)` is deprecated. Please use `torch.amp.{new}` instead.", FutureWarning, stacklevel=3)


class CpuAutocast(autocast):
    def __init__(self, enabled: bool = True, dtype: Any = aten.bfloat16, cache_enabled: bool = True) -> None:
        _deprecated("cpu.amp.autocast", "autocast('cpu', args...)")
        super().__init__("cpu", dtype, enabled, cache_enabled)


class CudaAutocast(autocast):
    def __init__(self, enabled: bool = True, dtype: Any = aten.float16, cache_enabled: bool = True) -> None:
        _deprecated("cuda.amp.autocast", "autocast('cuda', args...)")
        super().__init__("cuda", dtype, enabled, cache_enabled)


class CpuGradScaler(GradScaler):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _deprecated("cpu.amp.GradScaler", "GradScaler('cpu', args...)")
        super().__init__("cpu", *args, **kwargs)


class CudaGradScaler(GradScaler):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _deprecated("cuda.amp.GradScaler", "GradScaler('cuda', args...)")
        super().__init__("cuda", *args, **kwargs)


def cuda_custom_fwd(fwd: Any = None, *, cast_inputs: Any = None) -> Any:
    _deprecated("cuda.amp.custom_fwd", "custom_fwd(args..., device_type='cuda')")
    return custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def cuda_custom_bwd(bwd: Any = None) -> Any:
    _deprecated("cuda.amp.custom_bwd", "custom_bwd(args..., device_type='cuda')")
    return custom_bwd(bwd, device_type="cuda")
