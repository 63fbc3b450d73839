"""The graphs of one capture: that of the frame, and inside of it those of functions that higher-order operations call.

The graphs form a chain, from the innermost outwards (`Region.outer`). A value of an outer graph that an inner one asks for
becomes a placeholder there, in one place: `Region.own`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from aten.fx import traceback
from aten.fx.graph import Graph
from aten.fx.graph_module import GraphModule
from aten.fx.node import Node, leaves, map_arg
from aten.fx.symbols import binders
from aten.symbolic.nodes import walk
from aten.symbolic.symint import SYMBOLIC, wrap
from dynamo import breaks
from dynamo.breaks import Unsupported

if TYPE_CHECKING:
    from dynamo.output_graph import OutputGraph


class Region(Graph):
    """The graph of the frame (`outer` is None), or of a function that is called by a node of `outer`.

    `operands`: what that node passes for each placeholder.
    """

    def __init__(self, outer: Region | None, shape_env: Any):
        super().__init__()
        self.outer = outer
        self.kept = traceback.kept() if outer is None else outer.kept
        self.forward = False  # whether it is of a function whose tangents are computed
        self.transformed = outer is not None and outer.transformed  # whether a function transform calls it, or one around it
        self.shape_env = shape_env
        self.operands: list[Any] = []  # nodes of `outer`, numbers, symbols
        self.lifted: dict[Node, Node] = {}
        self.attached: dict[str, int] = {}  # how many graphs of a name all graphs of this capture have
        self.modules: dict[str, GraphModule] = {}  # the graphs that nodes of this one are given, by the names of their attributes

    def attach(self, name: str, module: GraphModule) -> Node:
        """The node of a graph that another node calls."""
        outermost = self
        while outermost.outer is not None:
            outermost = outermost.outer
        count = outermost.attached.get(name, 0)
        outermost.attached[name] = count + 1
        name = f"{name}_{count}"
        self.modules[name] = module
        return self.get_attr(name)

    def input(self, operand: Any, val: Any, name: str) -> Node:
        """A new placeholder, and what is passed for it."""
        self.operands.append(operand)
        return self.placeholder(name, val=val)

    def own(self, node: Node) -> Node:
        """The node of this graph that stands for a node of this graph or of an outer one. Raises Unsupported for a value that
        was made in a graph which is closed."""
        if node.graph is self:
            return node
        found = self.lifted.get(node)
        if found is None:
            if self.outer is None:
                raise Unsupported(breaks.ESCAPED_VALUE, f"{node.name}, made inside of a function that has returned")
            found = self.lifted[node] = self.input(self.outer.own(node), node.meta["val"], node.name)
        return found

    def owns(self, args: Any) -> bool:
        """Whether these are nodes of this graph and constants, with nothing in them."""
        for a in args:
            t = type(a)
            if a.graph is not self if t is Node else t is tuple or t is list or t is dict or t is slice:
                return False
        return True

    def create_node(self, op, target, args=(), kwargs=None, name=None, val=None, *, type_expr=None):
        if op != "placeholder" and (kwargs or not self.owns(args)):
            args, kwargs = map_arg(tuple(args), self.own), map_arg(kwargs or {}, self.own)
        return super().create_node(op, target, args, kwargs, name, val, type_expr=type_expr)

    def close(self, outputs: list[Any], sizes: bool = False) -> GraphModule:
        """The finished graph. Symbols that no placeholder gives are passed as well; with `sizes`, those of what is passed too."""
        self.line = None
        self.output(tuple(outputs))
        self.eliminate_dead_code(checks=True)
        bound, used = {} if sizes else binders(self), {}
        for node in self.nodes:
            meta = node.meta["val"] if sizes and node.op == "placeholder" else None
            for leaf in (*leaves((node.args, node.kwargs)), *getattr(meta, "sizes", ())):
                if type(leaf) in SYMBOLIC:
                    used.update((e.value, wrap(e, self.shape_env)) for e in walk(leaf.expr) if e.op == "sym")
        for node in self.placeholders if sizes else ():
            used.pop(str(node.meta["val"]), None)  # (the symbol itself)
        for name, value in used.items():
            if name not in bound:
                self.input(value, value, name)
        return GraphModule(self.modules, self, self.shape_env)


@contextlib.contextmanager
def opened(output: OutputGraph, graph: Region, grad: bool | None = None) -> Iterator[Region]:
    """What is recorded within goes to `graph`. grad: the mode of gradients there, as it is for None."""
    outer, start, ambient = output.graph, output.graph_ambient, output.ambient
    output.graph = graph
    if grad is not None:
        output.set_ambient_bits(1, int(grad))
    output.graph_ambient = output.ambient
    try:
        yield graph
        if output.ambient != output.graph_ambient:
            raise Unsupported(breaks.FUNCTION_TRANSFORM, "a function that leaves the ambient state changed")
    finally:
        output.graph, output.graph_ambient, output.ambient = outer, start, ambient
