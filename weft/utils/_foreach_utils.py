"""Where ops on lists of tensors are one kernel, and lists of tensors by device and dtype, for code that writes such steps."""

from __future__ import annotations

from typing import Any, TypeAlias

import aten
from aten import Parameter, Tensor

TensorListList: TypeAlias = list[list[Tensor | None]]
Indices: TypeAlias = list[int]
_foreach_supported_types = [Tensor, Parameter]


def _get_foreach_kernels_supported_devices() -> list[str]:
    """On the CPU they run one after another; compiled, whatever optimizer.step does is fused."""
    return ["cuda"]


def _get_fused_kernels_supported_devices() -> list[str]:
    return ["cpu", "cuda"]


def _device_has_foreach_support(device: aten.device) -> bool:
    return device.type in ("cuda", "cpu")


def _has_foreach_support(tensors: list[Any], device: aten.device) -> bool:
    """Whether ops on lists take these tensors: plain ones and parameters."""
    return _device_has_foreach_support(device) and all(t is None or type(t) in _foreach_supported_types for t in tensors)


def _group_tensors_by_device_and_dtype(
    tensorlistlist: TensorListList, with_indices: bool = False
) -> dict[tuple[aten.device, aten.DType], tuple[TensorListList, Indices]]:
    """{(device, dtype) of the first list's tensor: (the lists with what stands at its places, those places)}.

    The lists have equal lengths, or are empty (and stay so). Raises RuntimeError where the lengths differ or the first has a None.
    """
    first = tensorlistlist[0]
    if any(values and len(values) != len(first) for values in tensorlistlist):
        raise RuntimeError("Tensor lists must have the same number of tensors, got " + str([len(v) for v in tensorlistlist]))
    groups: dict[tuple[aten.device, aten.DType], tuple[TensorListList, Indices]] = {}
    for i, tensor in enumerate(first):
        if tensor is None:
            raise RuntimeError("Tensors of the first list provided must not be None.")
        lists, places = groups.setdefault((tensor.device, tensor.dtype), ([[] for _ in tensorlistlist], []))
        for chosen, values in zip(lists, tensorlistlist):
            if values:
                chosen.append(values[i])
        if with_indices:
            places.append(i)
    return groups
