"""Backward of the products that the native paths record whole: matmul of any ranks above 1, and linear."""

from typing import Any

from aten import _native


def matmul_backward(node: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    """Of a @ b with a [*, n, k] and b [*, k, m]: g @ b.T and a.T @ g; the engine sums over broadcast batches."""
    (g,), (a, b) = grads, node.saved
    needs = node.needs
    ga = g.matmul(b.transpose(-2, -1)) if needs[0] else None
    gb = None
    if needs[1] and b.ndim == 2 and a.ndim > 2:  # one matrix for all batches: rows of all of them in one product
        gb = a.reshape(-1, a.shape[-1]).t().mm(g.reshape(-1, g.shape[-1]))
    elif needs[1]:
        gb = a.transpose(-2, -1).matmul(g)
    return ga, gb


def linear_backward(node: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    """Of input @ weight.T + bias."""
    (g,), (x, weight) = grads, node.saved
    needs = node.needs
    rows = g.reshape(-1, g.shape[-1])
    gx = g.matmul(weight) if needs[0] else None
    gw = rows.t().mm(x.reshape(-1, x.shape[-1])) if needs[1] else None
    gb = rows.sum(0) if needs[2] else None
    return gx, gw, gb


_native.set_product_backward("matmul", matmul_backward)
_native.set_product_backward("linear", linear_backward)

__all__ = ["linear_backward", "matmul_backward"]
