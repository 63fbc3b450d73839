"""Differences of neighbours, what they make of derivatives, and integrals by trapezoids."""

from typing import Any

from aten import dtype as dtypes
from aten.op import alias_of, composite, ops
from aten.ops.closed import floating_of
from aten.ops.structure import wrap_all


@composite("diff(Tensor input, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor")
def diff(input, n, dim, prepend, append):
    """n-th differences of neighbours along a dimension."""
    if input.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    for beside in (prepend, append):
        if beside is None:
            continue
        if beside.ndim != input.ndim:
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
        if any(a != b for k, (a, b) in enumerate(zip(beside.shape, input.shape)) if k != dim % input.ndim):
            raise RuntimeError(
                "diff expects the shape of tensor to prepend or append to match that of input except along "
                "the differencing dimension"
            )
    if n == 0:
        return ops.alias(input)
    x = input if prepend is None and append is None else ops.cat([p for p in (prepend, input, append) if p is not None], dim)
    for _ in range(n):
        size = x.shape[dim]
        if size == 0:
            break
        after, before = ops.narrow(x, dim, 1, size - 1), ops.narrow(x, dim, 0, size - 1)
        x = ops.logical_xor(after, before) if x.dtype is dtypes.bool else after - before
    return x


@composite("trapezoid(Tensor y, Tensor? x=None, *, Scalar dx=1, int dim=-1) -> Tensor", tags=["function_only"])
def trapezoid(y, x, dx, dim):
    """The integral along a dimension by the trapezoidal rule."""
    n = y.shape[dim]
    if n == 0:
        return ops.sum(y, [dim])
    return ops.sum(_trapezoids(y, x, dx, dim), [dim])


def _trapezoids(y, x, dx, dim):
    n = y.shape[dim]
    both = ops.narrow(y, dim, 1, n - 1) + ops.narrow(y, dim, 0, n - 1)
    if x is None:
        return both * (dx / 2)
    if x.ndim == 0:  # one place for all: there is nothing between
        return both * (x - x) / 2
    if x.ndim == 1 and y.ndim > 1:
        x = x.reshape([-1 if d == dim % y.ndim else 1 for d in range(y.ndim)])
    along = dim if dim < 0 else dim - y.ndim
    m = x.shape[along]
    return both * (ops.narrow(x, along, 1, m - 1) - ops.narrow(x, along, 0, m - 1)) / 2


alias_of("trapz", trapezoid)


@composite("cumulative_trapezoid(Tensor y, Any x=None, *, Scalar dx=1, int dim=-1) -> Tensor", tags=["function_only"])
def cumulative_trapezoid(y, x, dx, dim):
    """Integrals up to each place by the trapezoidal rule."""
    for name, given in (("y", y), ("x", x)):
        if given is not None and given.dtype is dtypes.bool:
            raise RuntimeError(f"cumulative_trapezoid: received a bool input for `{name}`, but bool is not supported")
    return ops.cumsum(_trapezoids(y, x, dx, dim), dim)


@composite(
    "gradient(Tensor input, *, Any spacing=1, Any dim=None, int edge_order=1) -> Tensor[]",
    tags=["function_only"],
    compute="float32",
)
def gradient(input, spacing, dim, edge_order):
    """Derivatives along dimensions by differences of neighbours; spacing: a number, one a dim, or coordinates a dim."""
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    dims = list(range(input.ndim)) if dim is None else wrap_all(input, [dim] if isinstance(dim, int) else dim)[1]
    spacing = 1 if spacing is None else spacing
    steps = list(spacing) if isinstance(spacing, (list, tuple)) else [spacing] * len(dims)
    if len(steps) != len(dims):
        raise RuntimeError(f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length {len(dims)}")
    return tuple(_gradient_along(input, d, s, edge_order) for d, s in zip(dims, steps))


def _gradient_along(x: Any, dim: int, step: Any, edge_order: int) -> Any:
    n = x.shape[dim]
    if n < edge_order + 1:
        raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    x = floating_of(x)
    even = not hasattr(step, "dtype") or step.ndim == 0
    if even:
        at = ops.arange(n, dtype=x.dtype) * step
    else:  # (complex places of a real function give complex slopes)
        at = step.to(x.dtype.to_complex() if step.dtype.is_complex and not x.dtype.is_complex else x.dtype)
    at = at.reshape([-1 if d == dim else 1 for d in range(x.ndim)])
    part = lambda t, i, m: ops.narrow(t, dim, i, m)
    h = part(at, 1, n - 1) - part(at, 0, n - 1)
    slope = (part(x, 1, n - 1) - part(x, 0, n - 1)) / h
    first, last = part(slope, 0, 1), part(slope, n - 2, 1)
    if n == 2:
        return ops.cat([first, last], dim)
    left, right = part(h, 0, n - 2), part(h, 1, n - 2)
    if even:  # the element between, which has no weight, may be infinite
        inner = (part(x, 2, n - 2) - part(x, 0, n - 2)) / (left + right)
    else:
        inner = (part(slope, 0, n - 2) * right + part(slope, 1, n - 2) * left) / (left + right)
    if edge_order == 2:
        bend = lambda i: (part(slope, i + 1, 1) - part(slope, i, 1)) / (part(h, i, 1) + part(h, i + 1, 1))
        first, last = first - bend(0) * part(h, 0, 1), last + bend(n - 3) * part(h, n - 2, 1)
    return ops.cat([first, inner, last], dim)
