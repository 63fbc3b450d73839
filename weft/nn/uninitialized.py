"""Parameters and buffers whose sizes are not known yet, and tensors that a Module files as buffers."""

from __future__ import annotations

from typing import Any

import aten
from aten import Parameter, Tensor, _native

_MESSAGE = (
    "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` when "
    "trying to load an uninitialized parameter into an initialized one. Call `forward` to initialize the parameters before "
    "accessing their attributes."
)


class UninitializedTensorMixin:
    """Has a dtype and a device; `materialize` gives it sizes, by which it becomes an ordinary parameter or buffer."""

    __slots__ = ()
    cls_to_become: type[Tensor]

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Uninitialised memory of these sizes in place of none."""
        self.data = aten.empty(
            shape, device=self.data.device if device is None else device, dtype=self.data.dtype if dtype is None else dtype
        )
        self.__class__ = self.cls_to_become  # type: ignore[assignment]

    @property
    def shape(self) -> Any:
        raise RuntimeError(_MESSAGE)

    def to(self: Any, *args: Any, **kwargs: Any) -> Any:
        """Of another dtype or device, as uninitialised as before."""
        data = self.data.to(*args, **kwargs)
        return type(self)(self.requires_grad, data.device, data.dtype)

    def half(self) -> Any:
        return self.to(aten.float16)

    def bfloat16(self) -> Any:
        return self.to(aten.bfloat16)

    def float(self) -> Any:
        return self.to(aten.float32)

    def double(self) -> Any:
        return self.to(aten.float64)

    def cpu(self) -> Any:
        return self.to("cpu")

    def cuda(self, device: Any = None) -> Any:
        return self.to("cuda" if device is None else device)

    def share_memory_(self) -> Any:
        raise RuntimeError(_MESSAGE.replace("access the shape of", "share memory on").split(". This")[0] + ".")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        return type(self), (self.requires_grad, self.device, self.dtype)

    def __deepcopy__(self: Any, memo: dict) -> Any:
        memo[id(self)] = copy = type(self)(self.requires_grad, self.device, self.dtype)
        return copy


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    __slots__ = ()
    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> UninitializedParameter:
        return _native.make_subclass(cls, aten.empty(0, device=device, dtype=dtype), requires_grad)


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    __slots__ = ()
    cls_to_become = Tensor

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> UninitializedBuffer:
        made = _native.make_subclass(cls, aten.empty(0, device=device, dtype=dtype), requires_grad)
        made.persistent, made._is_buffer = persistent, True
        return made


def is_lazy(param: Any) -> bool:
    return isinstance(param, UninitializedTensorMixin)
