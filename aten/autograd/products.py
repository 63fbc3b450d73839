"""Backward of what the native paths record whole: matmul of any ranks above 1, linear, cat, split."""

from typing import Any

from aten import _native
from aten.op import registry


def matmul_backward(node: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    """Of a @ b with a [*, n, k] and b [*, k, m]: g @ b.T and a.T @ g; the engine sums over broadcast batches."""
    (g,), (a, b) = grads, node.saved
    needs = node.needs
    ga = g.matmul(b.transpose(-2, -1)) if needs[0] else None
    gb = None
    if needs[1] and b.ndim == 2 and a.ndim > 2:  # one matrix for all batches: rows of all of them in one product
        gb = a.flatten(0, -2).t().mm(g.flatten(0, -2))
    elif needs[1]:
        gb = a.transpose(-2, -1).matmul(g)
    return ga, gb


def linear_backward(node: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    """Of input @ weight.T + bias."""
    (g,), (x, weight) = grads, node.saved
    needs = node.needs
    rows = g.flatten(0, -2)
    gx = g.matmul(weight) if needs[0] else None
    gw = rows.t().mm(x.flatten(0, -2)) if needs[1] else None
    gb = rows.sum(0) if needs[2] else None
    return gx, gw, gb


def cat_backward(node: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    """Of tensors joined along a dim: the slices of the gradient. Saved are the dim and the sizes along it."""
    (g,), (dim, sizes) = grads, node.saved
    return tuple(part if need else None for part, need in zip(g.split(list(sizes), dim), node.needs))


def split_backward(node: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    """Of the pieces of a tensor: their gradients joined, zeros for pieces without one. Saved is the dim."""
    (dim,) = node.saved
    given = next(g for g in grads if g is not None)
    parts = [given.new_zeros(tuple(sizes)) if g is None else g for g, (sizes, _, _) in zip(grads, node.metas)]
    return (registry["cat"](parts, dim),)


for _name, _backward in {"matmul": matmul_backward, "linear": linear_backward,
                         "cat": cat_backward, "split": split_backward}.items():
    _native.set_product_backward(_name, _backward)

__all__ = ["cat_backward", "linear_backward", "matmul_backward", "split_backward"]
