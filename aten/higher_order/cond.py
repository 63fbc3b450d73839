"""cond: one of two functions, chosen by a tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aten import _native, pytree
from aten._native import Tensor
from aten.fx.subgraph import function_of
from aten.higher_order import subgraph
from aten.op import op, registry
from aten.transforms.batching import vmap
from aten.transforms.forward_mode import jvp
from aten.transforms.reverse_mode import vjp
from aten.transforms.tracer import meta_of_function

TAGS = ("opaque", "library", "function_only", "hidden")


@op("branch(BoolTensor pred, Any true_fn, Any false_fn, Tensor[] operands) -> Tensor[]", tags=TAGS)
def branch(pred, true_fn, false_fn, operands):
    """true_fn(*operands) where `pred`, of one element, is true, else false_fn(*operands): tensors of the same sizes."""
    return tuple(meta_of_function(true_fn, tuple(operands)))


@branch.anywhere
def _run(pred, true_fn, false_fn, operands):
    return owned(function_of(true_fn if bool(pred) else false_fn)(*operands), operands)


@branch.traced
def _traced_args(level, pred, true_fn, false_fn, operands):
    functions, operands = subgraph.traced(level, [true_fn, false_fn], operands)
    return pred, *functions, operands


@branch.vjp
def _vjp(g, needs, pred, true_fn, false_fn, operands):
    wanted = [i for i, need in enumerate(needs[-1]) if need]
    given = [i for i, x in enumerate(g) if x is not None]
    pulled = lambda fn: pullback(fn, len(operands), wanted, given)
    found = branch(pred, pulled(true_fn), pulled(false_fn), [*operands, *(g[i] for i in given)])
    grads: list[Any] = [None] * len(operands)
    for i, grad in zip(wanted, found):
        grads[i] = grad
    return grads


@branch.jvp
def _jvp(tangents, pred, true_fn, false_fn, operands, out):
    moved = tangents[-1] or [None] * len(operands)
    wanted = [i for i, t in enumerate(moved) if t is not None]
    pushed = lambda fn: pushforward(fn, len(operands), wanted)
    return branch(pred, pushed(true_fn), pushed(false_fn), [*operands, *(moved[i] for i in wanted)])


@branch.batch
def _batch(size, dims, pred, true_fn, false_fn, operands):
    places = dims[-1] or [None] * len(operands)
    mapped = [vmap(fn, in_dims=tuple(places), randomness="different") for fn in (true_fn, false_fn)]
    if dims[0] is None:
        found = branch(pred, mapped[0], mapped[1], operands)
    else:
        chosen = pred.reshape(size)
        along = lambda t: chosen.reshape([size, *[1] * (t.ndim - 1)])
        found = [registry["where"](along(a), a, b) for a, b in zip(mapped[0](*operands), mapped[1](*operands))]
    return tuple(found), (0,) * len(found)


def owned(results: Any, operands: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The results of a function, in memory of their own."""
    return tuple([r.clone() if r._base is not None or any(r is x for x in operands) else r for r in results])


def pullback(fn: Callable, count: int, wanted: list[int], given: list[int]) -> Callable:
    """(operands, gradients of the results `given`) → gradients of the operands `wanted`."""

    def run(*values: Any) -> tuple:
        operands, cotangents = values[:count], values[count:]

        def of(*chosen: Any) -> tuple:
            full = list(operands)
            for i, x in zip(wanted, chosen):
                full[i] = x
            results = tuple(fn(*full))
            return tuple([results[i] for i in given])

        return vjp(of, *[operands[i] for i in wanted])[1](tuple(cotangents))

    return run


def pushforward(fn: Callable, count: int, wanted: list[int]) -> Callable:
    """(operands, tangents of the operands `wanted`) → tangents of the results."""

    def run(*values: Any) -> tuple:
        operands, tangents = list(values[:count]), values[count:]

        def of(*chosen: Any) -> tuple:
            full = list(operands)
            for i, x in zip(wanted, chosen):
                full[i] = x
            return tuple(fn(*full))

        return jvp(of, tuple([operands[i] for i in wanted]), tuple(tangents))[1]

    return run


def cond(pred: Any, true_fn: Callable, false_fn: Callable, operands: Any = ()) -> Any:
    """true_fn(*operands) if `pred` else false_fn(*operands).

    pred: a bool, or a tensor of one element. operands: a tuple of tensors, nested or not; both functions take them and give
    tensors of the same sizes and dtypes, nested alike. Compiled code keeps both as graphs and chooses as it runs; plain
    code calls one. Raises RuntimeError for operands that are no tensors or a `pred` of several elements.
    """
    if not isinstance(pred, (bool, Tensor)) and not hasattr(pred, "expr"):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    if not isinstance(operands, (tuple, list)) or not all(isinstance(x, Tensor) for x in pytree.leaves(operands)):
        raise RuntimeError(
            "Expect operands to be a tuple of possibly nested dict/list/tuple that only consists of tensor leaves, "
            f"but got {operands}."
        )
    try:
        chosen = true_fn if pred else false_fn
    except RuntimeError:  # a level has no values yet, or several
        if not _native.is_tracer(pred):
            raise
        return _traced(pred, true_fn, false_fn, tuple(operands))
    return chosen(*operands)


def cond_op(pred: Any, true_graph: Callable, false_graph: Callable, operands: Sequence[Any]) -> list[Any]:
    """What a captured graph calls: both graphs take all operands, tensors and numbers, and give a tuple of tensors."""
    fns = [subgraph.over_tensors(graph, operands) for graph in (true_graph, false_graph)]
    return list(branch(pred, *fns, subgraph.tensors(operands)))


cond_op.__name__ = "cond"


def _traced(pred: Tensor, true_fn: Callable, false_fn: Callable, operands: tuple) -> Any:
    leaves, spec = pytree.flatten(operands)
    specs: list[Any] = []

    def flat(fn: Callable) -> Callable:
        def run(*leaves: Any) -> tuple:
            found, nesting = pytree.flatten(fn(*pytree.unflatten(leaves, spec)))
            specs.append(nesting)
            return tuple(found)

        return run

    found = branch(pred, flat(true_fn), flat(false_fn), leaves)
    if any(s != specs[0] for s in specs):
        raise RuntimeError(f"cond: the functions' results differ in their nesting: {specs[0]} and {specs[-1]}")
    return pytree.unflatten(found, specs[0])
