"""Tensors from nothing: constants and counting."""

from __future__ import annotations

from aten.symbolic.expr import as_expr, eq
from inductor.ir import nodes
from inductor.ir.fold import cast
from inductor.ir.loops import loop_variables
from inductor.ir.nodes import compute_dtype, const
from inductor.ir.scalar import apply
from inductor.lowering import positions
from inductor.lowering.registry import NotLowered, lowering
from inductor.lowering.value import Value, number


@lowering("full")
def full(graph, size, fill_value, dtype=None, device=None):
    """One value everywhere."""
    if isinstance(fill_value, complex) and not graph.out.dtype.is_complex:
        if fill_value.imag:
            raise NotLowered("a complex number as a real one, which eager refuses")
        fill_value = fill_value.real
    return number(fill_value, graph.out.dtype.name, graph.sizes(graph.out))


@lowering("arange")
def arange(graph, start, end, step, dtype=None, device=None):
    """start + i * step; with a float among them computed in float64, as eager does."""
    name = graph.out.dtype.name
    i = loop_variables(1)[0]
    floats = any(isinstance(v, float) or getattr(v, "kind", "int") == "float" for v in (start, step))
    if not floats:
        sizes = graph.sizes(graph.out)
        body = positions.combined(graph, "mul", nodes.index(i), number(as_expr(step), "int64").body, sizes)
        first = number(as_expr(start), "int64").body
        body = None if body is None else positions.combined(graph, "add", body, first, sizes)
        if body is None:
            raise NotLowered("counting that may wrap")
    else:
        first, by = (number(as_expr(v), "float64").body if not isinstance(v, float) else const(v, "float64") for v in (start, step))
        body = apply("add", first, apply("mul", cast(nodes.index(i), "float64"), by))
    return Value(graph.sizes(graph.out), name, cast(body, compute_dtype(name)))


@lowering("eye")
def eye(graph, n, m, dtype=None, device=None):
    """1 where the row is the column."""
    name = graph.out.dtype.name
    i, j = loop_variables(2)
    return Value(graph.sizes(graph.out), name, cast(nodes.index(eq(i, j), "bool"), compute_dtype(name)))
