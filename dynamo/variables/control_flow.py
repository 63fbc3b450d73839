"""cond, while_loop, map, scan, associative_scan and wrap inside of compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten import pytree
from aten.higher_order.associative_scan import associative_scan
from aten.higher_order.cond import branch, cond
from aten.higher_order.map import map as map_slices
from aten.higher_order.map import slices
from aten.higher_order.scan import scan
from aten.higher_order.while_loop import loop, while_loop
from aten.higher_order.wrap import wrap
from aten.meta import Meta, known_equal
from aten.transforms import vmap
from dynamo import breaks, exc, higher_order, trace_rules
from dynamo.breaks import Unsupported
from dynamo.higher_order import Traced
from dynamo.region import Region, opened
from dynamo.variables.base import Variable
from dynamo.variables.constant import ConstantVariable
from dynamo.variables.symint import SymbolicVariable
from dynamo.variables.tensor import TensorVariable
from dynamo.variables.transforms import call


def _arguments(names: str, args: list[Variable], kwargs: dict[str, Variable]) -> list[Variable | None]:
    """The arguments by the names of the parameters; None for what was not given."""
    given: dict[str, Variable] = {**dict(zip(names.split(), args)), **kwargs}
    return [given.get(name) for name in names.split()]


class _Part:
    """A function over the tensors of a node: those at `places`, then the numbers and tensors that its graph takes besides."""

    def __init__(self, traced: Traced, places: list[int]):
        self.traced, self.places = traced, places

    def over(self, operands: tuple) -> Callable:
        """The function of the tensors among the operands, in their order."""
        tensors = [i for i, x in enumerate(operands) if hasattr(x, "dtype")]
        position = {i: n for n, i in enumerate(tensors)}

        def run(*values: Any) -> Any:
            full = [values[position[i]] if i in position else operands[i] for i in self.places]
            return self.traced.module.forward(*full)

        return run


class _Choice:
    """What a node of cond calls."""

    __name__ = "cond"

    def __init__(self, parts: list[_Part]):
        self.parts = parts

    @property
    def graphs(self) -> dict[str, Any]:
        return dict(zip(("true", "false"), [part.traced.module for part in self.parts]))

    def __call__(self, pred: Any, *operands: Any) -> list[Any]:
        one, other = (part.over(operands) for part in self.parts)
        return list(branch(pred, one, other, [x for x in operands if hasattr(x, "dtype")]))


class _Loop:
    """What a node of while_loop calls; the first `count` operands are carried."""

    __name__ = "while_loop"

    def __init__(self, parts: list[_Part], count: int, constant: bool):
        self.parts, self.count, self.constant = parts, count, constant

    @property
    def graphs(self) -> dict[str, Any]:
        return dict(zip(("cond", "body"), [part.traced.module for part in self.parts]))

    def __call__(self, *operands: Any) -> list[Any]:
        if self.constant:  # what has a gradient is used by what has none
            operands = tuple([x.detach() if hasattr(x, "detach") else x for x in operands])
        test, body = (part.over(operands) for part in self.parts)
        first, more = operands[: self.count], [x for x in operands[self.count :] if hasattr(x, "dtype")]
        return list(loop(lambda *x: test(*x)[0], body, list(first), more))


def _traced(frame: Any, name: str, functions: list[Variable], operands: Variable) -> tuple[list[Traced], list[Any], list[_Part]]:
    """Both functions over the same operands: their graphs, all that a node passes, and where each finds its own."""
    leaves, spec = higher_order.flatten(frame, operands)
    if not all(isinstance(v, TensorVariable) for v in leaves):
        raise Unsupported(breaks.HIGHER_ORDER, f"{name} with operands that are no tensors")
    nodes = [v.as_arg() for v in leaves]
    passed, found, parts = list(nodes), [], []
    output = frame.output
    for function in functions:
        graph = Region(output.graph, output.shape_env)
        inner = [higher_order.entered(graph, v, node, lambda i, m: m, 0) for v, node in zip(leaves, nodes)]
        try:
            with opened(output, graph), output.side_effects.freeze(frame):
                result = function.call(frame, higher_order.unflatten(frame, inner, spec).unpack(frame), {})
                traced = Traced(frame, graph, result)
        except Unsupported as e:
            raise exc.UncapturedHigherOrderOpError(name, e) from e
        traced.close()
        more = graph.operands[len(nodes) :]
        parts.append(_Part(traced, [*range(len(nodes)), *range(len(passed), len(passed) + len(more))]))
        passed += more
        found.append(traced)
    return found, passed, parts


def _tensors_only(name: str, traced: Traced) -> list[Meta]:
    if not all(isinstance(v, TensorVariable) for v in traced.variables):
        raise Unsupported(breaks.HIGHER_ORDER, f"{name}: a function returns what is no tensor")
    return [v.meta for v in traced.variables if isinstance(v, TensorVariable)]


def _alike(name: str, one: Traced, other_spec: pytree.Spec, other: list[Meta]) -> None:
    metas = _tensors_only(name, one)
    if one.spec != other_spec:
        raise Unsupported(breaks.HIGHER_ORDER, f"{name}: results are nested as {one.spec} and as {other_spec}")
    for a, b in zip(metas, other):
        same = a.dtype is b.dtype and len(a.sizes) == len(b.sizes) and all(map(known_equal, a.sizes, b.sizes))
        if not same:
            raise Unsupported(breaks.HIGHER_ORDER, f"{name}: results differ in sizes or dtype: {a} and {b}")


@trace_rules.handle(cond)
def _cond(frame, args, kwargs):
    pred, true_fn, false_fn, operands = _arguments("pred true_fn false_fn operands", args, kwargs)
    operands = frame.values.tuple_([]) if operands is None else operands
    pred = pred.realize(frame)
    if isinstance(pred, (ConstantVariable, SymbolicVariable)):  # known as it is captured, and guarded
        chosen = true_fn if pred.truth(frame) else false_fn
        return chosen.call(frame, operands.unpack(frame), {})
    if not isinstance(pred, TensorVariable) or not known_equal(pred.meta.numel(), 1):
        raise Unsupported(breaks.HIGHER_ORDER, f"cond with a pred that is {pred.describe()}")
    found, passed, parts = _traced(frame, "cond", [true_fn, false_fn], operands)
    _alike("cond", found[0], found[1].spec, _tensors_only("cond", found[1]))
    results = higher_order.record(frame, _Choice(parts), [pred.as_arg(), *passed])
    return higher_order.unflatten(frame, results, found[0].spec)


@trace_rules.handle(while_loop)
def _while_loop(frame, args, kwargs):
    test, body, carried = _arguments("cond_fn body_fn carried_inputs", args, kwargs)
    found, passed, parts = _traced(frame, "while_loop", [test, body], carried)
    leaves, _ = higher_order.flatten(frame, carried)
    if len(_tensors_only("while_loop", found[0])) != 1:
        raise Unsupported(breaks.HIGHER_ORDER, "while_loop: cond_fn does not return a tensor")
    before = [v.meta for v in leaves]
    spec = pytree.flatten(tuple(pytree.unflatten(leaves, found[1].spec)))[1] if len(leaves) == len(found[1].variables) else None
    _alike("while_loop", found[1], spec or found[1].spec, before if spec else [])
    if spec is None:
        raise Unsupported(breaks.HIGHER_ORDER, f"while_loop: body_fn returns {len(found[1].variables)} tensors for {len(leaves)}")
    constant = not any(m.requires_grad for m in _tensors_only("while_loop", found[1]))
    results = higher_order.record(frame, _Loop(parts, len(leaves), constant), passed)
    if constant:
        for v in results:
            v.meta.requires_grad = False
    return higher_order.unflatten(frame, results, found[1].spec)


@trace_rules.handle(wrap)
def _wrap(frame, args, kwargs):
    """A node that is given the graph of the function."""
    output, values = frame.output, frame.values
    if output.options.export:  # what is exported has its operations in one graph
        return args[0].call(frame, list(args[1:]), kwargs)
    whole = values.tuple_([values.tuple_(args[1:]), values.dict_([(values.const(k), v) for k, v in kwargs.items()])])
    leaves, spec = higher_order.flatten(frame, whole)
    operands = [higher_order.operand(v) for v in leaves]
    graph = Region(output.graph, output.shape_env)
    inner = [
        higher_order.entered(graph, v, o, lambda i, m: m, 0) if higher_order.is_value(v) else v for v, o in zip(leaves, operands)
    ]
    with opened(output, graph):
        inner_args, inner_kwargs = higher_order.unflatten(frame, inner, spec).unpack(frame)
        named = dict(zip(kwargs, [inner_kwargs.getitem(frame, values.const(k)) for k in kwargs]))
        traced = Traced(frame, graph, args[0].call(frame, inner_args.unpack(frame), named))
    found = iter(higher_order.record(frame, wrap, list(graph.operands), traced.close()))
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


@trace_rules.handle(map_slices)
def _map(frame, args, kwargs):
    """As vmap: what a graph computes is the same for all slices at once."""
    if kwargs:
        raise Unsupported(breaks.HIGHER_ORDER, "map with keyword arguments")

    def apply(f: Callable, xs: Any, *rest: Any) -> Any:
        leaves = pytree.leaves(xs)
        slices("map", leaves, [0] * len(leaves))
        return vmap(f, in_dims=(0, *[None] * len(rest)), randomness="different")(xs, *rest)

    with frame.output.side_effects.freeze(frame):
        return call(frame, "map", apply, args[0], list(args[1:]), {}, lambda metas, spec: _slice(_dims_of(spec, metas, [0], 0)))


@trace_rules.handle(scan)
def _scan(frame, args, kwargs):
    function, init, xs, dim, reverse = _arguments("combine_fn init xs dim reverse", args, kwargs)
    along = 0 if dim is None else dim.as_python()
    backwards = reverse is not None and reverse.as_python()
    apply = lambda f, init, xs: scan(f, init, xs, dim=along, reverse=backwards)
    see = lambda metas, spec: _slice(_dims_of(spec, metas, [1], along))
    with frame.output.side_effects.freeze(frame):
        return call(frame, "scan", apply, function, [init, xs], {}, see)


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


