"""while_loop: a function of tensors, applied until another says stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aten import pytree
from aten._native import Tensor
from aten.fx.subgraph import function_of
from aten.higher_order import subgraph
from aten.higher_order.cond import TAGS, owned
from aten.meta import Meta
from aten.op import op, registry
from aten.transforms.batching import vmap


@op("loop(Any cond_fn, Any body_fn, Tensor[] carried, Tensor[] more) -> Tensor[]", tags=TAGS)
def loop(cond_fn, body_fn, carried, more):
    """`carried` after `carried = body_fn(*carried, *more)` while cond_fn(*carried, *more). It has no derivative."""
    return tuple([m.like() if type(m) is Meta else m for m in carried])


@loop.anywhere
def _run(cond_fn, body_fn, carried, more):
    values, test, body = list(carried), function_of(cond_fn), function_of(body_fn)
    while bool(first(test(*values, *more))):
        found = list(body(*values, *more))
        _check(values, found)
        values = subgraph.row_major(found)
    return owned(values, [*carried, *more])


def first(result: Any) -> Any:
    """What a function over tensors gives, where a SubGraph gives a tuple."""
    return result[0] if isinstance(result, tuple) else result


@loop.traced
def _traced_args(level, cond_fn, body_fn, carried, more):
    functions, operands = subgraph.traced(level, [cond_fn, body_fn], [*subgraph.carried(level, carried), *more])
    return *functions, operands[: len(carried)], operands[len(carried) :]


@loop.batch
def _batch(size, dims, cond_fn, body_fn, carried, more):
    places, others = (d or [None] * len(xs) for d, xs in zip(dims[2:], (carried, more)))
    whole = lambda x, d: x.unsqueeze(0).expand([size, *x.shape]) if d is None else x.movedim(d, 0)
    values = [whole(x, d) for x, d in zip(carried, places)]
    in_dims = (*[0] * len(carried), *others)
    go, step = vmap(cond_fn, in_dims=in_dims), vmap(body_fn, in_dims=in_dims, randomness="different")

    def body(*now: Any) -> tuple:
        running = go(*now).reshape(size)
        along = lambda t: running.reshape([size, *[1] * (t.ndim - 1)])
        return tuple([registry["where"](along(a), a, b) for a, b in zip(step(*now), now)])

    found = loop(lambda *now: go(*now).any(), body, values, more)
    return tuple(found), (0,) * len(found)


def _check(before: list[Tensor], after: list[Tensor]) -> None:
    if len(before) != len(after):
        raise RuntimeError(f"body_fn should return the same number of elements as carried_inputs, {len(before)}, got {len(after)}")
    for a, b in zip(before, after):
        if a.dtype is not b.dtype or tuple(a.shape) != tuple(b.shape):
            raise RuntimeError(
                "Expected body_fn to return a tensor with same metadata as the carried input, but got "
                f"{b.dtype} of sizes {list(b.shape)} for {a.dtype} of sizes {list(a.shape)}"
            )


def while_loop(cond_fn: Callable, body_fn: Callable, carried_inputs: Any) -> Any:
    """The values of `carried_inputs` after `body_fn` while `cond_fn` of them is true.

    carried_inputs: a tuple of tensors and ints (nested or not); body_fn gives tensors of the same sizes and dtypes, ints for
    ints. Compiled code keeps both as graphs, which see ints as tensors of one element. There is no derivative. Raises
    RuntimeError for other arguments.
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(f"Expect carried_inputs to be a tuple or list, but got {type(carried_inputs)}.")
    leaves, spec = pytree.flatten(tuple(carried_inputs))
    if not leaves or not all(isinstance(x, Tensor) or type(x) is int for x in leaves):
        raise RuntimeError(f"Expect carried_inputs to be a tuple of possibly nested tensors and ints, but got {carried_inputs}.")
    if any(type(x) is int for x in leaves):
        return _counted(cond_fn, body_fn, tuple(carried_inputs))
    nested = lambda fn: lambda *values: fn(*pytree.unflatten(values, spec))
    body = nested(body_fn)
    found = loop(nested(cond_fn), lambda *values: tuple(pytree.leaves(body(*values))), leaves, [])
    return pytree.unflatten(found, spec)


def _counted(cond_fn: Callable, body_fn: Callable, values: Any) -> Any:
    """The loop in Python, which some of the values are numbers of."""
    while bool(cond_fn(*values)):
        before, spec = pytree.flatten(values)
        found = body_fn(*values)
        after, nesting = pytree.flatten(found)
        _check([x for x in before if isinstance(x, Tensor)], [x for x in after if isinstance(x, Tensor)])
        if nesting.num_leaves != spec.num_leaves or any(type(a) is not type(b) for a, b in zip(before, after) if type(a) is int):
            raise RuntimeError(f"Expected body_fn to return ints where carried_inputs has some, but got {found}")
        values = pytree.unflatten(after, spec)
    return values


def while_loop_op(cond_graph: Callable, body_graph: Callable, carried: Sequence[Any], more: Sequence[Any] = ()) -> list[Any]:
    """What a captured graph calls: both graphs take all operands, tensors and numbers, and give a tuple of tensors."""
    operands = [*carried, *more]
    test, body = (subgraph.over_tensors(graph, operands) for graph in (cond_graph, body_graph))
    return list(loop(lambda *x: first(test(*x)), body, list(carried), subgraph.tensors(more)))


def while_loop_of_constants(cond_graph: Callable, body_graph: Callable, carried: Sequence[Any], more: Sequence[Any]) -> list[Any]:
    """The same where nothing that the loop computes has a gradient, although some of what it reads has one."""
    carried, more = ([x.detach() if isinstance(x, Tensor) else x for x in xs] for xs in (carried, more))
    return while_loop_op(cond_graph, body_graph, carried, more)


while_loop_op.__name__ = while_loop_of_constants.__name__ = "while_loop"
