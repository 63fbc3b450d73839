"""cond, while_loop, map, scan, associative_scan and wrap inside of compiled code."""

from __future__ import annotations

import _operator as operator
from collections.abc import Callable
from typing import Any

import aten
from aten import pytree
from aten.higher_order.associative_scan import associative_scan
from aten.higher_order.cond import cond, cond_op
from aten.higher_order.hints_wrap import check_hints, hints_wrapper
from aten.higher_order.map import length, slices
from aten.higher_order.map import map as map_slices
from aten.higher_order.scan import scan
from aten.higher_order.steps import CHANGED, scan_op
from aten.higher_order.while_loop import while_loop, while_loop_of_constants, while_loop_op
from aten.higher_order.wrap import wrap
from aten.meta import Meta, contiguous_strides, known_equal
from aten.op import registry
from aten.transforms import vmap
from dynamo import breaks, exc, higher_order, trace_rules
from dynamo.breaks import Raised, Unsupported
from dynamo.higher_order import Traced
from dynamo.region import Region, opened
from dynamo.variables.base import Variable
from dynamo.variables.constant import ConstantVariable
from dynamo.variables.exception import as_raised
from dynamo.variables.raising import run_python
from dynamo.variables.symint import SymbolicVariable
from dynamo.variables.tensor import TensorVariable
from dynamo.variables.tensor_values import read
from dynamo.variables.transforms import call


def _arguments(names: str, args: list[Variable], kwargs: dict[str, Variable]) -> list[Variable | None]:
    """The arguments by the names of the parameters; None for what was not given."""
    given: dict[str, Variable] = {**dict(zip(names.split(), args)), **kwargs}
    return [given.get(name) for name in names.split()]


def _traced(frame: Any, name: str, functions: list[Variable], operands: Variable) -> tuple[list[Traced], list[Any]]:
    """Both functions over the same operands: their graphs, which take all that a node passes, and that."""
    leaves, spec = higher_order.flatten(frame, operands)
    if not all(isinstance(v, TensorVariable) for v in leaves):
        raise Unsupported(breaks.HIGHER_ORDER, f"{name} with operands that are no tensors")
    nodes = [v.as_arg() for v in leaves]
    found: list[Traced] = []
    output = frame.output
    for function in functions:
        graph = Region(output.graph, output.shape_env)
        inner = [higher_order.entered(graph, v, node, lambda i, m: m, 0) for v, node in zip(leaves, nodes)]
        try:
            with opened(output, graph), output.side_effects.freeze(frame):
                result = function.call(frame, higher_order.unflatten(frame, inner, spec).unpack(frame), {})
                found.append(Traced(frame, graph, result))
        except Raised as e:  # it may be the one that is not called
            why = Unsupported(breaks.HIGHER_ORDER, f"a function of it raises {e.args[0].describe()}")
            raise exc.UncapturedHigherOrderOpError(name, why) from e
        except Unsupported as e:
            raise exc.UncapturedHigherOrderOpError(name, e) from e
    return found, higher_order.close_alike(found, len(nodes))


def _uncaptured(name: str, why: str) -> exc.UncapturedHigherOrderOpError:
    return exc.UncapturedHigherOrderOpError(name, Unsupported(breaks.HIGHER_ORDER, why))


def _tensors_only(name: str, traced: Traced) -> list[Meta]:
    if not all(isinstance(v, TensorVariable) for v in traced.variables):
        raise _uncaptured(name, "a function returns what is no tensor")
    return [v.meta for v in traced.variables if isinstance(v, TensorVariable)]


def _alike(name: str, one: Traced, other_spec: pytree.Spec, other: list[Meta]) -> None:
    metas = _tensors_only(name, one)
    if one.spec != other_spec:
        raise _uncaptured(name, f"results are nested as {one.spec} and as {other_spec}")
    for a, b in zip(metas, other):
        same = a.dtype is b.dtype and len(a.sizes) == len(b.sizes) and all(map(known_equal, a.sizes, b.sizes))
        if not same:
            raise _uncaptured(name, f"results differ in sizes or dtype: {a} and {b}")


@trace_rules.handle(cond)
def _cond(frame, args, kwargs):
    pred, true_fn, false_fn, operands = _arguments("pred true_fn false_fn operands", args, kwargs)
    operands = frame.values.tuple_([]) if operands is None else operands
    pred = pred.realize(frame)
    if isinstance(pred, SymbolicVariable):  # a question about sizes: both ways stay
        pred = _as_tensor(frame, frame.world.known(int).call(frame, [pred], {})).binary(frame, operator.ne, ConstantVariable(0))
    if isinstance(pred, ConstantVariable):  # known as it is captured, and guarded
        chosen = true_fn if pred.truth(frame) else false_fn
        return chosen.call(frame, operands.unpack(frame), {})
    if not isinstance(pred, TensorVariable) or not known_equal(pred.meta.numel(), 1):
        raise Unsupported(breaks.HIGHER_ORDER, f"cond with a pred that is {pred.describe()}")
    found, passed = _traced(frame, "cond", [true_fn, false_fn], operands)
    _alike("cond", found[0], found[1].spec, _tensors_only("cond", found[1]))
    bodies = {"cond_true": found[0].module, "cond_false": found[1].module}
    results = higher_order.record(frame, cond_op, [pred.as_arg(), passed], bodies, 1)
    return higher_order.unflatten(frame, results, found[0].spec)


def _as_tensor(frame: Any, number: Variable) -> Variable:
    """An integer as a tensor."""
    dtype = {"dtype": ConstantVariable(aten.int64)}
    return frame.output.record(frame, registry["full"], [frame.values.list_([]), number], dtype)


@trace_rules.handle(while_loop)
def _while_loop(frame, args, kwargs):
    test, body, given = _arguments("cond_fn body_fn carried_inputs", args, kwargs)
    leaves, nesting = higher_order.flatten(frame, given)
    numbers = [v.python_type() is int and isinstance(v, (ConstantVariable, SymbolicVariable)) for v in leaves]
    leaves = [_as_tensor(frame, v) if number else v for v, number in zip(leaves, numbers)]  # (its loop counts in a tensor)
    carried = higher_order.unflatten(frame, leaves, nesting)
    found, passed = _traced(frame, "while_loop", [test, body], carried)
    if len(_tensors_only("while_loop", found[0])) != 1:
        raise _uncaptured("while_loop", "cond_fn does not return a tensor")
    before = [v.meta for v in leaves]
    spec = pytree.flatten(tuple(pytree.unflatten(leaves, found[1].spec)))[1] if len(leaves) == len(found[1].variables) else None
    _alike("while_loop", found[1], spec or found[1].spec, before if spec else [])
    if spec is None:
        raise _uncaptured("while_loop", f"body_fn returns {len(found[1].variables)} tensors for {len(leaves)}")
    constant = not any(m.requires_grad for m in _tensors_only("while_loop", found[1]))
    bodies = {"cond_fn": found[0].module, "body_fn": found[1].module}
    target = while_loop_of_constants if constant else while_loop_op
    results = higher_order.record(frame, target, [passed[: len(leaves)], passed[len(leaves) :]], bodies)
    if constant:
        for v in results:
            v.meta.requires_grad = False
    results = [read(frame, v) if number else v for v, number in zip(results, numbers)]
    return higher_order.unflatten(frame, results, found[1].spec)


@trace_rules.handle(wrap)
def _wrap(frame, args, kwargs):
    """A node that is given the graph of the function."""
    output = frame.output
    if output.options.export:  # what is exported has its operations in one graph
        return args[0].call(frame, list(args[1:]), kwargs)
    return _kept_apart(frame, args[0], list(args[1:]), kwargs, "wrap_body", lambda operands: (wrap, operands, {}))


@trace_rules.handle(hints_wrapper)
def _hints_wrapper(frame, args, kwargs):
    """The same, and the node has the hints."""
    function, given, named, hints = _arguments("body_fn args kwargs hints", args, kwargs)
    try:
        known = None if hints is None else frame.ops.real(frame, hints)
        check_hints(known)
    except RuntimeError as e:
        raise as_raised(frame, e) from e
    named = {} if named is None else {k.as_python(): v for k, v in named.realize(frame).pairs(frame)}
    target = lambda operands: (hints_wrapper, [operands, {}], {"hints": known})
    return _kept_apart(frame, function, given.unpack(frame), named, "hints_wrapper_body", target)


def _kept_apart(frame: Any, function: Variable, args: list, kwargs: dict, name: str, node: Callable[[list], tuple]) -> Variable:
    """A call whose graph a node is given: node(operands) says (target, what follows the graph, keyword arguments)."""
    output = frame.output
    graph = Region(output.graph, output.shape_env)
    with opened(output, graph), output.side_effects.freeze(frame):  # tensors are passed where they are used
        traced = Traced(frame, graph, function.call(frame, args, kwargs))
    body = traced.close(sizes=True)  # which may add to the operands
    target, operands, settings = node(graph.operands)
    found = iter(higher_order.record(frame, target, operands, {name: body}, settings=settings))
    results = [next(found) if higher_order.is_value(v) else v for v in traced.variables]
    return higher_order.unflatten(frame, results, traced.spec)


def _slice(dims: list[int | None]) -> Callable[[int, Meta], Meta]:
    """How a function sees tensors of which it gets slices along these dims."""

    def see(i: int, meta: Meta) -> Meta:
        dim = dims[i]
        if dim is None:
            return meta
        sizes, strides = list(meta.sizes), list(meta.strides)
        del sizes[dim], strides[dim]
        return Meta(meta.dtype, meta.device, sizes, strides, 0, meta.requires_grad)

    return see


def _dims_of(tree: pytree.Spec, metas: list[Any], arguments: list[int], dim: int) -> list[int | None]:
    """For each leaf of (args, kwargs) the dim that is sliced: `dim` in these arguments, None in the others."""
    found: list[int | None] = []
    for n, child in enumerate(tree.children[0].children):
        found += [dim if n in arguments else None] * child.num_leaves
    return [d if d is None or type(m) is not Meta else d % max(len(m.sizes), 1) for d, m in zip(found, metas)]


def _row_major(result: Any) -> Any:
    """A result as slices lie that are stacked."""
    wanted = contiguous_strides(tuple(result.shape))
    lies_so = all(map(known_equal, result.stride(), wanted))
    return result if lies_so else registry["clone"](result, memory_format=aten.contiguous_format)


@trace_rules.handle(map_slices)
def _map(frame, args, kwargs):
    """As vmap: what a graph computes is the same for all slices at once."""
    if kwargs:
        raise Unsupported(breaks.HIGHER_ORDER, "map with keyword arguments")
    for v in higher_order.flatten(frame, args[1])[0]:
        if isinstance(v, TensorVariable) and v.meta.sizes and known_equal(v.meta.sizes[0], 0):
            raise Unsupported(breaks.HIGHER_ORDER, "map over a zero-sized tensor")

    def apply(f: Callable, xs: Any, *rest: Any) -> Any:
        leaves = pytree.leaves(xs)
        slices("map", leaves, [0] * len(leaves))
        results, spec = pytree.flatten(vmap(f, in_dims=(0, *[None] * len(rest)), randomness="different")(xs, *rest))
        return pytree.unflatten(list(map(_row_major, results)), spec)

    with frame.output.side_effects.freeze(frame):
        return call(frame, "map", apply, args[0], list(args[1:]), {}, lambda metas, spec: _slice(_dims_of(spec, metas, [0], 0)))


@trace_rules.handle(scan)
def _scan(frame, args, kwargs):
    """A node over the graph of one step."""
    function, init, xs, dim, reverse = _arguments("combine_fn init xs dim reverse", args, kwargs)
    along = 0 if dim is None else dim.as_python()
    first, nesting = higher_order.flatten(frame, init)
    leaves, spec = higher_order.flatten(frame, xs)
    if not first or not all(isinstance(v, TensorVariable) for v in (*first, *leaves)):
        raise Unsupported(breaks.HIGHER_ORDER, "scan of what is no tensor")
    places = [along % max(len(v.meta.sizes), 1) for v in leaves]
    run_python(frame, length, "scan", [v.meta.sizes for v in leaves], places)
    moved = [v if d == 0 else _moved(frame, v, d, 0) for v, d in zip(leaves, places)]
    traced = _one_step(frame, function, first, nesting, moved, spec)
    operands = traced.graph.operands
    passed = [operands[: len(first)], operands[len(first) : len(first) + len(leaves)], operands[len(first) + len(leaves) :]]
    settings = {"reverse": reverse is not None and bool(reverse.as_python())}
    found = higher_order.record(frame, scan_op, passed, {"scan_combine_fn": traced.module}, settings=settings)
    ys = [y if places[0] == 0 else _moved(frame, y, 0, places[0]) for y in found[len(first) :]]
    return higher_order.unflatten(frame, [*found[: len(first)], *ys], traced.spec)


def _one_step(frame: Any, function: Variable, init: list, nesting: pytree.Spec, xs: list, spec: pytree.Spec) -> Traced:
    """The graph of `carry, y = function(carry, x)` for tensors of the sizes of slices along dim 0."""
    output = frame.output
    graph = Region(output.graph, output.shape_env)
    seen = _slice([*[None] * len(init), *[0] * len(xs)])
    inner = [higher_order.entered(graph, v, v.as_arg(), seen, i) for i, v in enumerate([*init, *xs])]
    carry, x = (higher_order.unflatten(frame, part, s) for part, s in ((inner[: len(init)], nesting), (inner[len(init) :], spec)))
    try:
        with opened(output, graph), output.side_effects.freeze(frame):
            result = function.call(frame, [carry, x], {})
            traced = Traced(frame, graph, result)
    except Unsupported as e:
        raise exc.UncapturedHigherOrderOpError("scan", e) from e
    children = traced.spec.children
    if traced.spec.kind is not tuple or len(children) != 2:
        raise frame.values.error(frame, RuntimeError, "scan: combine_fn must return a pair (carry, y)")
    metas = _tensors_only("scan", traced)[: len(init)]
    same = all(a.dtype is b.dtype and len(a.sizes) == len(b.sizes) and all(map(known_equal, a.sizes, b.sizes))
               for a, b in zip(metas, [v.meta for v in init]))  # fmt: skip
    if children[0] != nesting or not same:
        raise _uncaptured("scan", f"{CHANGED}: {[v.meta for v in init]} became {metas}")
    traced.close()
    return traced


def _moved(frame: Any, v: Variable, source: int, destination: int) -> Variable:
    return frame.output.record(frame, registry["movedim"], [v, ConstantVariable(source), ConstantVariable(destination)], {})


@trace_rules.handle(associative_scan)
def _associative_scan(frame, args, kwargs):
    function, xs, dim, reverse, mode = _arguments("combine_fn xs dim reverse combine_mode", args, kwargs)
    along, backwards = dim.as_python(), reverse is not None and reverse.as_python()
    apply = lambda f, xs, _: associative_scan(f, xs, along, backwards, "generic")
    see = lambda metas, spec: _slice(_dims_of(spec, metas, [0, 1], along))
    if mode is not None and mode.as_python() not in ("pointwise", "generic"):
        text = f"Combine_mode must either 'pointwise' or 'generic', but got {mode.as_python()}"
        raise frame.values.error(frame, ValueError, text)
    with frame.output.side_effects.freeze(frame):
        return call(frame, "associative_scan", apply, function, [xs, xs], {}, see)


