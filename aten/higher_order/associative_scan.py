"""associative_scan: all prefixes of an associative operation, in a number of steps that is logarithmic in their length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten import pytree
from aten._native import Tensor
from aten.higher_order.map import slices
from aten.op import registry
from aten.transforms.batching import vmap


def associative_scan(combine_fn: Callable, xs: Any, dim: int, reverse: bool = False, combine_mode: str = "pointwise") -> Any:
    """Tensors as `xs` whose slice i along `dim` is combine_fn(… combine_fn(x0, x1) …, xi).

    combine_fn(a, b): of two slices, nested as `xs`, gives one; associative. combine_mode: "pointwise" if it works element by
    element (then it gets several slices at once), else "generic". After Blelloch, "Prefix Sums and Their Applications" (1990).
    Raises ValueError for another mode, RuntimeError for what is no tensor or sizes that differ.
    """
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    leaves, spec = pytree.flatten(xs)
    places = [dim + x.ndim if dim < 0 else dim for x in leaves if isinstance(x, Tensor)]
    slices("associative_scan", leaves, places)
    rows = [x.movedim(d, 0) for x, d in zip(leaves, places)]
    rows = [x.flip([0]) for x in rows] if reverse else rows
    combine = combine_fn if combine_mode == "pointwise" else vmap(combine_fn)

    def combined(a: list[Any], b: list[Any]) -> list[Any]:
        return pytree.leaves(combine(pytree.unflatten(a, spec), pytree.unflatten(b, spec)))

    found = [x.flip([0]) if reverse else x for x in _prefixes(combined, rows)]
    return pytree.unflatten([x.movedim(0, d) for x, d in zip(found, places)], spec)


def _prefixes(combine: Callable, rows: list[Any]) -> list[Any]:
    """The prefixes along dim 0: those of pairs, and between them one step more."""
    n = int(rows[0].shape[0])
    if n < 2:
        return rows
    cat = registry["cat"]
    pairs = combine([x[0 : n - 1 : 2] for x in rows], [x[1:n:2] for x in rows])
    odd = _prefixes(combine, pairs)
    if n == 2:
        return [cat([x[:1], o], 0) for x, o in zip(rows, odd)]
    even = combine([o[: (n - 1) // 2] for o in odd], [x[2:n:2] for x in rows])
    found = []
    for x, e, o in zip(rows, even, odd):
        e = cat([x[:1], e], 0)
        half = n // 2
        mixed = registry["stack"]([e[:half], o[:half]], 1).flatten(0, 1)
        found.append(cat([mixed, e[half:]], 0) if n % 2 else mixed)
    return found
