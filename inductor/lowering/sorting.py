"""Order along a dimension, and search in what is in order, as loops: for devices, where a row is sorted by many threads at once.
(The CPU's kernel sorts faster than loops would.)

A row is sorted as int64 numbers that are all different: an element's rank among the values of its dtype in the upper half, its
place in the lower one, so that equal elements keep their order. A program sorts RUN of them; longer rows are sorted in runs of
that length, and two neighbours become one until one is left: an element's new place is its own and how many of the other run
are less, which a search by halves counts. Of a rank of 64 bits the lower half is sorted first, then the upper. A row whose length
is a symbol is one of the next power of two, guarded, what it lacks being behind all elements.
"""

from __future__ import annotations

from aten.symbolic.expr import ONE, ZERO, Expr, as_expr, le, lt
from inductor.ir import nodes
from inductor.ir.fold import cast
from inductor.ir.loops import Scan, loop_variables
from inductor.ir.nodes import FLOATS, Node, const
from inductor.ir.scalar import apply
from inductor.lowering.registry import NotLowered, lowering
from inductor.lowering.value import Value, number, reindex, reshape

RUN = 1024  # elements that one program sorts: twice as many take twice as long to compile
LOWER = (1 << 32) - 1
LAST = (1 << 63) - 1  # in the order, behind all elements
WIDE = ("int64", "uint64", "float64")


def on_device(graph) -> None:
    """Raises NotLowered on the CPU."""
    if graph.device == "cpu":
        raise NotLowered("the CPU has a kernel of its own for what is in order")


# ------------------------------------------------------------------------------------------------------------- ranks
def rank_of(body: Node, descending: bool) -> Node:
    """The signed integer, of 64 bits for wide dtypes and else of 32, that orders values as they are ordered: NaN behind all others,
    zeros of both signs alike. int64."""
    dtype = body.dtype
    if dtype in FLOATS:
        bits, top = ("int64", LAST) if dtype == "float64" else ("int32", (1 << 31) - 1)
        plain = nodes.call("bitcast", (body,), bits)
        mirrored = apply("bitwise_xor", plain, const(top, bits))  # of two negative numbers the one of larger magnitude is less
        rank = apply("where", apply("lt", plain, const(0, bits)), mirrored, plain)
        rank = apply("where", apply("eq", body, const(0.0, dtype)), const(0, bits), rank)
        rank = cast(apply("where", apply("isnan", body), const(top, bits), rank), "int64")
    elif dtype == "uint64":
        rank = apply("bitwise_xor", cast(body, "int64"), const(-(1 << 63), "int64"))
    elif dtype == "uint32":
        rank = apply("sub", cast(body, "int64"), const(1 << 31, "int64"))
    else:
        rank = cast(body, "int64")
    return apply("bitwise_not", rank) if descending else rank


def packed(rank: Node, place: Expr) -> Node:
    """A rank of 32 bits before a place."""
    return apply("add", apply("mul", rank, const(1 << 32, "int64")), nodes.index(place))


def place_in(number: Node) -> Node:
    """The place that `packed` has put there."""
    return apply("bitwise_and", number, const(LOWER, "int64"))


# -------------------------------------------------------------------------------------------------------------- rows
def rows_of(x: Value, dim: int) -> Value:
    """x with `dim` as its last."""
    sizes = [s for d, s in enumerate(x.sizes) if d != dim]
    return reindex(x, [*sizes, x.sizes[dim]], lambda i: [*i[:dim], i[-1], *i[dim:-1]])


def back(x: Value, dim: int) -> Value:
    """`rows_of` undone."""
    sizes = list(x.sizes[:-1])
    sizes.insert(dim, x.sizes[-1])
    return reindex(x, sizes, lambda i: [*i[:dim], *i[dim + 1 :], i[dim]])


def longest(graph, n: Expr) -> int:
    """A length itself; for a symbol the power of two (of four, up to what a program sorts) that is next to it, guarded."""
    if n.is_const:
        return n.value
    if graph.env is None or not n.free_symbols <= graph.env.hints.keys():
        raise NotLowered("rows of a length that is not known are sorted by the op")
    hint, end = graph.env.hint(n), 16
    while end < hint:
        end *= 4 if end < RUN else 2
    graph.env.guard(le(n, end))
    if end > 16:
        graph.env.guard(lt(end // (4 if end <= RUN else 2), n))
    return end


def in_runs(graph, rows: Value, most: int) -> Value:
    """[…, n] numbers as sorted runs: […, runs, RUN], filled up with what is behind all of them. `most`: the `longest` that n is."""
    *lead, n = rows.sizes
    if n.is_const and n.value <= RUN:
        runs = reindex(rows, [*lead, ONE, n], lambda i: [*i[:-2], i[-1]])
    else:
        run = min(RUN, most)
        sizes = (*lead, as_expr(-(-most // run)), as_expr(run))
        i = loop_variables(len(sizes))
        at = i[-2] * run + i[-1]
        inside = graph.condition(lt(at, n), sizes)
        filler = apply("add", nodes.index(at), const(LAST - most - run, "int64"))  # all different, as the numbers are
        runs = Value(sizes, "int64", nodes.masked(inside, rows.load([*i[:-2], at]), filler))
    loops = Scan(runs.sizes, (runs.rank - 1,), "sort", "int64", runs.body)
    return graph.computed(loops, "int64", runs.sizes, ())


def in_order(graph, rows: Value, most: int) -> Value:
    """[…, n] numbers in order."""
    *lead, n = rows.sizes
    runs = in_runs(graph, rows, most)
    total = runs.sizes[-2].value * runs.sizes[-1].value
    line = reshape(runs, [*lead, as_expr(total)], graph.ranges)
    length = runs.sizes[-1].value
    while length < total:
        line = merged(graph, line, total, length)
        length *= 2
    return Value((*lead, n), "int64", line.body)


def merged(graph, line: Value, total: int, length: int) -> Value:
    """A line of sorted runs of `length`, every two of them made one."""
    i = loop_variables(line.rank)
    place = i[-1]
    own, pair = place % length, place // (2 * length) * (2 * length)
    other = pair + (1 - place // length % 2) * length
    value = line.body
    beyond = total % (2 * length) != 0

    def is_less(at: Expr, where: tuple[Node, ...]) -> Node:
        found = line.load([*i[:-1], nodes.index(other + at, "int64", where)] if where else [*i[:-1], other + at])
        if beyond:  # the last run may stand alone
            found = nodes.masked(nodes.index(lt(other + at, total), "bool", where), found, const(LAST, "int64"))
        return apply("lt", found, value)

    count = counted([*halves(length // 2), 1], is_less)  # never beyond the other run
    there = nodes.index(pair + own + count.symbol, "int64", (count,))
    where = (*i[:-1], there)
    return graph.accumulated(const(0, "int64"), line.sizes, "int64", line.sizes, (), where, value, "replace")


def halves(n: int) -> list[int]:
    """The powers of two that are not above n, the largest first."""
    return [1 << bit for bit in reversed(range(n.bit_length()))]


def counted(steps: list[int], holds) -> Node:
    """How many of the first elements of a line a property holds for, which holds for no element behind one that lacks it: at
    most the sum of `steps`. `holds(place, nodes that it mentions)` is false beyond the end."""
    count = const(0, "int64")
    for step in steps:
        where = () if count.kind == "const" else (count,)
        before = as_expr(count.value) if count.kind == "const" else count.symbol
        found = holds(before + (step - 1), where)
        count = apply("add", count, apply("where", found, const(step, "int64"), const(0, "int64")))
    return count


def first_ones(graph, rows: Value, k: int, most: int) -> Value:
    """The first k of […, n] numbers in order: of every run its first k, and of these again."""
    if most > RUN and k <= RUN // 2:
        runs = in_runs(graph, rows, most)
        *lead, count, _ = runs.sizes
        best = reshape(Value((*lead, count, as_expr(k)), "int64", runs.body), [*lead, count * k], graph.ranges)
        return first_ones(graph, best, k, count.value * k)
    ordered = in_order(graph, rows, most)
    return Value((*ordered.sizes[:-1], as_expr(k)), "int64", ordered.body)


def ordered_places(graph, x: Value, k: int | None, descending: bool) -> Value:
    """The places of the elements of the rows x in order, of the first k alone if that is given."""
    i, most = loop_variables(x.rank), longest(graph, x.sizes[-1])
    rank = rank_of(x.body, descending)

    def places(body: Node, k: int | None) -> Value:
        rows = Value(x.sizes, "int64", packed(body, i[-1]))
        made = in_order(graph, rows, most) if k is None else first_ones(graph, rows, k, most)
        return Value(made.sizes, "int64", place_in(made.body))

    if x.body.dtype not in WIDE:
        return places(rank, k)
    low = apply("sub", apply("bitwise_and", rank, const(LOWER, "int64")), const(1 << 31, "int64"))
    first = graph.realize(places(low, None))
    high = Value(x.sizes, "int64", apply("bitwise_right_shift", rank, const(32, "int64")))
    then = places(high.load([*i[:-1], first.body]), k)
    return Value(then.sizes, "int64", first.load([*i[:-1], then.body]))


def ordered(graph, x: Value, dim: int, k: int | None, descending: bool) -> tuple[Value, Value]:
    """(elements, places) in order along `dim`, all or the first k."""
    on_device(graph)
    if not x.rank:
        return x, number(0, "int64")
    n = x.sizes[dim]
    if longest(graph, n) > LOWER >> 1:
        raise NotLowered("rows that take more than 32 bits to count")
    if n is ZERO or k == 0:
        sizes = [s if d != dim else ZERO for d, s in enumerate(x.sizes)]
        return number(0, x.dtype, sizes), number(0, "int64", sizes)
    if x.buffer_load is None:
        x = graph.realize(x)
    rows = rows_of(x, dim)
    places = ordered_places(graph, rows, k, descending)
    i = loop_variables(rows.rank)
    values = Value(places.sizes, x.dtype, rows.load([*i[:-1], places.body]))
    return back(values, dim), back(places, dim)


@lowering("sort")
def sort(graph, x, dim, descending=False, stable=False):
    """(elements, places) in order along a dim."""
    return ordered(graph, x, int(dim), None, bool(descending))


@lowering("topk")
def topk(graph, x, k, dim, largest=True, sorted=True):
    """The first k of them."""
    k = as_expr(k)
    if not k.is_const:
        raise NotLowered("a number of elements that is not known")
    return ordered(graph, x, int(dim), k.value, bool(largest))


# ------------------------------------------------------------------------------------------------------------ search
def before(a: Node, b: Node) -> Node:
    """Whether a stands before b in order, NaN behind all others."""
    less = apply("lt", a, b)
    if a.dtype not in FLOATS:
        return less
    return apply("logical_or", less, apply("logical_and", apply("isnan", b), apply("logical_not", apply("isnan", a))))


@lowering("searchsorted")
def searchsorted(graph, rows, x, out_int32=False, right=False):
    """How many elements of a sorted row stand before each value, or (`right`) not behind it."""
    on_device(graph)
    if rows.body.dtype != x.body.dtype:
        raise NotLowered("a search among values of another dtype")
    n, dtype = rows.sizes[-1], graph.out.dtype.name
    if n is ZERO:
        return number(0, dtype, x.sizes)
    i = loop_variables(x.rank)
    lead = i[: rows.rank - 1]
    value = x.body if x.body.dtype != "bool" else cast(x.body, "int32")

    def holds(at: Expr, where: tuple[Node, ...]) -> Node:
        inside = nodes.index(lt(at, n), "bool", where)
        found = rows.load([*lead, nodes.index(at, "int64", where) if where else at])
        found = cast(found, value.dtype)
        stands = apply("logical_not", before(value, found)) if right else before(found, value)
        return nodes.masked(inside, stands, const(False, "bool"))

    return Value(x.sizes, dtype, cast(counted(halves(most(graph, n)), holds), dtype))


def most(graph, n: Expr) -> int:
    """A number that the size is not above: for a symbol the end of the powers of two between which it is now, guarded."""
    if n.is_const:
        return n.value
    if graph.env is None or not n.free_symbols <= graph.env.hints.keys():
        raise NotLowered("a search in rows of a length that is not known")
    end = (1 << graph.env.hint(n).bit_length()) - 1
    graph.env.guard(le(n, end))
    return end
