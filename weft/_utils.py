"""Helpers of PyTorch's that training code imports from `torch._utils`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import aten
from aten import Tensor

__all__ = [
    "_element_size", "_flatten_dense_tensors", "_get_device_index", "_take_tensors", "_unflatten_dense_tensors", "classproperty",
]  # fmt: skip


def _element_size(dtype: aten.DType) -> int:
    """The bytes of an element."""
    return dtype.itemsize


def _flatten_dense_tensors(tensors: Iterable[Tensor]) -> Tensor:
    """All elements in one row, in a new tensor."""
    return aten.cat([t.contiguous().view(-1) for t in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Views of a row of elements, of the sizes of `tensors`."""
    views, start = [], 0
    for t in tensors:
        views.append(flat.narrow(0, start, t.numel()).view(t.shape))
        start += t.numel()
    return tuple(views)


def _take_tensors(tensors: Iterable[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """Groups of one dtype, each of about `size_limit` bytes at most, in order within a group."""
    open_groups: dict[Any, tuple[list[Tensor], int]] = {}
    for t in tensors:
        group, size = open_groups.get(t.dtype, ([], 0))
        if group and size + t.nbytes > size_limit:
            yield group
            group, size = [], 0
        open_groups[t.dtype] = [*group, t], size + t.nbytes
    for group, _ in open_groups.values():
        yield group


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The number of a device: of an int itself, of a device its index, the current one where it has none (if `optional`)."""
    if isinstance(device, int):
        return device
    if device is None:
        found = None
    else:
        device = aten.device(device)
        if device.type == "cpu":
            if allow_cpu:
                return -1
            raise ValueError(f"Expected a non cpu device, but got: {device}")
        found = device.index
    if found is not None:
        return found
    if not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got: {device}")
    from weft import cuda  # (it looks for devices)

    return cuda.current_device()


class classproperty:
    """A property of the class itself."""

    def __init__(self, func: Callable[[Any], Any]) -> None:
        self.func = func

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self.func(owner)

