"""A graph run under a TraceLevel, which makes it one of core ops."""

from __future__ import annotations

import operator
from typing import Any

from aten import Tensor
from aten.fx.graph_module import GraphModule
from aten.fx.interpreter import Interpreter
from aten.fx.node import Node, map_values
from aten.fx.symbols import binders_within
from aten.fx.targets import assert_async, assert_true, check, draw, expect, expect_sizes, item
from aten.meta import Meta
from aten.transforms.trace import GraphTracer, TraceLevel
from aten.transforms.tracer import Tracer

_CHECKS = frozenset((check, expect, expect_sizes, assert_true, assert_async))


class Retraced(Interpreter):
    """Runs a graph under a TraceLevel. What depends on data, and the checks of it, are in the new graph as they are.

    names: attributes of the module keep their names there; else the level names them.
    """

    def __init__(self, module: GraphModule, level: TraceLevel, names: bool = False):
        super().__init__(module)
        self.level = level
        self.named: dict[str, Tracer] | None = {} if names else None
        # Nodes that give numbers which nobody knows yet, as values or as sizes of what they make.
        found = set(binders_within(module.graph))
        self.kept = found | {n.args[0] for n in found if n.target is operator.getitem}

    def run_node(self, n: Node) -> Any:
        if n.op != "call_function" or n not in self.kept and n.target not in _CHECKS and n.target not in (item, draw):
            return super().run_node(n)
        args, kwargs = map_values(self.fetch_args_kwargs_from_env(n), (GraphTracer,), self.level.read)
        graph, val = self.level.graph, n.meta.get("val")
        node = graph.call_function(n.target, args, kwargs, val=val)
        if type(val) is not tuple:
            return self.level.make(node, val) if type(val) is Meta else val
        parts = [graph.call_function(operator.getitem, (node, i), val=v) for i, v in enumerate(val)]
        return tuple([self.level.make(part, v) if type(v) is Meta else v for part, v in zip(parts, val)])

    def get_attr(self, target: Any, args: tuple, kwargs: dict) -> Any:
        if self.named is None:
            return super().get_attr(target, args, kwargs)
        if target not in self.named:
            value = super().get_attr(target, args, kwargs)
            if not isinstance(value, Tensor):
                return value
            meta = Meta.of(value)
            self.named[target] = self.level.make(self.level.graph.get_attr(target, val=meta), meta)
        return self.named[target]
