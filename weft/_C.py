"""Names that programs take from PyTorch's native module, though they are not its public face."""

from __future__ import annotations

from typing import Any

from aten import Generator, Size, Tensor, device, dtype
from aten.errors import LinAlgError as _LinAlgError
from weft import fallback_switches as _functorch
from weft.fallback_switches import (  # noqa: F401
    _debug_only_are_vmap_fallback_warnings_enabled,
    _debug_only_display_vmap_fallback_warnings,
)

__all__ = [
    "Generator", "Size", "TensorBase", "_LinAlgError", "_TensorBase", "_functorch", "_get_tracing_state",
    "_log_api_usage_once", "device",
    "dtype",
]  # fmt: skip

TensorBase = _TensorBase = Tensor


class OutOfMemoryError(RuntimeError):
    """A device's memory is full."""


def _get_tracing_state() -> Any:
    """None: nothing is being traced for TorchScript."""
    return None


def _log_api_usage_once(event: str) -> None:
    """Nothing is logged."""


def _jit_set_profiling_executor(mode: bool) -> bool:
    """There is no such executor; it was off and stays so."""
    return False


_jit_set_profiling_mode = _jit_set_texpr_fuser_enabled = _jit_override_can_fuse_on_cpu = _jit_set_profiling_executor
_jit_override_can_fuse_on_gpu = _jit_set_profiling_executor


def _cuda_getCurrentRawStream(device: int) -> int:
    """The default queue."""
    return 0
