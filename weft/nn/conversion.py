"""Other dtypes, devices and layouts for all tensors of a module."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, Self

import aten
from aten import Parameter, Tensor
from weft import __future__ as switches
from weft.utils.swap import swap_tensors


def _parse_to(args: tuple, kwargs: dict) -> tuple[Any, Any, bool, Any]:
    """(device, dtype, non_blocking, memory_format) of the arguments of `to`."""
    given = dict(kwargs)
    rest = list(args)
    tensor = given.pop("tensor", given.pop("other", None))
    if rest and isinstance(rest[0], Tensor):
        tensor = rest.pop(0)
    device = dtype = None
    if tensor is not None:
        device, dtype = tensor.device, tensor.dtype
    else:
        if rest and not isinstance(rest[0], aten.DType):
            device = rest.pop(0)
        if rest and (rest[0] is None or isinstance(rest[0], aten.DType)):
            dtype = rest.pop(0)
        device, dtype = given.pop("device", device), given.pop("dtype", dtype)
    non_blocking = given.pop("non_blocking", rest.pop(0) if rest else False)
    if rest:
        given.pop("copy", rest.pop(0))
    given.pop("copy", None)
    memory_format = given.pop("memory_format", None)
    if memory_format is not None and not isinstance(memory_format, aten.MemoryFormat):
        raise TypeError(f"to(): argument 'memory_format' must be torch.memory_format, not {type(memory_format).__name__}")
    if rest or given:
        problem = f"an unexpected keyword argument '{next(iter(given))}'" if given else "too many positional arguments"
        raise TypeError(f"to() received an invalid combination of arguments: {problem}")
    if device is not None and not isinstance(device, (str, int, aten.Device)):
        raise TypeError(f"to() received an invalid combination of arguments: a device cannot be {type(device).__name__}")
    return device, dtype, bool(non_blocking), memory_format


def _takes_data(tensor: Tensor, applied: Tensor) -> bool:
    """Whether `tensor.data = applied` is the way: not between memory and none, and not where the user says otherwise."""
    return tensor.is_meta == applied.is_meta and not switches.get_overwrite_module_params_on_conversion()


class Converts:
    """What a Module knows of converting its tensors."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]

    def children(self) -> Iterator[Any]:
        raise NotImplementedError

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """`fn` of every parameter (which stays the same object, so that optimizers keep it), its gradient, and every buffer."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, parameter in self._parameters.items():
            if parameter is not None:
                self._convert_parameter(name, parameter, fn)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def _convert_parameter(self, name: str, parameter: Any, fn: Callable[[Tensor], Tensor]) -> None:
        gradient = parameter.grad
        with aten.no_grad():
            applied = fn(parameter)
        if switches.get_swap_module_params_on_conversion():
            try:
                parameter.grad = None
                made = Parameter(applied, requires_grad=parameter.requires_grad)
                swap_tensors(parameter, made)
            except Exception as error:
                parameter.grad = gradient
                raise RuntimeError(f"_apply(): Couldn't swap {type(self).__name__}.{name}") from error
            if gradient is not None:
                parameter.grad = self._converted_gradient(gradient, fn)
            return
        new = parameter
        if not _takes_data(parameter, applied):
            new = self._parameters[name] = Parameter(applied, requires_grad=parameter.requires_grad)
            if gradient is not None:
                new.grad = self._converted_gradient(gradient, fn)
        elif applied is not parameter:
            converted = None if gradient is None else self._converted_gradient(gradient, fn)
            parameter.grad = None  # of the old dtype or device, which would not fit the new data
            parameter.data = applied
            parameter.grad = converted
        elif gradient is not None:
            new.grad = self._converted_gradient(gradient, fn)

    def _converted_gradient(self, gradient: Tensor, fn: Callable[[Tensor], Tensor]) -> Tensor:
        with aten.no_grad():
            applied = fn(gradient)
        if applied is gradient or not _takes_data(gradient, applied):
            return applied.requires_grad_(gradient.requires_grad)
        if gradient.grad_fn is not None:
            return applied
        gradient.data = applied
        return gradient

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """to(device), to(dtype), to(device, dtype, non_blocking), to(tensor), to(memory_format=…); in place, returns itself.

        dtype: a floating or complex one (TypeError else), for floating and complex tensors; memory_format: for 4-D and 5-D ones.
        """
        device, dtype, non_blocking, memory_format = _parse_to(args, kwargs)
        if dtype is not None:
            if not (dtype.is_floating_point or dtype.is_complex):
                raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}")
            if dtype.is_complex:
                warnings.warn(
                    "Complex modules are a new feature under active development whose design may change, and some modules might "
                    "not work as expected when using complex tensors as parameters or buffers.",
                    stacklevel=2,
                )

        def convert(t: Tensor) -> Tensor:
            wanted = dtype if dtype is not None and (t.dtype.is_floating_point or t.dtype.is_complex) else t.dtype
            if t.is_meta and device is not None and aten.device(device).type != "meta":
                raise NotImplementedError(
                    "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of "
                    "torch.nn.Module.to() when moving module from meta to a different device."
                )
            more = {} if memory_format is None or t.dim() not in (4, 5) else {"memory_format": memory_format}
            place = {} if device is None else {"device": device}
            return t.to(dtype=wanted, non_blocking=non_blocking, **place, **more)

        return self._apply(convert)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Tensors of the same sizes on `device`, uninitialised."""
        return self._apply(lambda t: aten.empty_like(t, device=device), recurse)

    def type(self, dst_type: Any) -> Self:
        """All parameters and buffers as `dst_type`."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self) -> Self:
        return self._cast_floating(aten.float32)

    def double(self) -> Self:
        return self._cast_floating(aten.float64)

    def half(self) -> Self:
        return self._cast_floating(aten.float16)

    def bfloat16(self) -> Self:
        return self._cast_floating(aten.bfloat16)

    def _cast_floating(self, dtype: Any) -> Self:
        return self._apply(lambda t: t.to(dtype=dtype) if t.dtype.is_floating_point else t)

    def cpu(self) -> Self:
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: Any = None) -> Self:
        return self._to_device("cuda", device)

    def ipu(self, device: Any = None) -> Self:
        return self._to_device("ipu", device)

    def xpu(self, device: Any = None) -> Self:
        return self._to_device("xpu", device)

    def mtia(self, device: Any = None) -> Self:
        return self._to_device("mtia", device)

    def _to_device(self, kind: str, index: Any) -> Self:
        place = kind if index is None else f"{kind}:{index}" if isinstance(index, int) else index
        return self._apply(lambda t: t.to(device=place))

    def share_memory(self) -> Self:
        """Moves all tensors into memory that other processes may share."""
        return self._apply(lambda t: t.share_memory_())
