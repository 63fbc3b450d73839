"""Concatenation, padding, flips and rolls: choices by index."""

from __future__ import annotations

from aten.symbolic.expr import and_, as_expr, ge, is_const, lt, where_
from inductor import choices
from inductor.ir import nodes
from inductor.ir.loops import loop_variables
from inductor.lowering.registry import NotLowered, lowering
from inductor.lowering.value import Value, number, reindex

MAX_PARTS = 12  # of a concatenation: every element asks which part it is of


@lowering("cat")
def cat(graph, tensors, dim=0):
    """The tensors one after the other along `dim`."""
    sizes, dtype = graph.sizes(graph.out), graph.out.dtype.name
    tensors = [t for t in tensors if t.rank == len(sizes)]  # an empty 1-d tensor is skipped, as in PyTorch
    if not tensors or any(t.dtype != dtype for t in tensors):
        raise NotLowered("cat of different dtypes")
    dim = dim % len(sizes)
    if len(tensors) > MAX_PARTS and graph.device == "cpu":
        raise NotLowered("cat of many tensors")  # the op copies them one by one, which no loop does faster
    while len(tensors) > MAX_PARTS:
        groups = [tensors[k : k + MAX_PARTS] for k in range(0, len(tensors), MAX_PARTS)]
        tensors = [graph.realize(joined(graph, g, dim)) if len(g) > 1 else g[0] for g in groups]
    return joined(graph, computed_apart(graph, tensors, sizes), dim)


def computed_apart(graph, tensors: list[Value], sizes: tuple) -> list[Value]:
    """The tensors, in buffers of their own where they take long and rows are short: lanes of a vector are then of several parts, or
    left empty (two [20000, 3] of sines: 290 us instead of 90), but for rows whose elements are stores of their own."""
    last = sizes[-1]
    if graph.device != "cpu" or not last.is_const or not choices.WIDEST_STEP < last.value < choices.SHORT_JOINED:
        return tensors
    return [graph.realize(t) if choices.expensive(t.body) else t for t in tensors]


def joined(graph, tensors: list[Value], dim: int) -> Value:
    """A few tensors of one dtype as one: which of them an element is of is asked of its place."""
    (first, *others), dtype = tensors, tensors[0].dtype
    length = first.sizes[dim]
    for t in others:
        length = length + t.sizes[dim]
    sizes = (*first.sizes[:dim], length, *first.sizes[dim + 1 :])
    i = loop_variables(len(sizes))
    starts, start = [], as_expr(0)
    for t in tensors:
        starts.append(start)
        start = start + t.sizes[dim]
    body = None
    for t, at in reversed(list(zip(tensors, starts))):
        own = t.load([i[d] - at if d == dim else i[d] for d in range(len(sizes))])
        end = at + t.sizes[dim]
        inside = graph.condition(and_(ge(i[dim], at), lt(i[dim], end)), sizes)
        body = nodes.masked(inside, own, nodes.const(0, own.dtype) if body is None else body)
    return Value(sizes, dtype, body)


@lowering("constant_pad_nd")
def constant_pad_nd(graph, x, pad, value=0):
    """x with `pad` elements of `value` before and after each dim, from the last dim on; negative pads cut."""
    sizes = graph.sizes(graph.out)
    if sizes:
        (x,) = computed_apart(graph, [x], sizes)
    i = loop_variables(x.rank)
    at, inside = list(i), []
    for k in range(len(pad) // 2):
        d = x.rank - 1 - k
        before = as_expr(pad[2 * k])
        at[d] = i[d] - before
        inside += [ge(i[d], before), lt(i[d] - before, x.sizes[d])]
    condition = graph.condition(and_(*inside), sizes)
    other = number(0 if value is None else value, x.dtype).body
    return Value(sizes, x.dtype, nodes.masked(condition, x.load(at), other))


@lowering("flip")
def flip(graph, x, dims):
    """Reversed along `dims`."""
    dims = {d % x.rank for d in dims} if x.rank else set()
    return reindex(x, x.sizes, lambda i: [s - 1 - i[d] if d in dims else i[d] for d, s in enumerate(x.sizes)])


@lowering("roll")
def roll(graph, x, shifts, dims=()):
    """Shifted cyclically along `dims`."""
    shifts = list(shifts) if isinstance(shifts, (list, tuple)) else [shifts]
    dims = list(dims) if isinstance(dims, (list, tuple)) else [dims]
    if not dims or not x.rank or len(dims) != len(set(dims)):
        raise NotLowered("roll of the flattened tensor")

    def where(i):
        out = list(i)
        for shift, d in zip(shifts, dims):
            size = x.sizes[d % x.rank]
            if is_const(size, 0):
                continue
            moved = i[d % x.rank] - as_expr(shift) % size
            out[d % x.rank] = where_(lt(moved, 0), moved + size, moved)
        return out

    return reindex(x, x.sizes, where, graph.ranges)
