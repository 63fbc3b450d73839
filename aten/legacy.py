"""Tensor types of old: FloatTensor, LongTensor … as constructors and in isinstance, `tensor.type()`, `tensor.new()`, and functions
of single elements (`apply_`, `map_`)."""

from __future__ import annotations

import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from aten import _native
from aten import dtype as dtypes
from aten._native import DType, Size, Tensor, UntypedStorage
from aten.arrays import numbers, store
from aten.dispatch import no_grad
from aten.storage import TypedStorage
from aten.tensor import attach, tensor

DTYPES = {
    "FloatTensor": "float32", "DoubleTensor": "float64", "HalfTensor": "float16", "BFloat16Tensor": "bfloat16",
    "LongTensor": "int64", "IntTensor": "int32", "ShortTensor": "int16", "CharTensor": "int8", "ByteTensor": "uint8",
    "BoolTensor": "bool", "ComplexFloatTensor": "complex64", "ComplexDoubleTensor": "complex128",
}  # fmt: skip
_NAMES = {dtype: name for name, dtype in DTYPES.items()}


def construct(args: tuple[Any, ...], dtype: DType, device: Any, what: str) -> Tensor:
    """No argument: an empty tensor; sizes: undefined values; a sequence: its elements; a tensor or storage of the dtype: its
    memory."""
    if not args:
        return _native.empty((0,), dtype, device)
    first = args[0]
    if len(args) == 1 and isinstance(first, Size):
        return _native.empty(first, dtype, device)
    if isinstance(first, (UntypedStorage, TypedStorage)):
        if isinstance(first, TypedStorage) and first.dtype is not dtype:
            raise TypeError(f"expected TypedStorage to have type {dtype} but got {first.dtype} of {what}")
        return _native.empty((0,), dtype, device).set_(first)
    if len(args) > 1:
        if not all(counts(a) for a in args):
            raise TypeError(f"new() received an invalid combination of arguments: {what} takes sizes, or one sequence of data")
        return _native.empty(tuple([operator.index(a) for a in args]), dtype, device)
    if isinstance(first, Tensor):
        if first.dtype is not dtype:
            raise TypeError(f"expected {what} (got torch.{_NAMES.get(first.dtype.name, first.dtype.name)})")
        return first.detach()
    if counts(first) and not isinstance(first, bool):
        return _native.empty((operator.index(first),), dtype, device)
    return tensor(data_given(first), dtype=dtype, device="cpu" if device is None else device)  # (no default device counts here)


def counts(value: Any) -> bool:
    """Whether it says how many: integers, tensors of one integer, and objects that say which integer they stand for."""
    if isinstance(value, Tensor):
        return value.numel() == 1 and not (value.dtype.is_floating_point or value.dtype.is_complex)
    return isinstance(value, (int, np.integer)) or (hasattr(type(value), "__index__") and not isinstance(value, np.ndarray))


def data_given(data: Any) -> Any:
    """`data`, if it is a sequence: single numbers and mappings are none, text is refused as well."""
    cls = type(data)
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{cls.__name__}'")
    if isinstance(data, (dict, types.MappingProxyType, np.number, np.bool_)) or not hasattr(cls, "__getitem__"):
        name = cls.__name__ if cls.__module__ != "numpy" else f"numpy.{cls.__name__}"
        raise TypeError(f"new(): data must be a sequence (got {'torch.' if cls in (DType, dtypes.device) else ''}{name})")
    return data


class TensorType(type):
    """The type of FloatTensor and its like: no classes of tensors, but names of a dtype on the CPU."""

    dtype: DType

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype and instance.is_cpu

    def __call__(cls, *args: Any, device: Any = None, **unknown: Any) -> Tensor:
        if unknown:
            raise TypeError(f"{cls.__name__}() takes no keyword argument '{next(iter(unknown))}'")
        if device is not None and dtypes.device(device).type != "cpu":
            raise RuntimeError(
                f"legacy constructor expects device type: cpu but device type: {dtypes.device(device).type} was passed"
            )
        return construct(args, cls.dtype, None, f"torch.{cls.__name__}")

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


tensor_classes: dict[str, TensorType] = {
    name: TensorType(
        name,
        (),
        {
            "dtype": getattr(dtypes, dtype),
            "__module__": "torch",
            "is_sparse": False,
            "is_cuda": False,
            "layout": property(lambda self: None),
        },
    )
    for name, dtype in DTYPES.items()
}


def dtype_of_type(what: Any) -> DType:
    """The dtype that a dtype, a tensor type or its name ("torch.FloatTensor") stands for. Raises ValueError for another name."""
    if isinstance(what, DType):
        return what
    if isinstance(what, TensorType):
        return what.dtype
    if what is Tensor:
        return _native.get_default_dtype()
    if isinstance(what, str):
        package, _, name = what.rpartition(".")
        if name == "Tensor" and package in ("torch", "weft"):
            return _native.get_default_dtype()
        if name in DTYPES and package in ("torch", "weft"):
            return getattr(dtypes, DTYPES[name])
        raise ValueError(f"invalid type: '{what}'")
    if isinstance(what, type) and what in (float, int, bool, complex):
        return {float: dtypes.float64, int: dtypes.int64, bool: dtypes.bool, complex: dtypes.complex128}[what]
    raise TypeError(f"type(): argument 'dtype' must be a dtype, a tensor type or its name, not {type(what).__name__}")


def type_name(dtype: DType, device: str = "cpu") -> str:
    """The name of the tensor type of a dtype on a device: torch.FloatTensor, torch.cuda.FloatTensor."""
    package = "torch" if device == "cpu" else f"torch.{device}"
    return f"{package}.{_NAMES[dtype.name]}" if dtype.name in _NAMES else f"{package}.{dtype.name.capitalize()}Tensor"


def set_default_tensor_type(t: Any) -> None:
    """The dtype of a floating tensor type becomes the default one. Raises TypeError for a type of integers."""
    dtype = dtype_of_type(t)
    if not dtype.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    _native.set_default_dtype(dtype)


def _type(self: Tensor, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
    """The tensor in another dtype, given as one or as a tensor type; without one the name of its tensor type."""
    if dtype is None:
        return type_name(self.dtype, self.device.type)
    if isinstance(dtype, str) and ".cuda." in dtype:
        wanted = dtype_of_type(dtype.replace(".cuda.", ".", 1))
        return self.to("cuda" if not self.is_cuda else self.device, wanted, non_blocking=non_blocking)
    return self.to(dtype_of_type(dtype))


def _new(self: Tensor, *args: Any, device: Any = None, size: Any = None) -> Tensor:
    """A tensor of this dtype and device: of sizes, of data, or on memory that is given."""
    if size is not None:
        args = (Size(size),)
    return construct(args, self.dtype, self.device if device is None else device, type_name(self.dtype))


def _each(self: Tensor, what: str, fn: Callable[..., Any], *others: Tensor) -> Tensor:
    if not self.is_cpu:
        raise TypeError(f"{what} is only implemented on CPU tensors")
    if self.requires_grad and _native.is_grad_enabled():
        raise RuntimeError(f"Can't call {what}() on Variable that requires grad. Use var.detach().{what}() instead.")
    for other in others:
        if other.dtype is not self.dtype:
            raise TypeError(f"{what}: expected {type_name(self.dtype)} (got {type_name(other.dtype)})")
        if len(other.shape) > len(self.shape) or any(m not in (1, n) for m, n in zip(other.shape[::-1], self.shape[::-1])):
            raise RuntimeError(
                f"{what}: a tensor of sizes {list(other.shape)} cannot be expanded to those of the first, {list(self.shape)}"
            )
    columns = [np.broadcast_to(numbers(t), tuple(self.shape)).ravel().tolist() for t in (self, *others)]
    values = [fn(*row) for row in zip(*columns)]
    with no_grad():
        store(self, numbers(tensor(values, dtype=self.dtype)).reshape(tuple(self.shape)))
        self._bump_version()
    return self


def _apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Every element becomes callable(element), a Python number."""
    return _each(self, "apply_", callable)


def _map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Every element becomes callable(element, the other tensor's)."""
    return _each(self, "map_", callable, tensor)


def _map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """Every element becomes callable(element, x's, y's)."""
    return _each(self, "map2_", callable, x, y)


def _construct(cls: type, *args: Any, **kwargs: Any) -> Tensor:
    """Tensor(): empty; Tensor(2, 3): those sizes, undefined values; Tensor(data): a copy in the default dtype; Tensor(tensor): on
    its memory."""
    if kwargs:
        raise TypeError(f"Tensor() takes no keyword arguments; use tensor(data, {next(iter(kwargs))}=...)")
    given = args[0].detach() if len(args) == 1 and isinstance(args[0], Tensor) else None
    data = construct(args, _native.get_default_dtype(), None, "torch.Tensor") if given is None else given
    return data if cls is Tensor else _native.make_subclass(cls, data, False)


_native.set_constructor(_construct)

for _name, _fn in {"type": _type, "new": _new, "apply_": _apply_, "map_": _map_, "map2_": _map2_}.items():
    attach(_name, _fn)

__all__ = ["TensorType", "construct", "dtype_of_type", "set_default_tensor_type", "tensor_classes", "type_name"]
