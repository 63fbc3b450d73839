"""Calls of functions that become nodes over graphs: what such a function computes is traced into a Region of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten import pytree
from aten.fx.graph import Graph
from aten.fx.graph_module import GraphModule
from aten.fx.node import Node
from aten.meta import Meta
from aten.symbolic.symint import SYMBOLIC
from aten.transforms.tracer import meta_of_function
from dynamo import breaks
from dynamo.breaks import NotConstant, Unsupported
from dynamo.recording import SHAPE_ERRORS
from dynamo.region import Region
from dynamo.variables.base import Variable
from dynamo.variables.exception import as_raised
from dynamo.variables.mapping import DictVariable
from dynamo.variables.sequence import ListVariable, NamedTupleVariable, TupleVariable
from dynamo.variables.symint import SymbolicVariable
from dynamo.variables.tensor import TensorVariable, wrap_result


# ------------------------------------------------------------------------------------------------- trees of Variables
class Opaque:
    """Stands in a tree for a value that is known to the traced function alone."""

    def __init__(self, cls: type):
        self.cls = cls


def flatten(frame: Any, value: Variable) -> tuple[list[Variable], pytree.Spec]:
    """The leaves of a tree of Variables, and its nesting."""
    found: list[Variable] = []

    def tree(v: Variable) -> Any:
        v = v.realize(frame)
        if isinstance(v, NamedTupleVariable) and hasattr(v.cls, "_make"):
            return v.cls._make([tree(x) for x in v.unpack(frame)])
        if isinstance(v, (TupleVariable, ListVariable)) and v.python_type() in (tuple, list):
            return v.python_type()([tree(x) for x in v.unpack(frame)])
        if isinstance(v, DictVariable) and v.cls is dict:
            return {k.as_python(): tree(x) for k, x in v.pairs(frame)}
        if v.is_same(frame.values.NONE):
            return None
        found.append(v)
        return Opaque(object)

    return found, pytree.flatten(tree(value))[1]


def unflatten(frame: Any, items: list[Variable], spec: pytree.Spec) -> Variable:
    """The inverse."""
    position = iter(items)

    def build(s: pytree.Spec) -> Variable:
        if s.kind is None:
            return next(position)
        if s.kind is type(None):
            return frame.values.NONE
        parts = [build(child) for child in s.children]
        if s.kind is dict:
            return frame.values.dict_([(frame.values.const(k), v) for k, v in zip(s.context, parts)])
        if s.kind is list:
            return ListVariable(parts)
        return TupleVariable(parts) if s.kind is tuple else NamedTupleVariable(parts, s.kind)

    return build(spec)


def operand(v: Variable) -> Any:
    """A leaf as it is passed to a node: a node, a number; an Opaque for what is neither."""
    try:
        found = v.as_arg()
    except NotConstant:
        return Opaque(v.python_type())
    plain = isinstance(found, (Node, bool, int, float, complex, str)) or type(found) in SYMBOLIC
    return found if plain else Opaque(v.python_type())


# ------------------------------------------------------------------------------------------------------------ tracing
class Traced:
    """A function traced into a Region: `module(*operands)` gives the leaves of the result that are tensors or symbols."""

    def __init__(self, frame: Any, graph: Region, result: Variable):
        self.graph = graph
        self.variables, self.spec = flatten(frame, result)
        self.outputs = [v.as_arg() for v in self.variables if is_value(v)]

    def close(self, sizes: bool = False) -> GraphModule:
        self.module = self.graph.close(self.outputs, sizes)
        return self.module

    def rebuilt(self, outputs: Any) -> Any:
        """The result, with what the graph gave in its place."""
        given = iter(outputs)
        found = [next(given) if is_value(v) else constant(v) for v in self.variables]
        return pytree.unflatten(found, self.spec)


def is_value(v: Variable) -> bool:
    return isinstance(v, (TensorVariable, SymbolicVariable))


def is_known(v: Variable) -> bool:
    """Whether a value is a constant of the trace."""
    try:
        v.as_python()
    except NotConstant:
        return False
    return True


def constant(v: Variable) -> Any:
    try:
        return v.as_python()
    except NotConstant as e:
        raise Unsupported(breaks.FUNCTION_TRANSFORM, f"a function that returns {e.args[0].describe()}") from None


def entered(graph: Region, v: Variable, operand: Any, see: Callable[[int, Meta], Meta], i: int) -> Variable:
    """What the traced function sees of the i-th argument, a tensor described by see(i, its Meta) or a symbol."""
    if not isinstance(v, TensorVariable):
        graph.input(operand, operand, "number")
        return v
    meta = see(i, v.meta)
    return TensorVariable(graph.input(operand, meta, v.node.name), meta)


def wants_gradients(passed: list[Any]) -> bool:
    """Whether gradients are wanted of anything that is passed."""
    return any(isinstance(a, Node) and getattr(a.meta["val"], "requires_grad", False) for a in passed)


def close_alike(found: list[Traced], count: int) -> list[Any]:
    """Close the graphs of functions over the same `count` operands, so that each takes all that any of them takes.

    Returns what a node passes to all of them.
    """
    for traced in found:
        traced.close()
    passed = list(found[0].graph.operands[:count])
    places: dict[Any, int] = {}
    for traced in found:
        for operand, node in zip(traced.graph.operands[count:], traced.module.graph.placeholders[count:]):
            if _key(operand) not in places:
                places[_key(operand)] = len(passed)
                passed.append((operand, node))
    more = passed[count:]
    for traced in found:
        old = traced.module.graph
        own = dict(zip(map(_key, traced.graph.operands[count:]), old.placeholders[count:]))
        if len(own) == len(more):
            if [_key(operand) for operand, _ in more] == list(own):
                continue
        graph = Graph()
        mapping = {node: graph.placeholder(node.name, val=node.meta["val"]) for node in old.placeholders[:count]}
        for operand, node in more:
            mine = own.get(_key(operand))
            mapping[node if mine is None else mine] = graph.placeholder(node.name, val=node.meta["val"])
        graph.output(graph.graph_copy(old, mapping))
        traced.module = GraphModule(traced.graph.modules, graph, traced.graph.shape_env)
    return [*passed[:count], *(operand for operand, _ in more)]


def _key(operand: Any) -> Any:
    """Equal for operands that are the same value."""
    return operand if isinstance(operand, Node) else str(operand)


def record(
    frame: Any, target: Callable, operands: list[Any], bodies: dict[str, GraphModule] | None = None, at: int = 0,
    settings: dict[str, Any] | None = None,
) -> list[Variable]:
    """A node `target(*operands)` in the current graph; its results, a flat list. Its sizes are what it gives on Tracers.

    bodies: graphs that are arguments too, from place `at`, each an attribute of the GraphModule named like its key.
    settings: keyword arguments, constants.
    """
    output = frame.output
    graphs = bodies or {}
    flat = [a for part in operands for a in (part if type(part) is list else [part])]
    metas = [a.meta["val"] if isinstance(a, Node) else a for a in flat]

    def run(*values: Any) -> Any:
        given = iter(values)
        args = [[next(given) for _ in part] if type(part) is list else next(given) for part in operands]
        return target(*args[:at], *graphs.values(), *args[at:], **(settings or {}))

    try:
        val = tuple(meta_of_function(run, tuple(metas)))
    except SHAPE_ERRORS as e:
        raise as_raised(frame, e) from e
    output.recorded = True
    output.graph.line = output.user_line()
    attached = [output.graph.attach(name, body) for name, body in graphs.items()]
    node = output.graph.call_function(target, (*operands[:at], *attached, *operands[at:]), settings, val=val)
    output.note_modes(node)
    if frame.is_caught():
        from dynamo import caught  # (what few programs ask for)

        caught.note_bodies(node, graphs.values() or getattr(target, "graphs", {}).values())
    needs = output.grad_enabled and wants_gradients(flat)
    for meta in val:
        if type(meta) is Meta:
            meta.requires_grad = needs and (meta.dtype.is_floating_point or meta.dtype.is_complex)
    return wrap_result(frame, node, val).unpack(frame)
