"""autocast: a region in which ops choose their dtype (policies: aten/autocast.py)."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import aten
from aten import Tensor, _native
from aten.autocast import BITS, dtype_bits, is_autocast_available
from aten.compiling import is_compiling

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]

_DTYPES = {"cpu": (aten.bfloat16, aten.float16), "cuda": (aten.bfloat16, aten.float16)}


def autocast_decorator(autocast_instance: autocast, func: Callable) -> Callable:
    @functools.wraps(func)
    def decorate_autocast(*args: Any, **kwargs: Any) -> Any:
        with autocast_instance:
            return func(*args, **kwargs)

    return decorate_autocast


class autocast:
    """Inside, matrix products and convolutions run in `dtype` (bfloat16 or float16), losses and the like in float32.

    A context manager, which may be nested and entered again, and a decorator. `enabled=False` switches it off inside.
    cache_enabled: a parameter is cast once in the region. Backward runs outside of it, in the dtypes of forward.
    Raises ValueError for a device_type that is no str, RuntimeError for one that is not supported; warns, and does nothing,
    for other dtypes and for cuda without a device.
    """

    def __init__(
        self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self.device, self.custom_backend_name = device_type, None
        self.fast_dtype = aten.get_autocast_dtype(device_type) if dtype is None else dtype
        self._cache_enabled = aten.is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        self._enabled = enabled
        self._before: list[tuple[int, bool]] = []
        if device_type == "cuda" and enabled and _native.device_count("cuda") == 0:
            warnings.warn("User provided device_type of 'cuda', but CUDA is not available. Disabling", stacklevel=2)
            self._enabled = False
        elif enabled and self.fast_dtype not in _DTYPES[device_type]:
            name = "CPU" if device_type == "cpu" else device_type
            warnings.warn(
                f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n{name} Autocast only "
                f"supports dtype of {', '.join(map(str, _DTYPES[device_type]))} currently.",
                stacklevel=2,
            )
            self._enabled = False

    def __enter__(self) -> autocast:
        bit, (mask, value) = BITS[self.device], dtype_bits(self.device, self.fast_dtype)
        before = _native.set_ambient_bits(mask | bit, value | (bit if self._enabled else 0))
        if is_compiling():  # a graph casts what it casts once
            self._before.append((before, True))
            return self
        self._before.append((before, aten.is_autocast_cache_enabled()))
        aten.set_autocast_cache_enabled(self._cache_enabled)
        aten.autocast_increment_nesting()
        return self

    def __exit__(self, *exc: Any) -> None:
        before, caching = self._before.pop()
        _native.set_ambient_bits(BITS[self.device] | dtype_bits(self.device, self.fast_dtype)[0], before)
        if is_compiling():
            return
        if aten.autocast_decrement_nesting() == 0:
            aten.clear_autocast_cache()
        aten.set_autocast_cache_enabled(caching)

    def __call__(self, func: Callable) -> Callable:
        return autocast_decorator(self, func)



def _cast(value: Any, device_type: str, dtype: Any) -> Any:
    """Floating tensors of the device, but float64, in `dtype`; inside of containers too."""
    if isinstance(value, Tensor):
        wanted = value.is_floating_point() and value.device.type == device_type and value.dtype is not aten.float64
        return value.to(dtype) if wanted else value
    if isinstance(value, dict):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        items = [_cast(v, device_type, dtype) for v in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def custom_fwd(fwd: Callable | None = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """Decorates `forward` of an autograd.Function: its backward sees the autocast of its forward (`custom_bwd`).

    cast_inputs: where autocast is on, floating inputs come in this dtype, and forward runs with autocast off.
    """
    _check_device("custom_fwd", device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorate_fwd(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        ctx._dtype = aten.get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = aten.is_autocast_enabled(device_type)
        if cast_inputs is None or not ctx._fwd_used_autocast:
            return fwd(*args, **kwargs)
        ctx._fwd_used_autocast = False
        with autocast(device_type, enabled=False):
            return fwd(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return decorate_fwd


def custom_bwd(bwd: Callable | None = None, *, device_type: str) -> Any:
    """Decorates `backward` of an autograd.Function whose `forward` has custom_fwd: it runs in the autocast of that."""
    _check_device("custom_bwd", device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorate_bwd(*args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return decorate_bwd


def _check_device(name: str, device_type: Any) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
