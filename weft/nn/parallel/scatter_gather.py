"""Batches cut up over devices, and put together again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import aten
from aten import Tensor

__all__ = ["gather", "is_namedtuple", "scatter", "scatter_kwargs"]


def is_namedtuple(obj: Any) -> bool:
    return isinstance(obj, tuple) and hasattr(obj, "_asdict") and hasattr(obj, "_fields")


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> list[Any]:
    """One structure a device: tensors are cut along `dim`, tuples, lists and dicts looked into, all else is handed to each."""
    n = len(target_gpus)

    def parts(obj: Any) -> list[Any]:
        if isinstance(obj, Tensor):
            return [piece.to(device) for piece, device in zip(obj.chunk(n, dim), target_gpus)]
        if is_namedtuple(obj):
            return [type(obj)(*values) for values in zip(*map(parts, obj))]
        if isinstance(obj, (tuple, list)) and obj:
            return [type(obj)(values) for values in zip(*map(parts, obj))]
        if isinstance(obj, dict) and obj:
            return [type(obj)(zip(obj, values)) for values in zip(*map(parts, obj.values()))]
        return [obj] * n

    return parts(inputs)


def scatter_kwargs(
    inputs: tuple, kwargs: dict[str, Any] | None, target_gpus: Sequence[Any], dim: int = 0
) -> tuple[tuple, tuple]:
    """Positional and keyword arguments, cut up; as many of both."""
    scattered, named = scatter(inputs, target_gpus, dim) if inputs else [], scatter(kwargs, target_gpus, dim) if kwargs else []
    n = max(len(scattered), len(named))
    return (*scattered, *[()] * (n - len(scattered))), (*named, *[{}] * (n - len(named)))


def gather(outputs: Any, target_device: Any, dim: int = 0) -> Any:
    """The structures of all devices as one: tensors are joined along `dim` (numbers as a vector)."""
    first = outputs[0]
    if isinstance(first, Tensor):
        moved = [o.to(target_device) if target_device != -1 else o.cpu() for o in outputs]
        return aten.stack(moved) if first.dim() == 0 else aten.cat(moved, dim)
    if first is None:
        return None
    if isinstance(first, dict):
        if any(len(first) != len(o) for o in outputs):
            raise ValueError("All dicts must have the same number of keys")
        return type(first)((k, gather([o[k] for o in outputs], target_device, dim)) for k in first)
    joined = [gather(values, target_device, dim) for values in zip(*outputs)]
    return type(first)(*joined) if is_namedtuple(first) else type(first)(joined)
