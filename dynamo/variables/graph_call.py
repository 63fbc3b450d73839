"""Calls of GraphModules in compiled code: their nodes are calls of the traced program."""

from __future__ import annotations

import _operator as operator
from typing import Any

from aten.fx.graph_module import GraphModule
from aten.fx.interpreter import MODES
from aten.fx.node import Node
from aten.fx.symbols import binders_within, free_symbols
from dynamo import breaks, trace_rules
from dynamo.breaks import Unsupported
from dynamo.source import Attr
from dynamo.variables.attributes import storage_of
from dynamo.variables.base import Variable
from dynamo.variables.module import ModuleObject


@trace_rules.handle(GraphModule.forward)
def _forward(frame: Any, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
    """What the nodes give, one after the other."""
    owner = args[0].realize(frame)
    module = owner.example()
    graph = module.graph
    places = graph.placeholders[len(args) - 1 :]
    known = all(p.target in kwargs or p.args for p in places) and kwargs.keys() <= {p.target for p in places}
    if not known or len(args) - 1 > len(graph.placeholders) or free_symbols(graph) or binders_within(graph):
        raise Unsupported(breaks.UNKNOWN_CALL, "a GraphModule with symbols, or of other arguments")
    if owner.source is None:
        raise Unsupported(breaks.UNKNOWN_CALL, "a GraphModule that the program has made")
    generated = module.generated()  # which goes when the graph changes
    frame.output.guard_same(Attr(owner.source, "_generated"), generated)
    env: dict[Node, Variable] = dict(zip(graph.placeholders, args[1:]))
    for p in places:  # given by their names, or left to their defaults
        env[p] = kwargs[p.target] if p.target in kwargs else frame.values.literal(frame, p.args[0])

    def value(a: Any) -> Variable:
        if type(a) is Node:
            return env[a]
        if type(a) is tuple:
            return frame.values.tuple_([value(x) for x in a])
        if type(a) is list:
            return frame.values.list_([value(x) for x in a])
        if type(a) is dict:
            return frame.values.dict_([(frame.values.const(k), value(v)) for k, v in a.items()])
        return frame.values.literal(frame, a)

    for node in graph.nodes:
        if node.op == "output":
            return value(node.args[0])
        if node.op == "placeholder":
            continue
        if any(node.meta.get(mode) is not None for mode in MODES):
            raise Unsupported(breaks.UNKNOWN_CALL, "a GraphModule that switches gradients, or the default dtype")
        given, named = [value(a) for a in node.args], {k: value(v) for k, v in node.kwargs.items()}
        env[node] = _call(frame, owner, node, given, named)
    raise Unsupported(breaks.UNKNOWN_CALL, "a GraphModule without an output")


def _call(frame: Any, owner: Variable, node: Node, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
    if node.op == "call_function":
        if node.target is operator.getitem:
            return args[0].realize(frame).getitem(frame, args[1]).realize(frame)
        return frame.world.known(node.target).call(frame, args, kwargs).realize(frame)
    if node.op == "call_method":
        return args[0].realize(frame).method(frame, node.target, args[1:], kwargs).realize(frame)
    first, *rest = node.target.split(".")
    if isinstance(owner, ModuleObject):
        found = owner.getattr(frame, first)
    else:
        found = storage_of(frame, owner).read(frame, first)  # what was set on the module itself
    if found is None:
        root = frame.world.attribute(owner.example(), owner.source, "_root").realize(frame)
        in_dict = root.python_type() is dict
        found = root.getitem(frame, frame.values.const(first)) if in_dict else root.getattr(frame, first)
    found = found.realize(frame)
    for part in rest:
        found = found.getattr(frame, part).realize(frame)
    return found if node.op == "get_attr" else found.call(frame, args, kwargs).realize(frame)
