"""asarray: a tensor of what holds numbers, sharing its memory or not, as the caller says."""

from __future__ import annotations

from typing import Any

import numpy as np

from aten import _native, default_device
from aten.dtype import DType
from aten.dtype import device as as_device
from aten.promotion import TYPE_NAMES
from aten.storage import frombuffer
from aten.tensor import Tensor, as_tensor


def asarray(
    obj: Any, *, dtype: DType | None = None, device: Any = None, copy: bool | None = None, requires_grad: bool | None = None
) -> Tensor:
    """`obj` as a tensor: tensors, arrays, what has DLPack or a buffer share their memory where dtype and device allow.

    copy: True for new memory, False for ValueError where it cannot be shared. requires_grad: as `obj` unless given; False
    detaches.
    """
    shared = _shared(obj, dtype)
    if copy is False:
        _check_alias(shared, dtype, device)
    result = as_tensor(obj if shared is None else shared, dtype, device)
    if copy and result is shared:
        result = result.clone()
    if requires_grad is None or requires_grad == result.requires_grad:
        return result
    return result.detach().requires_grad_() if requires_grad else result.detach()


def _shared(obj: Any, dtype: DType | None) -> Tensor | None:
    """The tensor on the memory of `obj`, or None if that is not memory of numbers."""
    if isinstance(obj, (Tensor, np.ndarray)) or hasattr(obj, "__dlpack__") and not isinstance(obj, np.generic):
        return as_tensor(obj, device=obj.device if isinstance(obj, Tensor) else None)
    if isinstance(obj, (bytes, bytearray, memoryview)):
        return frombuffer(obj, dtype=_native.get_default_dtype() if dtype is None else dtype)
    return None


def _check_alias(shared: Tensor | None, dtype: DType | None, device: Any) -> None:
    """Raises ValueError if a tensor of this dtype on this device cannot be one of the same memory."""
    if shared is None:
        raise ValueError("can't alias arbitrary sequence into a tensor.")
    wanted = default_device.current() if device is None else device
    if wanted is not None and as_device(wanted) != shared.device:
        raise ValueError(f"can't alias tensor from device '{shared.device}' to '{as_device(wanted)}'.")
    if dtype is not None and dtype is not shared.dtype:
        raise ValueError(f"can't alias tensor with dtype '{TYPE_NAMES[shared.dtype.name]}' into dtype '{TYPE_NAMES[dtype.name]}'.")
