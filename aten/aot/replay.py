"""Run a captured graph on Tracers, gradients that are taken within it included."""

from __future__ import annotations

from typing import Any

from aten import _native
from aten._native import Tensor
from aten.fx.graph import Graph
from aten.fx.graph_module import GraphModule
from aten.fx.interpreter import DEFAULT_DTYPE
from aten.fx.node import Node, map_arg
from aten.fx.targets import gradients, require_grad
from aten.meta import Meta
from aten.op import registry
from aten.transforms.trace import Rng, TraceLevel
from aten.transforms.tracer import Tracer, opened


def differentiates(graph: Graph) -> bool:
    """Whether gradients are taken in the graph itself."""
    return any(node.target is gradients or node.target is require_grad for node in graph.nodes)


def replay(gm: GraphModule, inputs: list[Any], level: TraceLevel, env: dict[Node, Any] | None = None) -> list[Any]:
    """Run the captured nodes on Tracers, which are noted in `env`; the results, none of a graph without an output. Symbols keep
    their names, so symbolic arguments stay as they are.

    A tensor that an op makes of numbers alone is a constant, copied at each call: the program may write into it."""
    env = {} if env is None else env
    values = iter(inputs)
    for node in gm.graph.nodes:
        op = node.op
        level.graph.line = node.meta.get("line")
        if op == "placeholder":
            env[node] = next(values)
        elif op == "call_function" and node.meta.get("part"):
            env[node] = _part(level, node, env[node.args[0]])
        elif op == "call_function":
            mode = node.meta.get("grad")  # recorded under no_grad, say
            outer = None if mode is None else _native.set_grad_enabled(mode and _native.is_grad_enabled())
            dtype = node.meta.get("default_dtype")
            if dtype is not None:
                level.graph.default_dtype, dtypes_before = dtype, _native.set_ambient_bits(DEFAULT_DTYPE, dtype.code << 8)
            args = [map_arg(a, env.__getitem__) for a in node.args]
            try:
                special = _OF_HISTORY.get(node.target) if level.joint else None
                if special is not None:
                    env[node] = special(level, *args)
                    continue
                made = node.target(*args, **{k: map_arg(a, env.__getitem__) for k, a in node.kwargs.items()})
                is_constant = isinstance(made, Tensor) and not isinstance(made, Tracer)
                env[node] = registry["clone"](level.lift(made)) if is_constant else made
            finally:
                if outer is not None:
                    _native.set_grad_enabled(outer)
                if dtype is not None:
                    level.graph.default_dtype = None
                    _native.set_ambient_bits(DEFAULT_DTYPE, dtypes_before)
        elif op == "call_method":
            args = [map_arg(a, env.__getitem__) for a in node.args]
            kwargs = {k: map_arg(a, env.__getitem__) for k, a in node.kwargs.items()}
            env[node] = getattr(args[0], node.target)(*args[1:], **kwargs)
        elif op == "get_attr":
            env[node] = getattr(gm, node.target)
        else:
            value = map_arg(node.args[0], env.__getitem__)
            return list(value) if isinstance(value, (tuple, list)) else [value]
    return []


def _part(level: TraceLevel, node: Node, wrapper: Any) -> Tracer:
    """A tensor that a wrapper is made of, without history."""
    meta = node.meta["val"]
    made = level.graph.create_node("call_function", getattr, (level.read(wrapper), node.args[1]), {}, None, meta)
    return level.make(made, meta)


def _gradients(
    level: TraceLevel, outputs: list, inputs: list, seeds: list, retain_graph: bool, create_graph: bool, own: bool
) -> tuple:
    """`targets.gradients`: the backward walk is written into the graph."""
    before = _native.set_grad_enabled(create_graph)
    try:
        pairs = [(level.read(o), registry["ones_like"](o) if s is None else s) for o, s in zip(outputs, seeds)]
        found = level.gradients(pairs, [level.read(x) for x in inputs], create_graph)
        return tuple([None if g is None else _owned(level, g, own) for g in found])
    finally:
        _native.set_grad_enabled(before)


def _owned(level: TraceLevel, grad: Any, own: bool) -> Any:
    """A Tracer of its own, so that two equal gradients do not count as the same tensor."""
    made = level.make(level.read(grad), grad.meta)
    return made.contiguous() if own and not made.meta.is_contiguous() else made


def _require_grad(level: TraceLevel, tensor: Any) -> Any:
    """`targets.require_grad`"""
    level.leaf(tensor)
    level.leaves.append(tensor)
    return tensor


_OF_HISTORY: dict[Any, Any] = {gradients: _gradients, require_grad: _require_grad}


class Differentiated:
    """What a graph that is being captured gives when gradients are taken at its end.

    metas: of each gradient, None for none. freed: nodes whose part of the history is used up.
    """

    def __init__(self, gm: GraphModule, outputs: list[Node], inputs: list[Node], seeds: list[Node | None], create_graph: bool):
        graph = Graph()
        graph.shape_env = gm.shape_env
        level = TraceLevel(graph, {}, functionalize=True, joint=True)
        level.rng = Rng(gm.shape_env)
        env: dict[Node, Any] = {}
        values = [_input(level, node) for node in gm.graph.placeholders]
        before = _native.set_grad_enabled(True)
        try:
            with opened(level):
                replay(gm, values, level, env)
                made = {n: level.read(t) for n, t in env.items() if isinstance(t, Tracer)}
                history = {n: edge[0] for n, p in made.items() if (edge := level.edge_of(p)) is not None}
                given = [map_arg(s, env.__getitem__) for s in seeds]
                found = _gradients(level, [env[o] for o in outputs], [env[i] for i in inputs], given, True, create_graph, False)
        finally:
            _native.set_grad_enabled(before)
        self.metas = tuple([None if g is None else g.meta for g in found])
        used = _reached([history[o] for o in outputs if o in history])
        self.freed = {n for n, node in history.items() if node in used}
        level.history.clear()


def _input(level: TraceLevel, node: Node) -> Any:
    val = node.meta["val"]
    if type(val) is not Meta:
        level.graph.placeholder(node.name, val=val)
        return val
    tracer = level.placeholder(node.name, Meta(val.dtype, val.device, val.sizes, val.strides, val.offset))
    if val.requires_grad:
        level.leaf(tracer)
    return tracer


def _reached(nodes: list) -> set:
    """The Nodes of calls that a walk from these comes by."""
    used: set = set()
    while nodes:
        node = nodes.pop()
        if node not in used and node.next_functions:
            used.add(node)
            nodes += [n for n, _ in node.next_functions if n is not None]
    return used
