"""Views and their inverses: arithmetic on indices, never a copy."""

from __future__ import annotations

from aten.fx.node import is_final
from aten.symbolic.expr import ONE, ZERO, and_, as_expr, eq, ge, lt, max_, min_
from inductor import choices
from inductor.ir import nodes
from inductor.ir.index import refine
from inductor.ir.loops import loop_variables
from inductor.ir.nodes import Node
from inductor.ir.scalar import apply
from inductor.lowering.registry import NotLowered, lowering
from inductor.lowering.value import Value, broadcast, domain, reindex, reshape


@lowering("view", "reshape", "flatten_view")
def view(graph, x, size):
    """The same elements in row-major order."""
    sizes = graph.sizes(graph.out)
    out = reshape(x, sizes, graph.ranges)
    if out is x or graph.device != "cpu" or not choices.divides_more(x, out, {**graph.ranges, **domain(sizes)}):
        return out
    if refine(x.sizes, sizes) is None:  # else loops are cut at the finer dims
        out = reshape(graph.realize(x), sizes, graph.ranges)
    return out


@lowering("permute")
def permute(graph, x, dims):
    """out's dim d is x's dim dims[d]"""
    dims = [d % x.rank for d in dims]
    return reindex(x, [x.sizes[d] for d in dims], lambda i: [i[dims.index(d)] for d in range(x.rank)])


@lowering("expand")
def expand(graph, x, size, implicit=False):
    """Dims of size 1 repeated."""
    return broadcast(x, graph.sizes(graph.out))


@lowering("squeeze")
def squeeze(graph, x, dim=None):
    """Without the dims of size 1 among `dim`."""
    sizes = graph.sizes(graph.out)
    dims = range(x.rank) if dim is None else [d % x.rank for d in (dim if isinstance(dim, (list, tuple)) else [dim])]
    gone = [d for d in dims if x.sizes[d] is ONE] if x.rank else []
    if x.rank - len(gone) != len(sizes):
        raise NotLowered("squeeze of a symbolic size")
    left = [d for d in range(x.rank) if d not in gone]
    return reindex(x, sizes, lambda i: [i[left.index(d)] if d in left else ZERO for d in range(x.rank)])


@lowering("unsqueeze")
def unsqueeze(graph, x, dim):
    """A dim of size 1 more, at `dim`."""
    dim = dim % (x.rank + 1)
    return reindex(x, graph.sizes(graph.out), lambda i: [*i[:dim], *i[dim + 1 :]])


@lowering("alias", "watched", "watched_image", "detach", "data_of")
def alias(graph, x):
    """The same."""
    return x


@lowering("slice")
def slice_(graph, x, dim=0, start=None, end=None, step=1):
    """x[start:end:step] along `dim`; bounds are in range."""
    start = as_expr(0 if start is None else start)
    return reindex(
        x,
        graph.sizes(graph.out),
        lambda i: [i[d] * step + start if d == dim else i[d] for d in range(x.rank)],
        graph.ranges,
    )


@lowering("select")
def select(graph, x, dim, index):
    """x[index] along `dim`"""
    at = as_expr(index)
    return reindex(x, graph.sizes(graph.out), lambda i: [*i[:dim], at, *i[dim:]], graph.ranges)


@lowering("diagonal")
def diagonal(graph, x, offset=0, dim1=0, dim2=1):
    """The elements (i, i + offset) of two dims, as a new last dim."""
    dim1, dim2 = dim1 % x.rank, dim2 % x.rank
    left = [d for d in range(x.rank) if d not in (dim1, dim2)]

    def where(i):
        first, second = (i[-1] - min_(offset, 0), i[-1] + max_(offset, 0))
        return [first if d == dim1 else second if d == dim2 else i[left.index(d)] for d in range(x.rank)]

    return reindex(x, graph.sizes(graph.out), where, graph.ranges)


@lowering("unfold")
def unfold(graph, x, dimension, size, step):
    """Windows of `size`, `step` apart, as a new last dim."""
    dim = dimension % max(x.rank, 1)
    if choices.stores_windowed(x.body, size, step):
        x = graph.realize(x)
    return reindex(
        x,
        graph.sizes(graph.out),
        lambda i: [i[d] * step + i[-1] if d == dim else i[d] for d in range(x.rank)],
        graph.ranges,
    )


@lowering("as_strided")
def as_strided(graph, x, size, stride, storage_offset=None):
    """Elements by strides in the storage that x shares: an input's, or that of a result, which then lies as eager has it."""
    given = graph.node.args[0]
    base = graph.stored(given)
    index = as_expr(given.meta["val"].offset if storage_offset is None else storage_offset)
    sizes = graph.sizes(graph.out)
    for i, s in zip(loop_variables(len(sizes)), stride):
        index = index + i * as_expr(s)
    if graph.storage_offset(base.name) is None:
        raise NotLowered("as_strided of an input at an offset")
    return Value(sizes, x.dtype, nodes.load(base.name, index - graph.storage_offset(base.name), x.body.dtype))


# ------------------------------------------------------------------------------------------------------------- put


def put(inside: Node, new: Node, old: Node) -> Node:
    """`new` where `inside` holds (loaded only there), else `old`."""
    return nodes.masked(inside, new, old)


@lowering("slice_scatter")
def slice_scatter(graph, x, src, dim=0, start=None, end=None, step=1):
    """x with x[start:end:step] along `dim` replaced by src."""
    if not as_expr(step).is_const:
        raise NotLowered("a step that changes")
    start, step = as_expr(0 if start is None else start), int(step)
    i = loop_variables(x.rank)
    length = src.sizes[dim]
    inside = and_(ge(i[dim], start), lt(i[dim], start + length * step))
    if step != 1:
        inside = and_(inside, eq((i[dim] - start) % step, 0))
    at = [(i[d] - start) // step if d == dim else i[d] for d in range(x.rank)]
    new = broadcast(src, [length if d == dim else s for d, s in enumerate(x.sizes)]).load(at)
    return Value(x.sizes, x.dtype, put(graph.condition(inside, x.sizes), new, x.body))


@lowering("select_scatter")
def select_scatter(graph, x, src, dim, index):
    """x with x[index] along `dim` replaced by src."""
    i = loop_variables(x.rank)
    inside = graph.condition(eq(i[dim], as_expr(index)), x.sizes)
    return Value(x.sizes, x.dtype, put(inside, src.load([*i[:dim], *i[dim + 1 :]]), x.body))


@lowering("diagonal_scatter")
def diagonal_scatter(graph, x, src, offset=0, dim1=0, dim2=1):
    """x with a diagonal replaced by src."""
    dim1, dim2 = dim1 % x.rank, dim2 % x.rank
    given = any(graph.gm.graph.outputs[o] is graph.node for _, o in graph.mutations)  # to an input, in one loop
    if graph.device == "cpu" and is_final(graph.node) and not given and choices.writes_diagonal(x.sizes, src.sizes):
        *others, along = loop_variables(src.rank)
        rest = iter(others)
        place = {dim1: along - min_(offset, 0), dim2: along + max_(offset, 0)}
        where = [place[d] if d in place else next(rest) for d in range(x.rank)]
        return graph.accumulated(x.body, x.sizes, x.dtype, src.sizes, (), where, src.body, "replace")
    i = loop_variables(x.rank)
    at = [i[d] for d in range(x.rank) if d not in (dim1, dim2)]
    inside = graph.condition(eq(i[dim2] - i[dim1], as_expr(offset)), x.sizes)
    return Value(x.sizes, x.dtype, put(inside, src.load([*at, i[dim1] + min_(offset, 0)]), x.body))


# ------------------------------------------------------------------------------------------------------------- layout


@lowering("clone", "row_major", "contiguous")
def clone(graph, x, memory_format=None):
    """The same elements: memory is made where a result is needed."""
    return x


@lowering("copy")
def copy(graph, x, src):
    """src broadcast to x's sizes and cast to its dtype."""
    from inductor.lowering.pointwise import cast

    if x.dtype.startswith("complex"):
        if not isinstance(src, Value) or src.dtype != x.dtype:
            raise NotLowered("complex numbers of what are none")
        return broadcast(src, x.sizes)
    if isinstance(src, Value):
        return broadcast(cast(graph, src, x.dtype), x.sizes)
    from inductor.lowering.value import number

    return number(src, x.dtype, x.sizes)


@lowering("tril")
def tril(graph, x, diagonal=0):
    """x where column - row <= diagonal, else 0."""
    return _triangle(graph, x, lambda row, column: ge(row + diagonal, column))


@lowering("triu")
def triu(graph, x, diagonal=0):
    """x where column - row >= diagonal, else 0."""
    return _triangle(graph, x, lambda row, column: ge(column, row + diagonal))


def _triangle(graph, x: Value, inside) -> Value:
    i = loop_variables(x.rank)
    zero = nodes.const(0, x.body.dtype)
    condition = graph.condition(inside(i[-2], i[-1]), x.sizes)
    return Value(
        x.sizes,
        x.dtype,
        apply("where", condition, x.body, zero) if condition.kind != "const" else (x.body if condition.value else zero),
    )
