"""Which transform a tensor belongs to, under the names that PyTorch's native module has for that (torch._C._functorch)."""

from __future__ import annotations

import enum
from typing import Any

from aten import Tensor, _native, dispatch
from aten.transforms.batching import VmapLevel
from aten.transforms.forward_mode import JvpLevel
from aten.transforms.reverse_mode import GradLevel


class TransformType(enum.Enum):
    """The kinds of transforms."""

    Torch = enum.auto()
    Vmap = enum.auto()
    Grad = enum.auto()
    Jvp = enum.auto()
    Functionalize = enum.auto()


def _level(tensor: Any) -> Any:
    """The transform that the tensor is a value of; None for plain tensors."""
    return tensor.level if isinstance(tensor, Tensor) and _native.is_tracer(tensor) else None


def is_batchedtensor(tensor: Tensor) -> bool:
    """Whether it is an element of a batch, inside vmap."""
    return isinstance(_level(tensor), VmapLevel)


def is_gradtrackingtensor(tensor: Tensor) -> bool:
    """Whether it is a value of grad, vjp or jvp."""
    return isinstance(_level(tensor), (GradLevel, JvpLevel))


def is_functorch_wrapped_tensor(tensor: Tensor) -> bool:
    """Whether it is a value of any of these."""
    return is_batchedtensor(tensor) or is_gradtrackingtensor(tensor)


def maybe_get_level(tensor: Tensor) -> int:
    """The number of its transform, the outermost that is open being 1; -1 for plain tensors."""
    level = _level(tensor)
    return dispatch.levels.index(level) + 1 if level in dispatch.levels else -1


def maybe_get_bdim(tensor: Tensor) -> int:
    """Which dim of the batch counts the elements; -1 outside vmap."""
    return tensor.level.read(tensor).dim if is_batchedtensor(tensor) else -1


def get_unwrapped(tensor: Tensor) -> Tensor:
    """The tensor of the transform below. RuntimeError for plain tensors."""
    level = _level(tensor)
    if level is None:
        raise RuntimeError("No wrappers present!")
    inner = level.read(tensor)
    return inner.primal if isinstance(level, JvpLevel) else inner.value
