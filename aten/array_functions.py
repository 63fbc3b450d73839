"""What NumPy's functions do with tensors.

Most ask the tensor for a method of their own name, or make an array of it. Those of this table would call a method by a
signature that a tensor's does not have, take for an attribute what is a method here, or slice backwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from aten.tensor import Tensor


def _size(a: Tensor, axis: int | None = None) -> Any:
    return a.numel() if axis is None else a.shape[axis]


def _flip(m: Tensor, axis: Any = None) -> Tensor:
    return m.flip(tuple(range(m.ndim)) if axis is None else axis)


def _moveaxis(a: Tensor, source: Any, destination: Any) -> Tensor:
    return a.movedim(source, destination)


def _rollaxis(a: Tensor, axis: int, start: int = 0) -> Tensor:
    n = a.ndim
    axis, start = axis + n * (axis < 0), start + n * (start < 0)
    return a.movedim(axis, start - (axis < start))


def _spread(name: str) -> Callable[..., Tensor]:
    def call(a: Tensor, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0, keepdims: bool = False) -> Tensor:
        if dtype is not None:
            raise TypeError(f"{name}(): the dtype of a tensor's {name} is its own")
        return getattr(a, name)(axis, correction=ddof, keepdim=keepdims, **({} if out is None else {"out": out}))

    return call


TABLE: dict[Any, Callable[..., Any]] = {
    np.size: _size,
    np.flip: _flip,
    np.moveaxis: _moveaxis,
    np.rollaxis: _rollaxis,
    np.std: _spread("std"),
    np.var: _spread("var"),
}


def array_function(self: Tensor, function: Any, types: Iterable[type], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """NumPy's protocol (NEP 18): what a function of NumPy gives that was called with a tensor. Other classes come first."""
    if not all(issubclass(cls, (Tensor, np.ndarray)) for cls in types):
        return NotImplemented
    own = TABLE.get(function)
    if own is not None and args and isinstance(args[0], Tensor):
        return own(*args, **kwargs)
    return function._implementation(*args, **kwargs)


__all__ = ["array_function"]
