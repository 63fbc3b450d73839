"""Pointwise ops: the scalar vocabulary applied element by element."""

from __future__ import annotations

from aten.op import registry
from aten.scalar.unpatched import math
from aten.symbolic.expr import Expr
from inductor.ir import nodes
from inductor.ir.buffer import ITEMSIZE
from inductor.ir.fold import cast as cast_node
from inductor.ir.nodes import FLOATS, HALF, Node, compute_dtype, const
from inductor.ir.scalar import apply, defined, table
from inductor.lowering import positions
from inductor.lowering.exact import is_half
from inductor.lowering.registry import NotLowered, lowering
from inductor.lowering.value import Value, broadcast, number

PREDICATES = {"isnan": False, "isinf": False, "isfinite": True}  # and what they say of every integer
DIVISIONS = {"truncated_quotient": "trunc_divide"} | {name: name for name in ("floor_divide", "remainder", "fmod")}  # ops: rows


def operands(graph, *args) -> list[Value]:
    """The arguments as Values of one dtype, broadcast to the result's sizes; numbers take the tensors' dtype."""
    out = graph.out
    dtype = next((a.dtype for a in args if isinstance(a, Value)), out.dtype.name)
    sizes = graph.sizes(out)
    return [broadcast(a, sizes) if isinstance(a, Value) else number(a, dtype, sizes) for a in args]


def pointwise(graph, name: str, *args) -> Value:
    """The scalar function `name` of the arguments."""
    values = operands(graph, *args)
    dtype = graph.out.dtype.name
    if not defined(name, values[-1].body.dtype):
        raise NotLowered(f"{name} of {values[-1].dtype}")
    if dtype in HALF and table[name].eager == "f":  # of the half type, not of float32
        raise NotLowered(f"{name} of {dtype}")
    sizes, bodies = graph.sizes(graph.out), [v.body for v in values]
    body = positions.combined(graph, name, bodies[0], bodies[1], sizes) if len(bodies) == 2 else None
    return Value(sizes, dtype, apply(name, *bodies) if body is None else body)


def _declare(name: str) -> None:
    lowering(name)(lambda graph, *args: pointwise(graph, name, *args))


NOT_ELEMENTWISE = ("square", "fma", "uniform", "normal")  # rows whose names are those of other ops

# An elementwise op that has a row is that function of its elements, unless a lowering below says more.
for _name in table:
    if _name in registry and _name not in NOT_ELEMENTWISE:
        _declare(_name)


@lowering("polygamma")
def _polygamma(graph, n, x):
    if isinstance(n, Expr) or n > 1:
        raise NotLowered(f"polygamma of order {n}")
    return pointwise(graph, "trigamma" if n else "digamma", x)


def _predicate(name: str, of_integers: bool) -> None:
    @lowering(name)
    def lower(graph, x):
        if x.body.dtype not in FLOATS:
            return number(of_integers, "bool", x.sizes)
        return pointwise(graph, name, x)


for _name, _of_integers in PREDICATES.items():
    _predicate(_name, _of_integers)


def _logical(name: str) -> None:
    @lowering(name)
    def lower(graph, a, b):
        values = operands(graph, a, b)
        body = apply(name, *(cast_node(v.body, "bool") for v in values))
        return Value(graph.sizes(graph.out), "bool", body)


for _name in ("logical_and", "logical_or", "logical_xor"):
    _logical(_name)


def _division(name: str, row: str) -> None:
    @lowering(name)
    def lower(graph, a, b):
        values = operands(graph, a, b)
        x, y = (v.body for v in values)
        if x.dtype == "bool":
            raise NotLowered(f"{name} of bool")
        if x.dtype not in FLOATS:
            y = graph.verified(nodes.nonzero(y, graph.check("other")), graph.sizes(graph.out))  # (nothing may be divided by 0)
        return Value(graph.sizes(graph.out), graph.out.dtype.name, apply(row, x, y))


for _name, _row in DIVISIONS.items():
    _division(_name, _row)


@lowering("conj_physical")
def conj_physical(graph, x):
    """x: real tensors are their own conjugates."""
    if x.dtype.startswith("complex"):
        raise NotLowered("complex")
    return x


@lowering("relu")
def relu(graph, x):
    """0 where x < 0; NaN stays."""
    zero = const(0, x.body.dtype)
    return Value(x.sizes, x.dtype, apply("where", apply("lt", x.body, zero), zero, x.body))


@lowering("silu")
def silu(graph, x):
    """x * sigmoid(x)"""
    return Value(x.sizes, x.dtype, apply("mul", x.body, apply("sigmoid", x.body)))


@lowering("gelu")
def gelu(graph, x, approximate="none"):
    """x * P(X <= x), or its tanh form (Hendrycks & Gimpel 2016)."""
    t, dtype = x.body, x.body.dtype

    def c(v: float) -> Node:
        return const(v, dtype)

    if approximate == "tanh":
        cube = apply("mul", apply("mul", apply("mul", c(0.044715), t), t), t)  # in the order of eager
        inner = apply("mul", c(math.sqrt(2 / math.pi)), apply("add", t, cube))
        tail = apply("tanh", inner)
    else:
        tail = apply("erf", apply("mul", t, c(math.sqrt(0.5))))
    body = apply("mul", apply("mul", c(0.5), t), apply("add", c(1), tail))
    return Value(x.sizes, x.dtype, body)


@lowering("where")
def where(graph, condition, a, b):
    """a where the condition holds, else b."""
    sizes, dtype = graph.sizes(graph.out), graph.out.dtype.name
    a, b = (broadcast(v, sizes) if isinstance(v, Value) else number(v, dtype, sizes) for v in (a, b))
    c = broadcast(condition, sizes)
    return Value(sizes, dtype, apply("where", c.body, a.body, b.body))


@lowering("clamp")
def clamp(graph, x, low=None, high=None):
    """maximum with `low`, then minimum with `high`; NaN stays."""
    body = x.body
    for name, beyond, bound in (("maximum", "lt", low), ("minimum", "gt", high)):
        if isinstance(bound, Value):
            raise NotLowered("clamp between tensors")
        if bound is None:
            continue
        limit = number(bound, x.dtype).body
        plain = body.dtype in FLOATS and limit.kind == "const" and limit.value == limit.value
        if plain:  # no NaN: half the instructions of a maximum that keeps those
            body = apply("where", apply(beyond, body, limit), limit, body)
        else:
            body = apply(name, body, limit)
    return Value(x.sizes, x.dtype, body)


@lowering("cast")
def cast(graph, x, dtype):
    """x in another dtype. A cast to a half rounds even where the value stays in a register, but what was given as one is one
    (nansum of bfloat16 [524288]: 44 us instead of 88)."""
    name = getattr(dtype, "name", dtype)
    if name.startswith("complex") or x.dtype.startswith("complex"):
        raise NotLowered("complex")
    body = cast_node(x.body, compute_dtype(name))
    if name in HALF and x.dtype != name:
        is_given = lambda n: (graph.buffers[n.buffer].kind, graph.buffers[n.buffer].dtype) == ("input", name)
        body = body if body.kind == "const" or is_half(body, name, is_given) else apply("round_" + name, body)
    return Value(x.sizes, name, body)


@lowering("bitcast")
def bitcast(graph, x, dtype):
    """The same bits in another dtype, where its items are as wide."""
    if ITEMSIZE[x.dtype] != dtype.itemsize:
        raise NotLowered("items of another width")
    if "bool" in (x.dtype, dtype.name) or x.dtype in HALF or dtype.name in HALF:
        raise NotLowered("bitcast of halves and bools")
    return Value(x.sizes, dtype.name, nodes.call("bitcast", (x.body,), dtype.name))
