"""What optimizers of programs that are written after PyTorch's own take from `torch.optim.optimizer`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import aten
from aten import Tensor
from aten.compiling import is_compiling
from weft.utils._foreach_utils import (
    _get_foreach_kernels_supported_devices,
    _get_fused_kernels_supported_devices,
    _has_foreach_support,
)

ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
Args: TypeAlias = tuple[Any, ...]
Kwargs: TypeAlias = dict[str, Any]
StateDict: TypeAlias = dict[str, Any]
DeviceDict: TypeAlias = dict[aten.device | None, Tensor]
DeviceDtypeDict: TypeAlias = dict[tuple[aten.device, aten.DType] | None, Tensor]
GlobalOptimizerPreHook: TypeAlias = Callable[[Any, Args, Kwargs], tuple[Args, Kwargs] | None]
GlobalOptimizerPostHook: TypeAlias = Callable[[Any, Args, Kwargs], None]

_params_doc = """params: parameters, (name, parameter) pairs, or dicts of them with settings (groups)"""
_foreach_doc = """foreach (bool, optional): one call for the parameters of a group instead of one each"""
_fused_doc = """fused (bool, optional): the step as one kernel"""
_capturable_doc = """capturable (bool, optional): the count of steps lies on the device of the parameter"""
_differentiable_doc = """differentiable (bool, optional): the step is recorded for gradients"""
_maximize_doc = """maximize (bool, optional): goes up the objective instead of down"""


def _use_grad_for_differentiable(func: Callable) -> Callable:
    """A method `step` with gradients off, or on where the optimizer's `differentiable` says so."""

    @functools.wraps(func)
    def with_its_mode(self: Any, *args: Any, **kwargs: Any) -> Any:
        with aten.set_grad_enabled(bool(self.defaults["differentiable"])):
            return func(self, *args, **kwargs)

    return with_its_mode


def _get_value(x: Any) -> Any:
    """The number in a tensor; in compiled code the tensor, whose number is not known yet."""
    return x.item() if isinstance(x, Tensor) and not is_compiling() else x


_to_scalar = _get_value


def _stack_if_compiling(x: Any) -> Any:
    """Tensors as one in compiled code, else as they are."""
    return aten.stack(x) if is_compiling() else x


def _disable_dynamo_if_unsupported(single_tensor_fn: Callable | None = None) -> Callable[[Callable], Callable]:
    """The function as it is: every step that is written in ops compiles."""
    return lambda func: func


def _default_to_fused_or_foreach(params: list[Any], differentiable: bool, use_fused: bool = False) -> tuple[bool, bool]:
    """(fused, foreach): what a program that was not told does with these parameters."""
    if differentiable:
        return False, False
    known = [p for p in params if p is not None]
    fused = use_fused and all(p.device.type in _get_fused_kernels_supported_devices() and p.is_floating_point() for p in known)
    foreach = not fused and all(p.device.type in _get_foreach_kernels_supported_devices() for p in known)
    return fused, foreach and _has_foreach_support(known, known[0].device if known else aten.device("cpu"))


def _device_dtype_check_for_fused(p: Tensor, cuda_unsupported: bool = False) -> None:
    """Raises RuntimeError unless a fused step takes the parameter."""
    devices = [d for d in _get_fused_kernels_supported_devices() if not (cuda_unsupported and d == "cuda")]
    if p.device.type not in devices or not p.is_floating_point():
        raise RuntimeError(
            "`fused=True` requires all the params to be floating point Tensors of "
            f"supported devices: {devices} but {p.dtype} and {p.device.type}"
        )


def _view_as_real(params: list[Tensor], *state_and_grads: list[Tensor]) -> None:
    """Complex ones in the lists become pairs of real numbers, where the parameter is complex."""
    for i, p in enumerate(params):
        if p.is_complex():
            params[i] = aten.view_as_real(p)
            for values in state_and_grads:
                values[i] = aten.view_as_real(values[i])


def _get_scalar_dtype(is_fused: bool | None = None) -> aten.DType:
    """The dtype of a count of steps."""
    return aten.float64 if not is_fused and aten.get_default_dtype() is aten.float64 else aten.float32


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """Types of devices on which `capturable=True` may run."""
    return ["cuda", "xpu", "hpu", *(["xla"] if supports_xla else [])]
