"""Backward of what the native paths record whole: matmul of any ranks above 1, linear, cat, split, pooling, nansum …"""

from __future__ import annotations

from typing import Any

from aten import _native
from aten.autograd.engine import grad
from aten.autograd.grad_mode import enable_grad
from aten.meta import Meta, is_transposed
from aten.op import Op, registry
from aten.shapes import product


def matmul_backward(node: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    """Of a @ b with a [*, n, k] and b [*, k, m]: g @ b.T and a.T @ g; the engine sums over broadcast batches."""
    (g,), (a, b) = grads, node.saved
    needs = node.needs
    ga = g.matmul(b.transpose(-2, -1)) if needs[0] else None
    gb = None
    if needs[1] and b.ndim == 2 and a.ndim > 2:  # one matrix for all batches: rows of all of them in one product
        rows, down = a.flatten(0, -2), g.flatten(0, -2)
        gb = down.t().mm(rows).t() if is_transposed(Meta.of(b)) else rows.t().mm(down)
    elif needs[1]:
        gb = a.transpose(-2, -1).matmul(g)
    return ga, gb


def linear_backward(node: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    """Of input @ weight.T + bias."""
    (g,), (x, weight) = grads, node.saved
    needs = node.needs
    rows, columns = g.flatten(0, -2), x.flatten(0, -2)
    gx = gw = None
    if needs[0]:  # gradients lie as what they are of, as those of mm do
        transposed = is_transposed(Meta.of(columns))
        gx = weight.t().mm(rows.t()).t().reshape(x.shape) if transposed else g.matmul(weight)
    if needs[1]:
        gw = columns.t().mm(rows).t() if is_transposed(Meta.of(weight)) else rows.t().mm(columns)
    gb = rows.sum(0) if needs[2] else None
    return gx, gw, gb


def cat_backward(node: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    """Of tensors joined along a dim: the slices of the gradient. Saved are the dim and the sizes along it."""
    (g,), (dim, sizes) = grads, node.saved
    return tuple(part if need else None for part, need in zip(g.split(list(sizes), dim), node.needs))


def _joined(op: str) -> Any:
    def backward(node: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        """Of the pieces of a tensor: their gradients joined, zeros for pieces without one. Saved is the dim."""
        (dim,) = node.saved
        given = next(g for g in grads if g is not None)
        parts = [given.new_zeros(tuple(sizes)) if g is None else g for g, (sizes, _, _) in zip(grads, node.metas)]
        return (registry[op](parts, dim),)

    return backward


split_backward, unbind_backward = _joined("cat"), _joined("stack")


def _pool_backward(node: Any, grads: tuple[Any, ...], general: Any) -> tuple[Any, ...]:
    g, (places, sizes, windows, x) = grads[0], node.saved
    if g is None:
        return (None,)
    if not _native.is_grad_enabled() and not _native.is_tracer(g):
        found = _native.pool_backward(g.contiguous(), places, sizes, windows)
        if found is not NotImplemented:
            return (found,)
    found = (general(g, places, sizes, *windows),)
    return tuple(Op.tie(found, [x])) if _native.is_grad_enabled() else found


def max_pool_backward(node: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    """Of the largest elements of windows: their gradients where they stood. Saved are their places, the sizes, the windows and the
    input."""

    def general(g: Any, places: Any, sizes: Any, n: int, *windows: Any) -> Any:
        lead = len(sizes) - n
        area = 1
        for size in sizes[lead:]:
            area *= size
        zeros = g.new_zeros([*sizes[:lead], area])
        return zeros.scatter_add(lead, places.flatten(lead), g.flatten(lead)).reshape(sizes)

    return _pool_backward(node, grads, general)


def avg_pool_backward(node: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    """Of the means of windows: shares of their gradients. Saved are the sizes, the windows and the input."""

    def general(g: Any, places: Any, sizes: Any, n: int, *windows: Any) -> Any:
        (kernel, stride, padding, _), (beyond, of_padding, divisor) = [w[3 - n :] for w in windows[:4]], windows[4:]
        create = _native.is_grad_enabled()
        with enable_grad():
            x = g.new_zeros(list(sizes)).requires_grad_()
            divisor_override = int(divisor) or None
            out = registry[f"avg_pool{n}d"].function(x, kernel, stride, padding, beyond, of_padding, divisor_override)
            return grad(out, x, g, create_graph=create)[0]

    return _pool_backward(node, grads, general)


def masked_scatter_backward(node: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    """Of elements replaced where a mask holds: of the others their gradients; of what replaced them those there, in order. Saved
    are the mask and the sizes of the source."""
    (g,), (mask, sizes) = grads, node.saved
    of_source = None
    if node.needs[1]:
        n = product(sizes)
        if _native.is_tracer(g):  # how many there are is not to be asked
            flat = mask.reshape([-1])
            at = (registry["cumsum"](flat, 0) - 1).clamp(min=0)
            taken = registry["where"](mask, g, 0).reshape([-1])
            of_source = g.new_zeros([n]).index_add(0, registry["where"](flat, at, 0), taken) if n else g.new_zeros([0])
        else:
            taken = g.masked_select(mask) + 0  # (a sum, in which no zero is negative)
            of_source = taken if len(taken) == n else registry["cat"]([taken, taken.new_zeros([n - len(taken)])])
        of_source = of_source.reshape(list(sizes))
    return g.masked_fill(mask, 0) if node.needs[0] else None, of_source


def flat_backward(node: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    """Of what does not change with its input: zeros."""
    (g,) = grads
    return (g.new_zeros(list(g.shape)),)


def nansum_backward(node: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    """Of a sum with NaN as 0: the gradient where there is none. Saved are the input, the dims and whether they were kept."""
    (g,), (x, dims, keepdim) = grads, node.saved
    if not keepdim:
        for d in sorted(dims):
            g = g.unsqueeze(d)
    return (g.expand(list(x.shape)) * registry["eq"](x, x),)


_BACKWARDS = {
    "matmul": matmul_backward,
    "linear": linear_backward,
    "cat": cat_backward,
    "split": split_backward,
    "unbind": unbind_backward,
    "max_pool": max_pool_backward,
    "avg_pool": avg_pool_backward,
    "masked_scatter": masked_scatter_backward,
    "flat": flat_backward,
    "nansum": nansum_backward,
}
for _name, _backward in _BACKWARDS.items():
    _native.set_product_backward(_name, _backward)

__all__ = ["cat_backward", "linear_backward", "matmul_backward", "split_backward"]
