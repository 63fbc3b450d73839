"""Functions of sparse tensors as functions of the dense tensors that are in them: finite differences step along those."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from aten import _native, layout
from aten._native import Tensor
from aten.scalar.unpatched import functools


def is_sparse(x: Any) -> bool:
    """Whether it is a tensor in one of the sparse layouts."""
    return isinstance(x, Tensor) and x.layout is not layout.strided


def by_values(func: Callable[..., Any], inputs: tuple[Any, ...], masked: bool) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The function of what is in its sparse inputs: of the elements that are there (masked), or of all elements."""
    rebuild: dict[int, Callable[[Tensor], Any]] = {}
    leaves = list(inputs)
    for i, x in enumerate(inputs):
        if not (is_sparse(x) and x.requires_grad):
            continue
        coo: Any = x._coo().coalesce()
        if masked:
            values, place = coo._val, coo._with
        else:
            sizes, rest = x.shape[: coo.sparse_dim()], x.shape[coo.sparse_dim() :]
            everywhere = np.indices(sizes).reshape(len(sizes), -1)
            values = x.to_dense().reshape((-1, *rest))
            place = functools.partial(_placed, type(coo), _native.from_numpy(everywhere), tuple(x.shape))
        leaves[i] = values.detach().clone().requires_grad_()
        rebuild[i] = lambda v, place=place, kind=x.layout: place(v).to_sparse(layout=kind)
    if not rebuild:
        return func, inputs
    return lambda *args: func(*[rebuild[i](a) if i in rebuild else a for i, a in enumerate(args)]), tuple(leaves)


def _placed(kind: Any, places: Tensor, sizes: tuple[int, ...], values: Tensor) -> Any:
    return kind(places, values, sizes, True)


__all__ = ["by_values", "is_sparse"]
