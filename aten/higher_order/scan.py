"""scan: a function that carries a value along the slices of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten import pytree
from aten._native import Tensor
from aten.higher_order.map import slices, stacked
from aten.higher_order.steps import CHANGED


def scan(combine_fn: Callable, init: Any, xs: Any, *, dim: int = 0, reverse: bool = False) -> tuple:
    """(last carry, the ys stacked along `dim`) of `carry, y = combine_fn(carry, x)` for the slices x of `xs` along `dim`.

    init, xs: nestings of tensors. reverse: from the last slice to the first (the ys stay at their places).
    Raises RuntimeError for what is no tensor, sizes that differ, or a carry that changes its nesting, sizes or dtype.
    """
    if not callable(combine_fn):
        raise RuntimeError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not isinstance(dim, int):
        raise RuntimeError(f"Dim must be an int, but got {type(dim)}")
    if not isinstance(reverse, bool):
        raise RuntimeError(f"Reverse must be a bool, but got {type(reverse)}")
    first, carry_spec = pytree.flatten(init)
    if not first or not all(isinstance(x, Tensor) for x in first):
        raise RuntimeError(f"All init leaves must be a Tensor, and there must be one, but got {init}")
    leaves, spec = pytree.flatten(xs)
    places = [dim + x.ndim if dim < 0 else dim for x in leaves if isinstance(x, Tensor)]
    count = int(slices("scan", leaves, places))
    carry, results = init, []
    for i in reversed(range(count)) if reverse else range(count):
        x = pytree.unflatten([x.select(d, i) for x, d in zip(leaves, places)], spec)
        carry, y = combine_fn(carry, x)
        _check(first, carry_spec, carry)
        results.append(y)
    ys, nesting = pytree.flatten(stacked(results[::-1] if reverse else results, 0))
    return carry, pytree.unflatten([y.movedim(0, places[0]) for y in ys], nesting)


def _check(first: list[Tensor], spec: pytree.Spec, carry: Any) -> None:
    leaves, found = pytree.flatten(carry)
    same = found == spec and all(
        isinstance(b, Tensor) and a.dtype is b.dtype and tuple(a.shape) == tuple(b.shape) for a, b in zip(first, leaves)
    )
    if not same:
        raise RuntimeError(f"{CHANGED}: {spec} of {first} became {carry}")
