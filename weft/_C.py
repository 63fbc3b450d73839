"""Names that programs take from PyTorch's native module, though they are not its public face."""

from __future__ import annotations

from typing import Any

from aten import Generator, Size, Tensor, autograd, device, dispatch, dtype, overrides, registry
from aten._native import set_grad_enabled
from aten.errors import LinAlgError as _LinAlgError
from aten.errors import OutOfMemoryError
from aten.overrides import disabled_torch_function as _disabled_torch_function_impl
from weft import fallback_switches as _functorch
from weft.engine_names import (  # noqa: F401
    _autograd,
    _current_autograd_node,
    _current_graph_task_id,
    _functions,
    _WeakTensorRef,
    _will_engine_execute_node,
)
from weft.fallback_switches import (  # noqa: F401
    _debug_only_are_vmap_fallback_warnings_enabled,
    _debug_only_display_vmap_fallback_warnings,
)

__all__ = [
    "Generator", "OutOfMemoryError", "Size", "TensorBase", "_LinAlgError", "_TensorBase", "_disabled_torch_function_impl",
    "_functorch", "_get_tracing_state",
    "_log_api_usage_once", "device",
    "dtype",
]  # fmt: skip

TensorBase = _TensorBase = Tensor
_TensorMeta = type(Tensor)


class _Functions:
    """The functions of nn that PyTorch keeps apart: ops by their names."""

    @staticmethod
    def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
        """(device, dtype, non_blocking, memory_format) of the arguments of `to`."""
        from weft.nn.conversion import _parse_to

        place, kind, non_blocking, memory_format = _parse_to(args, kwargs)
        return (None if place is None else device(place)), kind, non_blocking, memory_format

    def __getattr__(self, name: str) -> Any:
        found = registry.get(name)
        if found is None:
            raise AttributeError(f"module 'torch._C._nn' has no attribute '{name}'")
        return found


_nn = _Functions()


def _are_functorch_transforms_active() -> bool:
    """Whether a function transform (vmap, grad, jvp …) is running."""
    return bool(dispatch.levels)


def _get_tracing_state() -> Any:
    """None: nothing is being traced for TorchScript."""
    return None


def _is_tracing() -> bool:
    """False: nothing is being traced for TorchScript."""
    return False


def _log_api_usage_once(event: str) -> None:
    """Nothing is logged."""


def _jit_set_profiling_executor(mode: bool) -> bool:
    """There is no such executor; it was off and stays so."""
    return False


_jit_set_profiling_mode = _jit_set_texpr_fuser_enabled = _jit_override_can_fuse_on_cpu = _jit_set_profiling_executor
_jit_override_can_fuse_on_gpu = _jit_set_profiling_executor


def _cuda_getCurrentRawStream(device: int) -> int:
    """The handle of the current stream; 0 without a device."""
    from weft import cuda

    return cuda.current_stream(device).cuda_stream if cuda.is_available() else 0


def _set_fwd_grad_enabled(mode: bool) -> None:
    """Whether dual tensors take tangents from now on."""
    autograd.forward_ad._set_fwd_grad_enabled(mode)


DisableTorchFunctionSubclass = overrides.DisableTorchFunctionSubclass
_set_grad_enabled = set_grad_enabled


def _push_on_torch_function_stack(mode: Any) -> None:
    """Open a TorchFunctionMode."""
    dispatch.push_mode(mode)


def _pop_torch_function_stack() -> Any:
    """Close the innermost TorchFunctionMode, and return it."""
    return dispatch.pop_mode()


def _len_torch_function_stack() -> int:
    """How many modes are open."""
    return dispatch.stack.mode_top


def _get_function_stack_at(index: int) -> Any:
    """An open mode, the outermost being 0. Raises IndexError beyond the innermost."""
    return dispatch.stack.modes[: dispatch.stack.mode_top][index]
