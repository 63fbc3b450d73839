"""Dims joined and split."""

from __future__ import annotations

from typing import Any

from aten import Tensor
from weft.nn.module import Module


class Flatten(Module):
    """Joins the dims start_dim … end_dim."""

    __constants__ = ["start_dim", "end_dim"]

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits dim `dim` into `unflattened_size`: sizes, or (name, size) pairs with the name of the dim."""

    __constants__ = ["dim", "unflattened_size"]

    def __init__(self, dim: Any, unflattened_size: Any) -> None:
        super().__init__()
        if isinstance(dim, int):
            kind = "Tuple of ints"
            wanted: Any = int
        elif isinstance(dim, str):
            kind, wanted = "Tuple of tuples", tuple
        else:
            raise TypeError("invalid argument type for dim parameter")
        if not isinstance(unflattened_size, (tuple, list) if wanted is int else tuple):
            raise TypeError(f"unflattened_size must be a {kind.lower()}, but found type {type(unflattened_size).__name__}")
        for i, element in enumerate(unflattened_size):
            if not isinstance(element, wanted):
                raise TypeError(
                    f"unflattened_size must be {kind.lower()}, but found element of type {type(element).__name__} at pos {i}"
                )
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
