"""Random numbers: functions of the seed, the first counter and the place of an element, so they fuse as arithmetic does."""

from __future__ import annotations

from aten.symbolic.expr import ONE, Expr, as_expr, le
from inductor.ir import nodes
from inductor.ir.fold import cast, wrap
from inductor.ir.index import flat, row_major
from inductor.ir.loops import loop_variables
from inductor.ir.nodes import Node, call, compute_dtype
from inductor.ir.scalar import apply
from inductor.lowering.registry import NotLowered, lowering
from inductor.lowering.value import Value


def place(sizes) -> Node:
    """An element's number in row-major order."""
    return nodes.index(flat(loop_variables(len(sizes)), row_major(sizes)))


def number(e) -> Node:
    """A seed, a counter: 64 bits, whatever they are called."""
    e = as_expr(e)
    return nodes.const(wrap(e.value, "int64"), "int64") if e.is_const else nodes.index(e)


def drawn(graph, function: str, seed, offset) -> Value:
    """A number for every element; what is stored as a half is drawn in float32."""
    sizes, dtype = graph.sizes(graph.out), graph.out.dtype.name
    given = (number(seed), number(offset), place(sizes))
    return Value(sizes, dtype, call(function, given, compute_dtype(dtype)))


@lowering("rand_philox")
def rand_philox(graph, size, seed, offset, dtype=None, device=None):
    """Uniform on [0, 1)."""
    return drawn(graph, "uniform", seed, offset)


@lowering("randn_philox")
def randn_philox(graph, size, seed, offset, dtype=None, device=None):
    """Standard normal."""
    return drawn(graph, "normal", seed, offset)


def at_most_32_bits(graph, count: Expr) -> bool:
    """Whether a range is known to take one lane a number."""
    if count.is_const:
        return count.value <= 1 << 32
    return graph.env is not None and graph.env.statically_known(le(count, as_expr(1 << 32))) is True


@lowering("randint_philox")
def randint_philox(graph, low, high, size, seed, offset, dtype=None, device=None):
    """low + the upper half of 32 bits times the range."""
    name, count = graph.out.dtype.name, as_expr(high) - as_expr(low)
    if name == "bool" or not at_most_32_bits(graph, count):
        raise NotLowered("integers that take 64 bits each")
    sizes = graph.sizes(graph.out)
    given = (number(seed), number(offset), number(count), place(sizes))
    body = apply("add", call("random_below", given, "int64"), number(low))
    return Value(sizes, name, cast(body, compute_dtype(name)))


@lowering("probabilities")
def probabilities(graph, x):
    """x, verified to be from 0 to 1 everywhere: 0 is the only place in range."""
    zero, one = (nodes.const(n, x.body.dtype) for n in (0, 1))
    within = apply("logical_and", apply("ge", x.body, zero), apply("le", x.body, one))
    wrong = apply("where", within, nodes.const(0, "int64"), nodes.const(1, "int64"))
    place = graph.verified(nodes.in_bounds(wrong, ONE, graph.check("input")), x.sizes)
    return Value(x.sizes, x.dtype, apply("where", apply("eq", place, nodes.const(0, "int64")), x.body, x.body))
