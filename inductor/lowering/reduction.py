"""Reductions: one Reduction each; mean and variance are made of sums (two passes, so that nothing cancels)."""

from __future__ import annotations

from itertools import product
from operator import getitem

from aten.symbolic.expr import ONE, ZERO, as_expr, is_const, max_, prod_
from inductor import choices
from inductor.ir import nodes
from inductor.ir.fold import cast
from inductor.ir.index import flat, row_major
from inductor.ir.loops import Reduction, loop_variables
from inductor.ir.nodes import FLOATS, Node, compute_dtype, const
from inductor.ir.scalar import apply
from inductor.lowering.registry import NotLowered, lowering
from inductor.lowering.split import in_parts
from inductor.lowering.value import Value, number, reindex


def dims_of(x: Value, dim) -> tuple[int, ...]:
    """The dims as sorted non-negative ints."""
    if dim is None:
        return tuple(range(x.rank))
    dims = dim if isinstance(dim, (list, tuple)) else [dim]
    return tuple(sorted(int(d) % max(x.rank, 1) for d in dims)) if x.rank else ()


def kept_sizes(x: Value, dims: tuple[int, ...], keepdim: bool) -> tuple:
    return tuple(ONE if d in dims else s for d, s in enumerate(x.sizes) if keepdim or d not in dims)


def with_kept_dims(x: Value, value: Value, dims: tuple[int, ...]) -> Value:
    """A reduced value, again with the dims it lost, each of size 1."""
    left = [d for d in range(x.rank) if d not in dims]
    return reindex(value, kept_sizes(x, dims, True), lambda i: [i[d] for d in left])


def reduce(
    graph, x: Value, kind: str, dims: tuple[int, ...], keepdim: bool, dtype: str, body: Node | None = None
) -> Value:
    """The reduction `kind` of x (or of `body`, over x's domain) along `dims`; `dtype` is the result's."""
    body = x.body if body is None else body
    looped = tuple(d for d in dims if x.sizes[d] is not ONE)
    result = "int64" if kind.startswith("arg") else compute_dtype(dtype)
    if not looped:
        at = [ZERO if d in dims else None for d in range(x.rank)]
        single = Value(x.sizes, dtype, const(0, "int64") if kind.startswith("arg") else cast(body, result))
        left = [d for d in range(x.rank) if d not in dims]
        out = reindex(
            single,
            [x.sizes[d] for d in left],
            lambda i: [ZERO if at[d] is not None else i[left.index(d)] for d in range(x.rank)],
        )
        return with_kept_dims(x, out, dims) if keepdim else out
    working = body.dtype if kind.startswith("arg") else result
    if kind.startswith("arg") and working == "bool":
        working = "int32"  # truth values have no order in vectors
    body = cast(body, working)
    parts = in_parts(graph, Value(x.sizes, working, body), kind, looped, working)
    if parts is not None:
        left = [s for d, s in enumerate(x.sizes) if d not in looped]
        value = Reduction(parts.sizes, (parts.rank - 1,), kind, working, parts.body)
        out = graph.computed(value, dtype, left, (parts.rank - 1,))
        out = reindex(out, [s for d, s in enumerate(x.sizes) if d not in dims], spread(x, looped, dims))
        return with_kept_dims(x, out, dims) if keepdim else out
    value = Reduction(x.sizes, looped, kind, working, body)
    out = graph.computed(value, dtype, tuple(s for d, s in enumerate(x.sizes) if d not in dims), dims)
    return with_kept_dims(x, out, dims) if keepdim else out


def spread(x: Value, looped: tuple[int, ...], dims: tuple[int, ...]):
    """Where an element of a result without `dims` is in one without the dims of them that have more than one element."""
    left = [d for d in range(x.rank) if d not in dims]
    return lambda i: [i[left.index(d)] if d in left else ZERO for d in range(x.rank) if d not in looped]


def count(x: Value, dims: tuple[int, ...]):
    """How many elements are reduced into one."""
    return prod_(x.sizes[d] for d in dims)


def _simple(name: str, kind: str) -> None:
    @lowering(name)
    def lower(graph, x, dim=None, keepdim=False):
        dims = dims_of(x, dim)
        dtype = graph.out.dtype.name
        body = cast(x.body, "bool") if kind in ("any", "all") else x.body
        out = reduce(graph, x, kind, dims, keepdim, "bool" if kind in ("any", "all") else dtype, body)
        return out if out.dtype == dtype else Value(out.sizes, dtype, cast(out.body, compute_dtype(dtype)))


for _name, _kind in (
    ("sum", "sum"),
    ("prod", "prod"),
    ("amax", "max"),
    ("amin", "min"),
    ("any", "any"),
    ("all", "all"),
):
    _simple(_name, _kind)


def first_place(graph, x: Value, extreme: Value, dims: tuple[int, ...], keepdim: bool) -> Value:
    """The first place along `dims` where x is its extreme value, or NaN: the least of those places. Two passes that compare
    are faster than one that carries places along; `extreme` has lost the dims."""
    i = loop_variables(x.rank)
    left = [d for d in range(x.rank) if d not in dims]
    spread = reindex(extreme, x.sizes, lambda i: [i[d] for d in left])
    found = apply("eq", x.body, spread.body)
    if x.body.dtype in FLOATS:
        found = nodes.call("bitwise_or", (found, apply("isnan", x.body)), "bool")
    place = flat([i[d] for d in dims], row_major(tuple(x.sizes[d] for d in dims)))
    n = count(x, dims)
    narrow = "int32" if n.is_const and n.value < 2**31 else "int64"
    where = apply("where", found, cast(nodes.index(place), narrow), cast(nodes.index(n), narrow))
    out = reduce(graph, Value(x.sizes, narrow, where), "min", dims, keepdim, narrow)
    return Value(out.sizes, "int64", cast(out.body, "int64"))


def by_comparing(graph, x: Value) -> bool:
    """Whether x is found again by its value: what is computed twice might be rounded in another way."""
    return x.body.kind == "load" and x.body.dtype != "bool"


def _arg(name: str, kind: str) -> None:
    @lowering(name)
    def lower(graph, x, dim=None, keepdim=False):
        dims = dims_of(x, dim)
        if by_comparing(graph, x) and any(x.sizes[d] is not ONE for d in dims):
            return first_place(graph, x, reduce(graph, x, kind, dims, False, x.dtype), dims, keepdim)
        return reduce(graph, x, name, dims, keepdim, "int64")


for _name in ("argmax", "argmin"):
    _arg(_name, _name[3:])


def asks_for_place(n) -> bool:
    """Whether more of an extreme with its place is used than the extreme."""
    return any(user.target is not getitem or user.args[1] != 0 for user in n.users)


def unrolled(x: Value, kind: str, dims: tuple[int, ...], keepdim: bool, placed: bool) -> tuple[Value, Value]:
    """The extreme of few elements and its first place, one comparison after the other; a NaN is the extreme. Unless it is `placed`
    the extreme says nothing of where it was (of 3x3 windows of [8,16,64,64]: 340 us instead of 650)."""
    left = [d for d in range(x.rank) if d not in dims]
    i = loop_variables(len(left))
    best, at = None, const(0, "int32")
    for k, place in enumerate(product(*(range(x.sizes[d].value) for d in dims))):
        value = x.load([place[dims.index(d)] if d in dims else i[left.index(d)] for d in range(x.rank)])
        if best is None:
            best = value
            continue
        if not placed:
            best = apply("maximum" if kind == "max" else "minimum", best, value)
            continue
        better = apply("gt" if kind == "max" else "lt", value, best)
        if value.dtype in FLOATS:
            first = nodes.call("bitwise_and", (apply("isnan", value), apply("eq", best, best)), "bool")
            better = nodes.call("bitwise_or", (better, first), "bool")
        best, at = apply("where", better, value, best), apply("where", better, const(k, "int32"), at)
    sizes = [x.sizes[d] for d in left]
    out = Value(tuple(sizes), x.dtype, best), Value(tuple(sizes), "int64", cast(at, "int64"))
    return tuple(with_kept_dims(x, v, dims) for v in out) if keepdim else out


def _extreme_with_place(name: str, kind: str) -> None:
    @lowering(name)
    def lower(graph, x, dim, keepdim=False):
        dims = dims_of(x, dim)
        if graph.device == "cpu" and choices.unrolls_extreme(x.sizes, dims, nodes.loads([x.body])):
            return unrolled(x, kind, dims, keepdim, asks_for_place(graph.node))
        values = reduce(graph, x, kind, dims, False, x.dtype)
        if by_comparing(graph, x) and any(x.sizes[d] is not ONE for d in dims):
            places = first_place(graph, x, values, dims, keepdim)
        else:
            places = reduce(graph, x, "arg" + kind, dims, keepdim, "int64")
        return with_kept_dims(x, values, dims) if keepdim else values, places


for _name, _kind in (("max_dim", "max"), ("min_dim", "min")):
    _extreme_with_place(_name, _kind)


def divided(total: Value, n) -> Value:
    """total / n, in the computed dtype."""
    return Value(total.sizes, total.dtype, apply("div", total.body, number(as_expr(n), total.dtype).body))


@lowering("mean")
def mean(graph, x, dim=None, keepdim=False):
    """sum / n; the sum is kept in the computed dtype, where a half would overflow."""
    if x.body.dtype not in FLOATS:
        raise NotLowered("mean of integers")
    dims = dims_of(x, dim)
    average = divided(reduce(graph, x, "sum", dims, keepdim, x.body.dtype), count(x, dims))
    return Value(average.sizes, x.dtype, average.body)


def deviation(graph, x: Value, dim, correction, keepdim: bool) -> tuple[Value, Value]:
    """(variance, mean): the mean first, then the sum of squared deviations from it."""
    if x.body.dtype not in FLOATS:
        raise NotLowered("variance of integers")
    dims = dims_of(x, dim)
    n = count(x, dims)
    wide = x.body.dtype
    average = divided(reduce(graph, x, "sum", dims, False, wide), n)
    left = [d for d in range(x.rank) if d not in dims]
    spread = reindex(average, x.sizes, lambda i: [i[d] for d in left])
    centred = apply("sub", x.body, spread.body)
    total = reduce(graph, x, "sum", dims, False, wide, apply("square", centred))
    correction = 1 if correction is None else correction
    freedom = max_(n - correction, 0) if not isinstance(correction, float) or correction == int(correction) else None
    if freedom is None:
        raise NotLowered("a fractional correction")
    if is_const(freedom):
        divisor = const(float(freedom.value), wide)
    else:
        divisor = cast(nodes.index(freedom), wide)
    variance = Value(total.sizes, x.dtype, apply("div", total.body, divisor))
    average = Value(average.sizes, x.dtype, average.body)
    if keepdim:
        return with_kept_dims(x, variance, dims), with_kept_dims(x, average, dims)
    return variance, average


@lowering("var")
def var(graph, x, dim=None, correction=1, keepdim=False):
    """Squared deviations from the mean, summed, over n - correction."""
    return deviation(graph, x, dim, correction, keepdim)[0]


@lowering("var_mean")
def var_mean(graph, x, dim=None, correction=1, keepdim=False):
    """(variance, mean)"""
    return deviation(graph, x, dim, correction, keepdim)
