"""What a tensor has to do with a cuda device beside its ops: pinned host memory, streams that use it, and the array interface by
which other libraries see its memory."""

from typing import Any

import numpy as np

from aten import _native
from aten import dtype as dtypes
from aten._native import Tensor, UntypedStorage
from aten.meta import Meta, dense_strides
from aten.storage import elements
from aten.tensor import attach, set_array_interface


def _driver(what: str) -> Any:
    if _native.device_count("cuda") == 0:
        raise RuntimeError(f"Cannot access accelerator device when none is available: {what} needs a cuda device")
    from aten import _cuda

    return _cuda


def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """The tensor in host memory from and to which a device copies without staging; itself if it is there already, or if there is no
    device to pin it for. Raises RuntimeError for a tensor on a device."""
    if self.device.type != "cpu":
        raise RuntimeError(f"cannot pin 'torch.{self.device.type}' only dense CPU tensors can be pinned")
    if _native.device_count("cuda") == 0:
        return self
    driver = _driver("pin_memory()")
    if driver.is_pinned(self):
        return self
    made = driver.pinned_empty(tuple(self.shape), dense_strides(Meta.of(self)), self.dtype)
    made.copy_(self.detach())
    return made.requires_grad_() if self.requires_grad else made


def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Whether its memory is pinned."""
    if self.device.type != "cpu" or _native.device_count("cuda") == 0:
        return False
    return _driver("is_pinned()").is_pinned(self)


def record_stream(self: Tensor, stream: Any) -> None:
    """Says that a stream other than the one it was made on uses the tensor: its memory is not given to others before what is
    queued there has run."""
    if not self.is_cuda:
        raise RuntimeError("record_stream: the tensor is not on a cuda device")
    _driver("record_stream()").record_stream(self, stream.cuda_stream)


def array_interface(self: Tensor) -> dict[str, Any]:
    """`__cuda_array_interface__`, version 3: what other libraries read a tensor on a device by. AttributeError for others."""
    if not self.is_cuda:
        raise AttributeError(
            f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {self.type()} If CUDA data is required "
            "use tensor.cuda() to copy tensor to device memory."
        )
    if self.requires_grad:
        raise RuntimeError(
            "Can't get __cuda_array_interface__ on Variable that requires grad. If gradients aren't required, use "
            "var.detach() to get Variable that doesn't require grad."
        )
    kind = self.dtype.to_numpy()
    size = self.dtype.itemsize
    return {
        "typestr": f"<V{size}" if kind.kind == "V" or kind.type.__module__ == "ml_dtypes" else kind.str,
        "shape": tuple(self.shape),
        "strides": None if self.is_contiguous() else tuple(s * size for s in self.stride()),
        "data": (self.data_ptr() if self.numel() else 0, False),
        "version": 3,
        "stream": _driver("the array interface").current_stream(self.device.index)[0],
    }


def from_array_interface(given: Any) -> Tensor:
    """A tensor on the memory of an object that has `__cuda_array_interface__`, which it keeps. Work of its stream comes first.

    Raises ValueError for elements that weft has no dtype of, or steps that are no whole elements.
    """
    facts = given.__cuda_array_interface__
    kind = np.dtype(facts["typestr"])
    dtype = next((d for d in dtypes.__dict__.values() if isinstance(d, dtypes.DType) and d.to_numpy() == kind), None)
    if dtype is None:
        raise ValueError(f"as_tensor: no dtype has elements of {facts['typestr']!r}")
    sizes = tuple(facts["shape"])
    strides = facts.get("strides")
    if strides is None:
        strides = Meta.contiguous(list(sizes), dtype, dtypes.device("meta")).strides
    elif any(s % kind.itemsize for s in strides):
        raise ValueError(f"as_tensor: strides of {strides} bytes are not whole elements of {kind.itemsize}")
    else:
        strides = tuple(s // kind.itemsize for s in strides)
    driver, (address, _) = _driver("a tensor from the array interface"), facts["data"]
    index = max(driver.device_of_pointer(address), 0) if address else driver.current_device()
    if facts.get("stream") is not None and facts["stream"] != driver.current_stream(index)[0]:
        event = driver.Event()
        event.record(driver.external_stream(facts["stream"], index)[0])
        event.wait(driver.current_stream(index)[0])
    return driver.wrap(address, sizes, tuple(strides), dtype, index, given)


def listed(self: Tensor) -> list[str]:
    """The names that `dir` gives: what other libraries read a tensor on a device by is one of those tensors alone."""
    names = object.__dir__(self)
    return sorted(n for n in names if n != "__cuda_array_interface__" or self.device.type == "cuda")


for _name, _fn in {
    "__dir__": listed,
    "pin_memory": pin_memory,
    "is_pinned": is_pinned,
    "record_stream": record_stream,
    "__cuda_array_interface__": property(array_interface),
}.items():
    attach(_name, _fn)


def _storage_is_pinned(self: UntypedStorage, device: Any = None) -> bool:
    return is_pinned(elements(self))


def _pin_storage(self: UntypedStorage, device: Any = None) -> UntypedStorage:
    return pin_memory(elements(self)).untyped_storage()


set_array_interface(from_array_interface)
UntypedStorage.is_pinned = _storage_is_pinned
UntypedStorage.pin_memory = _pin_storage
UntypedStorage.get_device = lambda self: self.device.index if self.device.type == "cuda" else -1

__all__ = ["from_array_interface", "is_pinned", "pin_memory", "record_stream"]
