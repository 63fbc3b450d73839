"""Run a graph node by node."""

from __future__ import annotations

from typing import Any

from aten.fx.graph import Graph
from aten.fx.node import Node
from aten.fx.symbols import bind, resolve
from aten.symbolic.symint import SYMBOLIC


class Interpreter:
    """Runs a GraphModule (or Graph) on values; subclasses override what a kind of node does.

    Values are dropped after their last use.
    """

    def __init__(self, module: Any):
        self.module = module
        self.graph: Graph = module if isinstance(module, Graph) else module.graph
        self.env: dict[Node, Any] = {}
        self.symbols: dict[str, Any] = {}

    def run(self, *inputs: Any) -> Any:
        """The graph's output for these inputs, one per placeholder. Raises TypeError for another number of them."""
        placeholders = self.graph.placeholders
        if len(inputs) != len(placeholders):
            raise TypeError(f"the graph takes {len(placeholders)} inputs, not {len(inputs)}")
        self.env = dict(zip(placeholders, inputs))
        self.symbols = bind(self.graph, inputs)
        last = _last_uses(self.graph)
        for node in self.graph.nodes:
            if node.op != "placeholder":
                self.env[node] = self.run_node(node)
                if node.op == "output":
                    out = self.env[node]
                    self.env = {}
                    return out
            for dead in last.get(node, ()):
                del self.env[dead]
        raise RuntimeError("the graph has no output")

    def value(self, arg: Any) -> Any:
        """An argument with nodes replaced by their values and symbols by theirs."""
        t = type(arg)
        if t is Node:
            return self.env[arg]
        if t is tuple or t is list:
            return t([self.value(a) for a in arg])
        if t in SYMBOLIC:
            return resolve(arg, self.symbols)
        if t is dict:
            return {k: self.value(v) for k, v in arg.items()}
        if t is slice:
            return slice(self.value(arg.start), self.value(arg.stop), self.value(arg.step))
        return arg

    def run_node(self, node: Node) -> Any:
        args = tuple([self.value(a) for a in node.args])
        kwargs = {k: self.value(v) for k, v in node.kwargs.items()} if node.kwargs else {}
        return getattr(self, node.op)(node, args, kwargs)

    def call_function(self, node: Node, args: tuple, kwargs: dict) -> Any:
        return node.target(*args, **kwargs)

    def call_method(self, node: Node, args: tuple, kwargs: dict) -> Any:
        return getattr(args[0], node.target)(*args[1:], **kwargs)

    def get_attr(self, node: Node, args: tuple, kwargs: dict) -> Any:
        out = self.module
        for part in node.target.split("."):
            out = getattr(out, part)
        return out

    def output(self, node: Node, args: tuple, kwargs: dict) -> Any:
        return args[0]


def _last_uses(graph: Graph) -> dict[Node, list[Node]]:
    """For each node the nodes whose value is not needed after it."""
    seen: set[Node] = set()
    last: dict[Node, list[Node]] = {}
    for node in reversed(graph.nodes):
        for n in node.all_input_nodes:
            if n not in seen:
                seen.add(n)
                last.setdefault(node, []).append(n)
        if node not in seen and node.op != "output":
            seen.add(node)
            last.setdefault(node, []).append(node)
    return last
