"""Reads by index tensors, and the writes that add."""

from __future__ import annotations

from aten.fx.node import is_final, may_raise
from aten.symbolic.expr import ONE, ZERO, Expr
from inductor import choices
from inductor.ir import nodes
from inductor.ir.buffer import Ref
from inductor.ir.fold import cast
from inductor.ir.index import flat
from inductor.ir.loops import Pointwise, loop_variables
from inductor.ir.nodes import HALF, Node, const
from inductor.ir.scalar import apply
from inductor.lowering import positions
from inductor.lowering.operations import Computed, External
from inductor.lowering.registry import NotLowered, lowering
from inductor.lowering.value import Value, broadcast, number, of_buffer


def in_bounds(graph, index: Node, size: Expr, argument: str, sizes, dims=None, negative: bool = False) -> Node | Expr:
    """The index at every point of a domain of `sizes`: an expression where it is known to be in range, else verified, though
    there be nothing along others than its own `dims` (all unless told). With `negative`, -1 is the last."""
    index = cast(index, "int64")
    if positions.within(graph, index, size, sizes):
        return positions.position(index)
    if negative:
        end = cast(nodes.index(size), "int64")
        index = apply("where", apply("lt", index, const(0, "int64")), apply("add", index, end), index)
    own = list(sizes) if dims is None else [s if d in dims else ONE for d, s in enumerate(sizes[: max(dims, default=-1) + 1])]
    return graph.verified(nodes.in_bounds(index, size, graph.check(argument)), own)


def tabled(graph, index: Value, size: Expr, sizes, dim: int) -> Value:
    """A row of indices into `size` elements, stored first where it is computed (of a resizing, by floats) and each of them is asked
    for at every point of other dims; one that is a position stays an expression."""
    if index.rank != 1 or index.buffer_load is not None or all(d == dim or s is ONE for d, s in enumerate(sizes)):
        return index
    i = loop_variables(len(sizes))
    return index if positions.within(graph, cast(index.load([i[dim]]), "int64"), size, sizes) else graph.realize(index)


@lowering("gather")
def gather(graph, x, dim, index):
    """out[i] = x[i with i[dim] = index[i]]"""
    if not x.rank:
        return of_scalar(graph, x, index)
    dim = dim % x.rank
    i = loop_variables(index.rank)
    j = in_bounds(graph, index.body, x.sizes[dim], "index", index.sizes)
    return Value(index.sizes, x.dtype, x.load([j if d == dim else i[d] for d in range(x.rank)]))


def of_scalar(graph, x: Value, index: Value) -> Value:
    """A scalar at places that can only be 0."""
    if graph.device == "cpu":
        raise NotLowered("indexing of a scalar")
    j = in_bounds(graph, index.body, ONE, "index", index.sizes)
    j = nodes.index(j) if isinstance(j, Expr) else j
    sizes = graph.sizes(graph.out)
    read = Value(index.sizes, x.dtype, apply("where", apply("eq", j, const(0, "int64")), x.body, x.body))
    return read if index.sizes == sizes else Value(sizes, x.dtype, x.body)


@lowering("index_select")
def index_select(graph, x, dim, index):
    """out's index along `dim` is index[i]"""
    if not x.rank:
        return of_scalar(graph, x, index)
    dim = dim % x.rank
    sizes = graph.sizes(graph.out)
    index = tabled(graph, index, x.sizes[dim], sizes, dim)
    i = loop_variables(x.rank)
    j = in_bounds(graph, index.load([i[dim]] if index.rank else []), x.sizes[dim], "index", sizes, (dim,))
    return Value(sizes, x.dtype, x.load([j if d == dim else i[d] for d in range(x.rank)]))


@lowering("index")
def index(graph, x, indices):
    """x[indices]: tensors broadcast together, None for a whole dim."""
    given = [(d, v) for d, v in enumerate(indices) if v is not None]
    if not given or any(v.dtype not in ("int64", "int32") for _, v in given):
        raise NotLowered("an index by masks")
    sizes = graph.sizes(graph.out)
    dims = [d for d, _ in given]
    rank = max(v.rank for _, v in given)
    start = dims[0] if dims[-1] - dims[0] == len(dims) - 1 else 0
    i = loop_variables(len(sizes))
    common = sizes[start : start + rank]
    rest = [*i[:start], *i[start + rank :]]
    places = {}
    for d, v in given:
        j = broadcast(v, common).load(i[start : start + rank])
        places[d] = in_bounds(graph, j, x.sizes[d], "index", sizes, range(start, start + rank), negative=True)
    free = iter(rest)
    return Value(sizes, x.dtype, x.load([places[d] if d in places else next(free) for d in range(x.rank)]))


@lowering("embedding")
def embedding(graph, weight, indices):
    """out[i, c] = weight[indices[i], c]"""
    sizes = graph.sizes(graph.out)
    i = loop_variables(len(sizes))
    j = in_bounds(graph, indices.load(i[:-1]), weight.sizes[0], "indices", sizes, range(len(sizes) - 1))
    return Value(sizes, weight.dtype, weight.load([j, i[-1]]))


@lowering("embedding_backward")
def embedding_backward(graph, g, indices, num_weights):
    """out[indices[i], c] += g[i, c], in the order of i."""
    sizes = graph.sizes(graph.out)
    rank = g.rank
    i = loop_variables(rank)
    j = in_bounds(graph, indices.load(i[:-1]), sizes[0], "indices", g.sizes, range(rank - 1))
    return graph.accumulated(const(0, g.body.dtype), sizes, g.dtype, g.sizes, tuple(range(rank - 1)), (j, i[-1]), g.body)


def added_by_op(graph, name: str, x: Value, dim: int, index: Value, source: Value) -> Value | None:
    """The op that adds into a buffer of its own, which holds `x` before; None where loops do that better, and for halves, of which
    the op makes sums elsewhere. (As an argument `x` would be stored, and copied: upsample_nearest of [44,66,88] to 3, backward: 74
    us instead of 54.)"""
    if graph.device != "cpu" or x.dtype in HALF or not choices.adds_by_op(name, [x, dim, index, source], is_final(graph.node)):
        return None
    b = graph.new_buffer(x.dtype, x.sizes)
    start = Pointwise(tuple(x.sizes), x.body)
    graph.operations.append(Computed(b.name, start, flat(loop_variables(x.rank), b.strides), x.dtype, graph.lines()))
    rest = (dim, *(Ref(graph.as_buffer(v)) for v in (index, source)))
    graph.operations.append(External(f"{name}_", (Ref(b.name), *rest), {}, (b.name,), graph.lines(), raises=may_raise(graph.node)))
    return of_buffer(b)


def _last_dims(rank: int, dim: int) -> tuple[int, ...]:
    return tuple(d for d in range(rank) if d == dim)


@lowering("scatter_add")
def scatter_add(graph, x, dim, index, src):
    """x with out[i with i[dim] = index[i]] += src[i], in the order of i along `dim`."""
    if not x.rank or index.rank != x.rank or x.dtype == "bool":
        raise NotLowered("scatter_add into a scalar, or of truth values")
    dim = dim % x.rank
    if (added := added_by_op(graph, "scatter_add", x, dim, index, src)) is not None:
        return added
    i = loop_variables(x.rank)
    j = in_bounds(graph, index.body, x.sizes[dim], "index", index.sizes)
    where = tuple(j if d == dim else i[d] for d in range(x.rank))
    return graph.accumulated(x.body, x.sizes, x.dtype, index.sizes, _last_dims(x.rank, dim), where, src.body)


@lowering("scatter")
def scatter(graph, x, dim, index, src):
    """x with out[i with i[dim] = index[i]] = src[i], where a line along `dim` has one index (`one_hot`): every element asks
    whether it is meant. Of a long line of zeros (the gradient of an extreme), and of a result, only that one is written."""
    if not x.rank or index.rank != x.rank:
        raise NotLowered("scatter into a scalar")
    dim = dim % x.rank
    i = loop_variables(x.rank)
    if any(n is not (ONE if d == dim else x.sizes[d]) for d, n in enumerate(index.sizes)):
        if graph.device == "cpu" or x.dtype.startswith("complex"):
            raise NotLowered("scatter of several elements into a line, or into some lines")
        j = in_bounds(graph, index.body, x.sizes[dim], "index", index.sizes)
        where = tuple(j if d == dim else i[d] for d in range(x.rank))
        new = src.body if isinstance(src, Value) else number(src, x.dtype).body
        return graph.accumulated(x.body, x.sizes, x.dtype, index.sizes, _last_dims(x.rank, dim), where, new, "replace")
    line = [ZERO if d == dim else i[d] for d in range(x.rank)]
    new = src.load(line) if isinstance(src, Value) else number(src, x.dtype).body
    written = is_final(graph.node) or choices.fills_and_writes(x.sizes[dim])
    if isinstance(src, Value) and graph.device == "cpu" and x.body.kind == "const" and written:
        where = [in_bounds(graph, index.body, x.sizes[dim], "index", index.sizes) if d == dim else i[d] for d in range(x.rank)]
        return graph.accumulated(x.body, x.sizes, x.dtype, index.sizes, _last_dims(x.rank, dim), where, new, "replace")
    j = in_bounds(graph, index.load(line), x.sizes[dim], "index", index.sizes)
    j = nodes.index(j) if isinstance(j, Expr) else j
    return Value(x.sizes, x.dtype, apply("where", apply("eq", j, nodes.index(i[dim])), new, x.body))


@lowering("index_add")
def index_add(graph, x, dim, index, source):
    """x with out[…, index[k], …] += source[…, k, …], in the order of k."""
    if not x.rank or x.dtype == "bool":
        raise NotLowered("index_add into a scalar, or of truth values")
    dim = dim % x.rank
    if (added := added_by_op(graph, "index_add", x, dim, index, source)) is not None:
        return added
    index = tabled(graph, index, x.sizes[dim], source.sizes, dim)
    i = loop_variables(x.rank)
    j = in_bounds(graph, index.load([i[dim]] if index.rank else []), x.sizes[dim], "index", source.sizes, (dim,))
    where = tuple(j if d == dim else i[d] for d in range(x.rank))
    return graph.accumulated(x.body, x.sizes, x.dtype, source.sizes, _last_dims(x.rank, dim), where, source.body)


@lowering("index_put")
def index_put(graph, x, indices, values, accumulate=False):
    """x with x[indices] += values, in the order of the indices. Without `accumulate`, = in no order on a device, and the op's
    own kernel on the CPU, where the last of equal indices counts."""
    given = [(d, v) for d, v in enumerate(indices) if v is not None]
    if not given or any(v.dtype not in ("int64", "int32") for _, v in given):
        raise NotLowered("index_put of places that are not numbers")
    if accumulate and x.dtype == "bool":
        raise NotLowered("index_put that adds truth values")
    if not accumulate and (graph.device == "cpu" or x.dtype.startswith("complex")):
        raise NotLowered("index_put that replaces in order")
    dims = [d for d, _ in given]
    rank = max(v.rank for _, v in given)
    start = dims[0] if dims[-1] - dims[0] == len(dims) - 1 else 0
    common: list[Expr] = []
    for k in range(rank):
        sizes = [v.sizes[v.rank - rank + k] for _, v in given if v.rank - rank + k >= 0]
        common.append(next((s for s in sizes if not (s.is_const and s.value == 1)), sizes[0]))
    rest = [s for d, s in enumerate(x.sizes) if d not in dims]
    domain = (*rest[:start], *common, *rest[start:])
    i = loop_variables(len(domain))
    free = iter([*i[:start], *i[start + rank :]])
    places = {}
    for d, v in given:
        j = broadcast(v, common).load(i[start : start + rank])
        places[d] = in_bounds(graph, j, x.sizes[d], "index", domain, range(start, start + rank), negative=True)
    where = tuple(places[d] if d in places else next(free) for d in range(x.rank))
    source = broadcast(values, domain)
    over = tuple(range(start, start + rank))
    kind = "accumulate" if accumulate else "replace"
    return graph.accumulated(x.body, x.sizes, x.dtype, domain, over, where, source.body, kind)


@lowering("masked_fill")
def masked_fill(graph, x, mask, value):
    """`value` where the mask holds, else x."""
    from inductor.lowering.pointwise import where

    return where(graph, mask, value, x)
