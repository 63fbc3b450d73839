"""Running sums, products and extremes."""

from __future__ import annotations

from aten.symbolic.expr import ONE
from inductor.ir import nodes
from inductor.ir.fold import cast
from inductor.ir.loops import Scan, loop_variables
from inductor.ir.nodes import FLOATS, compute_dtype, const
from inductor.ir.scalar import apply
from inductor.lowering.registry import NotLowered, lowering
from inductor.lowering.value import Value, number


def running(graph, x: Value, dim: int, kind: str, dtype: str) -> Value:
    """The scan `kind` of x along a dim, of more than one element."""
    wide = compute_dtype(dtype)
    return graph.computed(Scan(x.sizes, (dim,), kind, wide, cast(x.body, wide)), dtype, x.sizes, ())


def _scan(name: str, kind: str) -> None:
    @lowering(name)
    def lower(graph, x, dim):
        dtype = graph.out.dtype.name
        if kind not in ("sum", "prod") and graph.device == "cpu":
            raise NotLowered(f"{name} is a kernel of the CPU's")
        if not x.rank or x.sizes[int(dim) % x.rank] is ONE:
            return Value(x.sizes, dtype, cast(x.body, compute_dtype(dtype)))
        return running(graph, x, int(dim) % x.rank, kind, dtype)


for _name, _kind in (("cumsum", "sum"), ("cumprod", "prod"), ("logcumsumexp", "logaddexp")):
    _scan(_name, _kind)


def _extreme(name: str, kind: str) -> None:
    @lowering(name)
    def lower(graph, x, dim):
        """The extreme so far, then the last place that has it: where an element is the extreme so far, or NaN."""
        if graph.device == "cpu":
            raise NotLowered(f"{name} is a kernel of the CPU's")
        if not x.rank or x.sizes[int(dim) % x.rank] is ONE:
            return x, number(0, "int64", x.sizes)
        dim = int(dim) % x.rank
        if x.buffer_load is None:  # what is computed twice might be rounded in another way
            x = graph.realize(x)
        own = Value(x.sizes, "int32", cast(x.body, "int32")) if x.dtype == "bool" else x
        best = running(graph, own, dim, kind, own.body.dtype)
        found = apply("eq", own.body, best.body)
        if x.body.dtype in FLOATS:
            found = nodes.call("bitwise_or", (found, apply("isnan", x.body)), "bool")
        i = loop_variables(x.rank)
        place = apply("where", found, nodes.index(i[dim]), const(0, "int64"))
        places = running(graph, Value(x.sizes, "int64", place), dim, "max", "int64")
        values = x.load([places.body if d == dim else i[d] for d in range(x.rank)])  # of zeros the one that stands there
        return Value(x.sizes, x.dtype, values), places


for _name, _kind in (("cummax", "max"), ("cummin", "min")):
    _extreme(_name, _kind)
