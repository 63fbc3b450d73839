"""scatter_reduce on a device. Sums are atomic; an extreme is the largest of what orders the values, which integers are, and so
NaN counts as it should; of a product every element looks for what is its own, since nothing multiplies atomically."""

from __future__ import annotations

from aten.symbolic.expr import and_, as_expr, lt
from inductor.ir import nodes
from inductor.ir.fold import cast
from inductor.ir.loops import loop_variables
from inductor.ir.nodes import FLOATS, Node, const
from inductor.ir.scalar import apply
from inductor.lowering.indexing import in_bounds
from inductor.lowering.reduction import reduce as reduced
from inductor.lowering.registry import NotLowered, lowering
from inductor.lowering.sorting import LAST, on_device, rank_of
from inductor.lowering.value import Value

LOWEST = const(-(1 << 63), "int64")


def order_of(body: Node, smallest: bool) -> Node:
    """int64: the larger, the more extreme a value is. NaN is more extreme than all others."""
    rank = rank_of(body, smallest)
    if smallest and body.dtype in FLOATS:
        rank = apply("where", apply("isnan", body), const(LAST, "int64"), rank)
    return rank


def of_order(order: Node, dtype: str, smallest: bool) -> Node:
    """The value that has this order."""
    rank = apply("bitwise_not", order) if smallest else order
    if dtype in FLOATS:
        bits, top = ("int64", LAST) if dtype == "float64" else ("int32", (1 << 31) - 1)
        plain = cast(rank, bits)
        plain = apply("where", apply("lt", plain, const(0, bits)), apply("bitwise_xor", plain, const(top, bits)), plain)
        value = nodes.call("bitcast", (plain,), dtype)
        return apply("where", apply("eq", order, const(LAST, "int64")), const(float("nan"), dtype), value)
    if dtype == "bool":
        return apply("ne", rank, const(0, "int64"))
    if dtype == "uint64":
        rank = apply("bitwise_xor", rank, LOWEST)
    elif dtype == "uint32":
        rank = apply("add", rank, const(1 << 31, "int64"))
    return cast(rank, dtype)


class Scatter:
    """One call: `into` makes a buffer by what is met at the places that the index names."""

    def __init__(self, graph, x: Value, dim: int, index: Value, src: Value):
        self.graph, self.x, self.dim, self.index, self.src = graph, x, dim, index, src
        i = loop_variables(x.rank)
        j = in_bounds(graph, index.body, x.sizes[dim], "index", index.sizes)
        self.where = tuple(j if d == dim else i[d] for d in range(x.rank))

    def into(self, start: Node, body: Node, kind: str = "accumulate") -> Node:
        dtype = self.x.dtype if start.dtype == self.x.body.dtype else start.dtype
        sizes = self.x.sizes
        return self.graph.accumulated(start, sizes, dtype, self.index.sizes, (self.dim,), self.where, body, kind).body

    def met(self) -> Node:
        """Whether the index names an element."""
        return self.into(const(False, "bool"), const(True, "bool"), "replace")

    def extreme(self, smallest: bool, include_self: bool) -> Node:
        x, src = self.x.body, self.src.body
        start = order_of(x, smallest) if include_self else LOWEST
        made = of_order(self.into(start, order_of(src, smallest), "largest"), x.dtype, smallest)
        return made if include_self else apply("where", self.met(), made, x)

    def sum(self, include_self: bool) -> Node:
        x = self.x.body
        return self.into(x if include_self else apply("where", self.met(), const(0, x.dtype), x), self.src.body)

    def mean(self, include_self: bool) -> Node:
        one = const(1, "int64")
        count = apply("maximum", self.into(one if include_self else const(0, "int64"), one), one)
        total = self.sum(include_self)
        return apply("div" if total.dtype in FLOATS else "floor_divide", total, cast(count, total.dtype))

    def product(self, include_self: bool) -> Node:
        """Every element of the result reads all of its line."""
        x, dim, i = self.x, self.dim, loop_variables(self.x.rank + 1)
        line = [i[-1] if d == dim else i[d] for d in range(x.rank)]
        sizes = (*x.sizes, self.index.sizes[dim])
        inside = [lt(i[d], n) for d, n in enumerate(self.index.sizes) if d != dim and n is not x.sizes[d]]
        own = apply("eq", cast(self.index.load(line), "int64"), nodes.index(i[dim]))
        if inside:
            own = nodes.masked(self.graph.condition(and_(*inside), sizes), own, const(False, "bool"))
        values = Value(sizes, x.dtype, nodes.masked(own, self.src.load(line), const(1, x.body.dtype)))
        made = reduced(self.graph, values, "prod", (x.rank,), False, x.dtype).body
        return apply("mul", x.body, made) if include_self else apply("where", self.met(), made, x.body)


@lowering("scatter_reduce")
def scatter_reduce(graph, x, dim, index, src, reduce, include_self=True):
    """x with what `reduce` makes of out[i with i[dim] = index[i]] and of all src[i]."""
    on_device(graph)
    if not x.rank or index.rank != x.rank or as_expr(0) in index.sizes:
        raise NotLowered("scatter_reduce into a scalar, or of nothing")
    if x.dtype == "bool":  # sums of truth values are such, and so are products
        reduce = {"sum": "amax", "prod": "amin"}.get(reduce, reduce)
    call = Scatter(graph, x, dim % x.rank, index, src)
    if reduce in ("amax", "amin"):
        body = call.extreme(reduce == "amin", bool(include_self))
    elif x.dtype == "bool":
        raise NotLowered("the mean of truth values")
    else:
        body = getattr(call, {"prod": "product"}.get(reduce, reduce))(bool(include_self))
    return Value(x.sizes, x.dtype, body)
