"""The op that compiled code has for scan: a function that carries tensors along the slices of others, of any number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aten.fx.subgraph import function_of
from aten.higher_order import subgraph
from aten.higher_order.cond import TAGS, owned, pullback
from aten.meta import Meta
from aten.op import op, registry
from aten.transforms.batching import vmap
from aten.transforms.forward_mode import jvp
from aten.transforms.tracer import meta_of_function

CHANGED = "scan: the carry must keep its nesting, sizes and dtypes"


@op("steps(Any combine_fn, Tensor[] init, Tensor[] xs, Tensor[] more, bool reverse) -> Tensor[]", tags=TAGS)
def steps(combine_fn, init, xs, more, reverse):
    """(*carry, *ys stacked along dim 0) of `(*carry, *y) = combine_fn(*carry, *x, *more)` for the slices x of `xs` along dim 0."""
    found = meta_of_function(combine_fn, (*init, *[_slice(x) for x in xs], *more))
    return (*[m.like() if type(m) is Meta else m for m in init], *[m.like([xs[0].shape[0], *m.sizes]) for m in found[len(init) :]])


def _slice(x: Any) -> Meta:
    meta = x if type(x) is Meta else Meta.of(x)
    return meta.view(meta.sizes[1:], meta.strides[1:], 0)


@steps.anywhere
def _run(combine_fn, init, xs, more, reverse):
    combine, carry, count = function_of(combine_fn), list(init), int(xs[0].shape[0])
    columns: list[list[Any]] = []
    for i in reversed(range(count)) if reverse else range(count):
        found = combine(*carry, *[x.select(0, i) for x in xs], *more)
        carry = subgraph.row_major(found[: len(init)])
        columns.append(list(found[len(init) :]))
    ys = [registry["stack"](list(column), 0) for column in zip(*(columns[::-1] if reverse else columns))]
    return (*owned(carry, [*init, *more]), *ys)


@steps.traced
def _traced_args(level, combine_fn, init, xs, more, reverse):
    first, last = len(init), len(init) + len(xs)
    begin = subgraph.carried(level, init)
    functions, operands = subgraph.traced(level, [combine_fn], [*begin, *xs, *more], range(first, last))
    return functions[0], operands[:first], operands[first:last], operands[last:], reverse


@steps.vjp
def _vjp(g, needs, combine_fn, init, xs, more, reverse):
    """Backwards over the slices, with the carries that each step began with, computed again."""
    n, combine = len(init), function_of(combine_fn)
    floats = [i for i, x in enumerate(init) if _has_gradients(x)]
    of_xs, of_more = ([i for i, need in enumerate(part) if need] for part in needs[2:4])
    given = [i for i in range(n, len(g)) if g[i] is not None]
    before = steps(lambda *now: (*combine(*now)[:n], *now[:n]), init, xs, more, reverse)[n:]
    places = [*floats, *[n + i for i in of_xs], *[n + len(xs) + i for i in of_more]]
    pull = pullback(combine, n + len(xs) + len(more), places, [*floats, *given])

    def step(*now: Any) -> tuple:
        grads, total, carry, x, gs, rest = _parts(now, [len(floats), len(of_more), n, len(xs), len(given), len(more)])
        pulled = pull(*carry, *x, *rest, *grads, *gs)
        to_carry, to_x, to_more = _parts(pulled, [len(floats), len(of_xs), len(of_more)])
        return (*to_carry, *[a + b for a, b in zip(total, to_more)], *to_x)

    zeros = registry["zeros_like"]
    start = [*[zeros(init[i]) if g[i] is None else g[i] for i in floats], *[zeros(more[i]) for i in of_more]]
    found = steps(step, start, [*before, *xs, *[g[i] for i in given]], more, not reverse)
    to_init, to_more, to_xs = _parts(found, [len(floats), len(of_more), len(of_xs)])
    spread = lambda count, at, grads: [dict(zip(at, grads)).get(i) for i in range(count)]
    return spread(n, floats, to_init), spread(len(xs), of_xs, to_xs), spread(len(more), of_more, to_more)


@steps.jvp
def _jvp(tangents, combine_fn, init, xs, more, reverse, out):
    n, combine = len(init), function_of(combine_fn)
    given = [t or [None] * len(part) for t, part in zip(tangents[1:4], (init, xs, more))]
    floats = [i for i, x in enumerate(init) if _has_gradients(x)]
    starts = [registry["zeros_like"](init[i]) if given[0][i] is None else given[0][i] for i in floats]
    of_xs, of_more = ([i for i, t in enumerate(part) if t is not None] for part in given[1:])

    def step(*now: Any) -> tuple:
        counts = [n, len(floats), len(xs), len(of_xs), len(more), len(of_more)]
        carry, moved, x, moved_x, rest, moved_more = _parts(now, counts)
        operands = [*carry, *x, *rest]
        places = [*floats, *[n + i for i in of_xs], *[n + len(xs) + i for i in of_more]]

        def of(*chosen: Any) -> tuple:
            full = list(operands)
            for i, value in zip(places, chosen):
                full[i] = value
            return tuple(combine(*full))

        values, changes = jvp(of, tuple([operands[i] for i in places]), (*moved, *moved_x, *moved_more))
        return (*values[:n], *[changes[i] for i in floats], *values[n:], *changes[n:])

    operands = [*xs, *[given[1][i] for i in of_xs]], [*more, *[given[2][i] for i in of_more]]
    found = steps(step, [*init, *starts], *operands, reverse)
    count = len(out) - n
    of_carry = dict(zip(floats, found[n:]))
    return (*[of_carry.get(i) for i in range(n)], *found[len(found) - count :])


@steps.batch
def _batch(size, dims, combine_fn, init, xs, more, reverse):
    of_init, of_xs, of_more = (d or [None] * len(part) for d, part in zip(dims[1:4], (init, xs, more)))
    carry = [x.unsqueeze(0).expand([size, *x.shape]) if d is None else x.movedim(d, 0) for x, d in zip(init, of_init)]
    along = [x if d is None else x.movedim(d, 1) for x, d in zip(xs, of_xs)]  # slices have the batch first
    in_dims = (*[0] * len(init), *[None if d is None else 0 for d in of_xs], *of_more)
    found = steps(vmap(function_of(combine_fn), in_dims=in_dims, randomness="different"), carry, along, more, reverse)
    return tuple(found), (*[0] * len(init), *[1] * (len(found) - len(init)))


def _has_gradients(x: Any) -> bool:
    return x.dtype.is_floating_point or x.dtype.is_complex


def _parts(values: Sequence[Any], counts: Sequence[int]) -> list[list[Any]]:
    """Values one after the other, by how many belong together."""
    given = iter(values)
    return [[next(given) for _ in range(count)] for count in counts]


def scan_op(combine_graph: Callable, init: Sequence[Any], xs: Sequence[Any], more: Sequence[Any], *, reverse: bool) -> list[Any]:
    """What a captured graph calls: the graph takes slices of `xs` among its operands, tensors and numbers, and gives a tuple."""
    combine = subgraph.over_tensors(combine_graph, [*init, *xs, *more])
    return list(steps(combine, list(init), list(xs), subgraph.tensors(more), reverse))


scan_op.__name__ = "scan"
