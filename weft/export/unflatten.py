"""`unflatten`: an exported program as modules nested as they were, each with a graph of its own.

Nodes say of which calls of modules they are (meta["nn_module_stack"]): neighbours of one call become the graph of a module at its
path, whose inputs are what they take from elsewhere and whose outputs are what others take of them.
"""

from __future__ import annotations

import operator
from itertools import groupby
from typing import Any

from aten.fx.graph import Graph
from aten.fx.graph_module import GraphModule
from aten.fx.node import Node, map_arg
from aten.fx.symbols import binders, binders_within, free_symbols
from weft.export.exported_module import ExportedModule
from weft.export.exported_program import ExportedProgram
from weft.nn.module import Module


class InterpreterModule(Module):
    """A module whose forward runs a graph: `module(*inputs)`, one for each placeholder. Modules in it are its children."""

    def finish(self, graph: Graph) -> None:
        """Give the module its graph."""
        object.__setattr__(self, "graph_module", GraphModule(self, graph))

    @property
    def graph(self) -> Graph:
        return self.graph_module.graph

    def forward(self, *args: Any) -> Any:
        return self.graph_module(*args)

    def print_readable(self, print_output: bool = True) -> str:
        """The graph as text; printed unless told otherwise."""
        return self.graph_module.print_readable(print_output)


class UnflattenedModule(ExportedModule):
    """`module(*args, **kwargs)`: an exported program, whose parts can be looked at and replaced by other modules."""


def unflatten(module: ExportedProgram) -> UnflattenedModule:
    """The program as a module of modules: `unflatten(ep).encoder.layers` are where they were, each with a graph of its own.

    Modules that hold nothing (a ReLU) are there too if they have operations. A module that is called again with other operations
    has its further calls beside it, as `name@1`.
    """
    flat = module.module()
    made = UnflattenedModule("UnflattenedModule")
    for store in ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set"):
        made.__dict__[store] = flat.__dict__[store]
    for name, value in flat.__dict__.items():  # tensors that are constants, and modules of control flow
        made.__dict__.setdefault(name, value)
    graph = Graph()
    graph.shape_env = flat.graph.shape_env
    env = {n: graph.node_copy(n, lambda n: n) for n in flat.graph.placeholders}
    body = [n for n in flat.graph.nodes if n.op not in ("placeholder", "get_attr", "output")]
    writer = _Writer(made, "", graph, env)
    writer.write(body, 1)
    graph.output(map_arg(flat.graph.output_node.args[0], writer.value))
    made.finish(graph, *module.structure)
    made._check = flat._check
    return made


class _Writer:
    """Writes the graph of the module at `path`. `env`: nodes of the flat graph → its nodes."""

    def __init__(self, module: Module, path: str, graph: Graph, env: dict[Node, Any]):
        self.module, self.path, self.graph, self.env = module, path, graph, env

    def value(self, node: Node) -> Any:
        if node not in self.env:
            name = _below(self.path, str(node.target))
            assert node.op == "get_attr" and name is not None
            self.env[node] = self.graph.get_attr(name, val=node.meta.get("val"))
        return self.env[node]

    def write(self, nodes: list[Node], depth: int) -> None:
        """`nodes`, of which those in a call of a module at this depth of their stacks become a call of it."""
        for call, run in groupby(nodes, lambda n: _call_at(n, depth)):
            if call is None:
                for node in run:
                    self.env[node] = self.graph.node_copy(node, self.value)
            else:
                self.call(call[1][0], list(run), depth)

    def call(self, path: str, nodes: list[Node], depth: int) -> None:
        inside = set(nodes)
        taken = dict.fromkeys(a for n in nodes for a in n.all_input_nodes if a not in inside)
        inputs = [a for a in taken if a.op != "get_attr" or _below(path, str(a.target)) is None]
        outputs = [n for n in nodes if any(user not in inside for user in n.users)]
        graph = Graph()
        graph.shape_env = self.graph.shape_env
        env = {a: graph.placeholder(a.name, val=a.meta.get("val")) for a in inputs}
        name = _below(self.path, path) or path.replace(".", "_")
        made = _child(self.module, name)
        inner = _Writer(made, path, graph, env)
        inner.write(nodes, depth + 1)
        results = tuple([env[n] for n in outputs])
        graph.output(results[0] if len(results) == 1 else results)
        numbers = [self.graph.shape_env.declare(symbol) for symbol in sorted(_unbound(graph))]
        for number in numbers:
            graph.placeholder(str(number), val=number)
        name = _settled(self.module, name, made, graph)
        node = self.graph.call_module(name, (*[self.value(a) for a in inputs], *numbers))
        if len(outputs) == 1:
            self.env[outputs[0]] = node
            node.meta["val"] = outputs[0].meta.get("val")
            return
        for i, n in enumerate(outputs):
            self.env[n] = self.graph.call_function(operator.getitem, (node, i), val=n.meta.get("val"))


def _call_at(node: Node, depth: int) -> tuple | None:
    stack = list(node.meta.get("nn_module_stack", {}).items())
    return stack[depth] if len(stack) > depth else None


def _below(path: str, name: str) -> str | None:
    """`name` as seen from the module at `path`, if it is in there."""
    if not path:
        return name
    return name[len(path) + 1 :] if name.startswith(path + ".") else None


def _unbound(graph: Graph) -> set[str]:
    """Symbols that the graph uses, and neither an input nor a node gives."""
    inside = {name for found in binders_within(graph).values() for name, _ in found}
    return free_symbols(graph) - set(binders(graph)) - inside


def _child(owner: Module, path: str) -> InterpreterModule:
    """The module at a path, as one that can have a graph: its tensors and modules are those that were there."""
    *folders, leaf = path.split(".")
    for folder in folders:
        if folder not in owner._modules:
            owner.add_module(folder, Module())
        owner = owner._modules[folder]  # type: ignore[assignment]
    there = owner._modules.get(leaf)
    if isinstance(there, InterpreterModule):
        return there
    made = InterpreterModule()
    if there is not None:
        made.__dict__.update(there.__dict__)
    owner._modules[leaf] = made
    return made


def _form(graph: Graph) -> list[tuple]:
    """What a graph computes, whatever its nodes are called."""
    index = {n: i for i, n in enumerate(graph.nodes)}
    number = lambda a: f"%{index[a]}"  # noqa: E731
    return [
        (n.op, None if n.op == "placeholder" else n.target, repr(map_arg(n.args, number)), repr(map_arg(n.kwargs, number)))
        for n in graph.nodes
    ]


def _settled(owner: Module, path: str, made: InterpreterModule, graph: Graph) -> str:
    """Give the module its graph. One that has another already gets a neighbour for this one. Returns the path to call."""
    if "graph_module" not in made.__dict__:
        made.finish(graph)
        return path
    form, turn = _form(graph), 0
    *folders, leaf = path.split(".")
    for folder in folders:
        owner = owner._modules[folder]  # type: ignore[assignment]
    while True:
        name = f"{leaf}@{turn}" if turn else leaf
        known = owner._modules.get(name)
        if known is None:
            neighbour = InterpreterModule()
            neighbour.__dict__.update({k: v for k, v in made.__dict__.items() if k != "graph_module"})
            neighbour.finish(graph)
            owner._modules[name] = neighbour
            return ".".join([*folders, name])
        if isinstance(known, InterpreterModule) and _form(known.graph) == form:
            return ".".join([*folders, name])
        turn += 1


__all__ = ["InterpreterModule", "UnflattenedModule", "unflatten"]
