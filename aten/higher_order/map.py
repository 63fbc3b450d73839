"""map: a function applied to each slice along the first dimension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten import pytree
from aten._native import Tensor
from aten.op import registry


def map(f: Callable, xs: Any, *args: Any) -> Any:
    """f(x, *args) for each x along dim 0 of `xs`, stacked along dim 0.

    xs: a tensor, or a nesting of tensors with one size at dim 0. Raises RuntimeError for other arguments or no slices.
    """
    leaves, spec = pytree.flatten(xs)
    count = int(slices("map", leaves, [0] * len(leaves)))
    results = [f(pytree.unflatten([x[i] for x in leaves], spec), *args) for i in range(count)]
    return stacked(results, 0)


def map_dense(f: Callable, xs: tuple, pos_args: tuple) -> Any:
    """f(*x, *pos_args) for the slices x of each of `xs` along dim 0, stacked along dim 0."""
    return map(lambda x: f(*x, *pos_args), tuple(xs))


def slices(name: str, leaves: list[Any], dims: list[int]) -> Any:
    """How many slices the tensors have along these dims. Raises RuntimeError where they differ or there are none."""
    if not leaves or not all(isinstance(x, Tensor) for x in leaves):
        raise RuntimeError(f"{name}: Mapped xs can only consist of tensors. Got xs {leaves}.")
    return length(name, [x.shape for x in leaves], dims)


def length(name: str, shapes: list[Any], dims: list[int]) -> Any:
    """The same, of sizes."""
    if any(len(shape) == 0 for shape in shapes):
        raise RuntimeError(f"{name}: xs must have at least one dimension")
    sizes = [shape[d] for shape, d in zip(shapes, dims)]
    if any(s != sizes[0] for s in sizes):
        text = f"Got shapes {[tuple(shape) for shape in shapes]}."
        raise RuntimeError(f"{name}: Leading dimensions of mapped xs must be consistent. {text}")
    if sizes[0] == 0:
        raise RuntimeError(f"{name}: Leading dimensions of mapped xs cannot be 0.")
    return sizes[0]


def stacked(results: list[Any], dim: int) -> Any:
    """Results nested alike as one such nesting of tensors with a new dim."""
    specs = [pytree.flatten(r)[1] for r in results]
    if any(s != specs[0] for s in specs):
        raise RuntimeError(f"the results differ in their nesting: {specs[0]} and {next(s for s in specs if s != specs[0])}")
    columns = zip(*[pytree.leaves(r) for r in results])
    return pytree.unflatten([registry["stack"](list(c), dim) for c in columns], specs[0])
