"""Graphs of which some numbers are known only once a part has run: cut into stages between the nodes that give such numbers.

What is neither such a node nor writes into memory that others see is put into stages, which a backend compiles as graphs of
their own; the rest runs op by op between them. A stage is compiled when it is first reached: the numbers are known then, and
what was taken for granted of them is guarded at each call, like what was taken for granted of its inputs.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Sequence
from typing import Any

from aten import errors, open_levels
from aten._native import Tensor
from aten.fx.graph import Graph
from aten.fx.graph_module import GraphModule
from aten.fx.node import Node, leaves, map_arg
from aten.fx.symbols import binders_within, map_symbols
from aten.fx.targets import draw, hook_later, is_op, item, set_default_dtype, set_grad_enabled
from aten.meta import Meta
from aten.refusals import may_refuse
from aten.scalar.unpatched import functools, itertools
from aten.symbolic.evaluate import evaluate
from aten.symbolic.nodes import substitute, sym, walk
from aten.symbolic.shape_env import ShapeEnv
from aten.symbolic.symint import SYMBOLIC, wrap

LEAST = 2  # ops that are worth a stage
VARIANTS = 4  # compilations of one stage; calls that none of them answers run op by op

Backend = Callable[[GraphModule, Sequence[Any]], Callable[..., Any]]


def compile(gm: GraphModule, backend: Backend) -> Callable[..., Any]:
    """A callable for a graph that is compiled in stages by `backend`."""
    if any(node.meta.get("wrapper") for node in gm.graph.nodes):
        return gm.forward
    staged = cut(gm, backend)
    return gm.forward if staged is None else staged.forward


# -------------------------------------------------------------------------------------------------------------- cutting
def cut(gm: GraphModule, backend: Backend) -> GraphModule | None:
    """The graph with calls of stages in the place of their nodes; None where there is no stage."""
    binds = binders_within(gm.graph)
    graph, parts = Graph(), _parts(gm.graph, binds.keys())
    if not any(type(part) is list for part in parts):
        return None
    graph.shape_env = gm.shape_env
    mapping: dict[Node, Any] = {node: graph.placeholder(node.name, val=node.meta["val"]) for node in gm.graph.placeholders}
    for old, new in zip(gm.graph.placeholders, graph.placeholders):
        new.meta = dict(old.meta)
    for part in parts:
        if type(part) is not list:
            mapping[part] = graph.node_copy(part, mapping.__getitem__)
            continue
        stage = Stage(part, backend, gm.shape_env)
        call = graph.call_function(stage, (*(mapping[n] for n in stage.inputs), *stage.symbols), val=None)
        for i, node in enumerate(stage.outputs):
            mapping[node] = graph.call_function(operator.getitem, (call, i), val=node.meta["val"])
    graph.output(map_arg(gm.graph.output_node.args[0], mapping.__getitem__))
    staged = GraphModule(gm.__dict__["_root"], graph, gm.shape_env)
    staged.meta = dict(gm.meta)
    return staged


def _parts(graph: Graph, binding: Any) -> list[Any]:
    """The nodes in the order in which they run: a list of them is a stage."""
    parts: list[Any] = []
    stage: list[Node] = []
    within: set[Node] = set()

    def end() -> None:
        nonlocal stage, within
        worth = sum(is_op(n.target) and n.target.kind != "view" for n in stage) >= LEAST
        passes = all(type(n.meta.get("val")) is Meta for n in outputs_of(stage))
        parts.extend([stage] if worth and passes else stage)
        stage, within = [], set()

    for node in graph.nodes:
        if node.op in ("placeholder", "output") or node.target in (set_grad_enabled, set_default_dtype):
            continue
        if node not in binding and _stays_inside(node, within):
            stage.append(node)
            within.add(node)
            if any(user.target is hook_later for user in node.users):  # backward comes to its hooks between two Nodes
                end()
            continue
        if not _waits(node, within):  # it may as well come before the stage
            parts.append(node)
            continue
        end()
        parts.append(node)
    end()
    return parts


def _waits(node: Node, within: set[Node]) -> bool:
    """Whether a node that is no part of the stage must come behind it: it uses what that gives, or does more than give a value."""
    if any(n in within for n in node.all_input_nodes):
        return True
    if node.target is draw:  # it moves the generator on, which an error before it leaves where it is
        return any(may_refuse(n) for n in within)
    if node.op == "get_attr" or node.target is operator.getitem or node.target is item:
        return False
    return not is_op(node.target) or writes(node)


def _stays_inside(node: Node, within: set[Node]) -> bool:
    """Whether a node can be part of a stage of which these nodes are."""
    if node.op != "call_function" or node.meta.get("whole") or node.meta.get("grad") or node.meta.get("default_dtype"):
        return False
    if node.target is operator.getitem:
        return node.args[0] in within and type(node.meta.get("val")) in (Meta, tuple, list)
    if not is_op(node.target) or any(n.op == "get_attr" for n in node.all_input_nodes):
        return False
    if any(not isinstance(n.meta.get("val"), Meta) for n in node.all_input_nodes if n not in within):
        return False
    return not writes(node) or all(_is_made_of(target, within) for target in targets_of(node))


def writes(node: Node) -> bool:
    """Whether an op changes a tensor that it is given."""
    op = node.target
    named = op.name.endswith(("_", "_writes")) and not op.name.endswith("__")
    return op.kind == "inplace" or op.name == "setitem" or "effect" in op.tags or named or "out" in node.kwargs


def targets_of(node: Node) -> list[Node]:
    """The tensors that an op may change: the first one, or all that a custom op or one of lists is given."""
    if node.target.kind == "inplace" or node.target.name == "setitem":
        return [node.args[0]] if node.args and isinstance(node.args[0], Node) else list(node.all_input_nodes)
    return list(node.all_input_nodes)


def _is_made_of(node: Node, within: set[Node]) -> bool:
    """Whether the memory of a tensor was made by these nodes."""
    if node not in within:
        return False
    op = node.target
    if is_op(op) and op.kind == "core":
        return True
    return all(_is_made_of(n, within) for n in node.all_input_nodes)


def outputs_of(stage: list[Node]) -> list[Node]:
    """The values of these nodes that others use."""
    inside = set(stage)
    return [n for n in stage if any(user not in inside for user in n.users)]


# -------------------------------------------------------------------------------------------------------------- running
class Stage:
    """A part of a graph as a function of tensors and numbers: `inputs` and `symbols` of the graph that it is called in."""

    __name__ = "stage"

    def __init__(self, nodes: list[Node], backend: Backend, env: Any):
        inside = set(nodes)
        self.nodes, self.backend, self.env = nodes, backend, env
        self.inputs = list(dict.fromkeys(a for n in nodes for a in n.all_input_nodes if a not in inside))
        self.outputs = outputs_of(nodes)
        used: dict[str, Any] = {}
        for value in [(n.args, n.kwargs, n.meta.get("val")) for n in nodes] + [n.meta["val"] for n in self.inputs]:
            for number in _numbers(value):
                for name in sorted(number.expr.free_symbols):
                    used.setdefault(name, _symbol(number.expr, name, env))
        self.symbols = list(used.values())
        self.renamed = _named_by_kind(used, env.ranges)  # (a symbol's name says its kind where graphs are read back from text)
        self.names = [str(self.renamed.get(name, name)) for name in used]
        self.layouts = [_layout(n.meta["val"]) for n in self.inputs]
        self.outer_names = list(used)
        self.by_ops = self.graph(env).forward
        self.variants: list[tuple[tuple[bool, ...], list[Any], Callable[..., Any]]] = []
        self.compiling = threading.Lock()

    def graph(self, env: Any) -> GraphModule:
        """The part as a graph whose symbols are those of `env`."""
        renewed = lambda value: _with_env(value, env, self.renamed)
        graph = Graph()
        mapping: dict[Node, Node] = {}
        for node in self.inputs:
            mapping[node] = graph.placeholder(node.name, val=renewed(node.meta["val"]))
        for name, symbol in zip(self.names, self.symbols):
            graph.placeholder(name, val=renewed(symbol))
        for node in self.nodes:
            mapping[node] = made = graph.node_copy(node, mapping.__getitem__)
            made.args, made.kwargs = renewed(made.args), renewed(made.kwargs)
            made.meta["val"] = renewed(made.meta.get("val"))
        graph.output(tuple([mapping[n] for n in self.outputs]))
        return GraphModule({}, graph, env)

    def __call__(self, *given: Any) -> Any:
        count = len(self.inputs)
        tensors, values = given[:count], dict(zip(self.names, given[count:]))
        if self.renamed:
            values.update(zip(self.outer_names, given[count:]))
        if any(type(v) in SYMBOLIC for v in values.values()):  # (a graph that is traced once more)
            return self.by_ops(*given)
        if not all(_lies(t, layout, values) for t, layout in zip(tensors, self.layouts)):
            return self.by_ops(*given)
        needs = tuple([t.requires_grad for t in tensors])
        run = self.found(needs, values)
        if run is None:
            run = self.compiled(needs, given, values)
        try:
            return run(*given)
        except errors.GraphFailed:  # nothing of this stage was written
            return self.by_ops(*given)

    def found(self, needs: tuple[bool, ...], values: dict[str, Any]) -> Callable[..., Any] | None:
        """What was compiled for numbers of which the same holds."""
        for known, guards, run in self.variants:
            if known == needs and all(evaluate(guard, values) for guard in guards):
                return run
        return None

    def compiled(self, needs: tuple[bool, ...], given: Sequence[Any], values: dict[str, Any]) -> Callable[..., Any]:
        with self.compiling:
            if len(self.variants) >= VARIANTS:
                return self.by_ops
            env = ShapeEnv()
            for name, symbol in zip(self.names, self.symbols):
                low, high = self.env.ranges.get(str(symbol.expr), (0, None))
                size = symbol.expr.kind == "int" and low >= 0
                env.symbol(name, values[name], 0 if size else low, None if size else high, symbol.expr.kind)
            gm = self.graph(env)
            for node, tensor in zip(gm.graph.placeholders, given):
                if isinstance(tensor, Tensor):
                    node.meta["val"].requires_grad = tensor.requires_grad
            try:
                with open_levels.ModesUnasked():
                    run = self.backend(gm, given)
            except Exception as e:  # what the program itself raises, mostly: its ops say it in their own words
                return functools.partial(self.failed, needs, e)
            guards = [g.expr for g in env.guards if not self.is_known(g.expr)]
            self.variants.append((needs, guards, run))
            return run

    def failed(self, needs: tuple[bool, ...], error: Exception, *given: Any) -> Any:
        """A call for which nothing could be compiled: an error of the compiler, unless the ops raise as well."""
        result = self.by_ops(*given)
        self.variants.append((needs, [], self.by_ops))
        errors.internal("compiling a part of a graph", error)
        return result

    def is_known(self, guard: Any) -> bool:
        """Whether a guard holds in every call of the whole graph."""
        return guard.free_symbols <= self.env.hints.keys() and self.env.statically_known(guard) is True


def _numbers(value: Any) -> list[Any]:
    """The symbolic numbers in arguments and Metas."""
    if type(value) is Meta:
        return _numbers((value.sizes, value.strides, value.offset))
    if type(value) in (tuple, list, dict, slice):
        return [x for leaf in leaves(value) for x in _numbers(leaf)]
    return [value] if type(value) in SYMBOLIC else []


def _symbol(expr: Any, name: str, env: Any) -> Any:
    return wrap(next(e for e in walk(expr) if e.op == "sym" and e.name == name), env)


def _named_by_kind(used: dict[str, Any], taken: dict[str, Any]) -> dict[str, Any]:
    """Other names for floats that are not called so: the symbols by the old ones."""
    found: dict[str, Any] = {}
    free = (name for name in map("z{}".format, itertools.count()) if name not in used and name not in taken)
    for name, symbol in used.items():
        if symbol.expr.kind == "float" and not (name[0] == "z" and name[1:].isdigit()):
            found[name] = sym(next(free), "float")
    return found


def _with_env(value: Any, env: Any, renamed: dict[str, Any]) -> Any:
    """The value with its symbolic numbers in terms of another ShapeEnv, some of them renamed."""
    if type(value) is Meta:
        sizes, strides, offset = _with_env((value.sizes, value.strides, value.offset), env, renamed)
        return Meta(value.dtype, value.device, sizes, strides, offset, value.requires_grad)
    if type(value) in (tuple, list) and any(type(v) in (Meta, tuple, list) for v in value):
        return type(value)([_with_env(v, env, renamed) for v in value])
    return map_symbols(value, lambda number: wrap(substitute(number.expr, renamed) if renamed else number.expr, env))


def _layout(meta: Meta) -> tuple[Any, tuple, tuple]:
    return meta.dtype, tuple(map(_expression, meta.sizes)), tuple(map(_expression, meta.strides))


def _expression(size: Any) -> Any:
    return size.expr if type(size) in SYMBOLIC else size


def _lies(tensor: Any, layout: tuple[Any, tuple, tuple], values: dict[str, Any]) -> bool:
    """Whether a tensor lies as it did while capturing."""
    dtype, sizes, strides = layout
    if tensor.dtype is not dtype or len(tensor.shape) != len(sizes):
        return False
    pairs = (*zip(tensor.shape, sizes), *((a, b) for a, b, n in zip(tensor.stride(), strides, tensor.shape) if n != 1))
    return all(real == (told if type(told) is int else evaluate(told, values)) for real, told in pairs)
