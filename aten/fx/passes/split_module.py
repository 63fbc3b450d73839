"""A graph cut into modules, each the nodes of one partition."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from aten.fx.graph import Graph
from aten.fx.graph_module import GraphModule
from aten.fx.node import Node, map_arg


class Partition:
    """The nodes of one module, what they take from elsewhere, what others take of them, and the partitions before it."""

    def __init__(self, name: str):
        self.submod_name = f"submod_{name}"
        self.nodes: list[Node] = []
        self.inputs: dict[Node, None] = {}
        self.outputs: dict[Node, None] = {}
        self.dependencies: dict[Any, None] = {}


def split_module(
    m: GraphModule, root_m: Any, split_callback: Callable[[Node], Any], qualname_map: dict[str, str] | None = None,
    keep_original_order: bool = False,
) -> GraphModule:
    """A GraphModule that calls modules `submod_0` …: split_callback(node) says in which a node is. What has no partition, inputs
    and the result, stays outside; attributes are read where they are used.

    qualname_map: filled with where a module was, by where it is. Raises RuntimeError where partitions need one another.
    """
    parts = _partitions(m.graph, split_callback)
    order = list(parts) if keep_original_order else _in_order(parts)
    graph, root = Graph(), {}
    graph.shape_env = m.shape_env
    env: dict[Node, Any] = {}
    for node in m.graph.placeholders:
        env[node] = graph.node_copy(node, env.__getitem__)
    for key in order:
        part = parts[key]
        root[part.submod_name] = _module(part, m, root_m)
        if qualname_map is not None:
            qualname_map.update({f"{part.submod_name}.{n.target}": n.target for n in part.nodes if n.op == "call_module"})
        if any(n not in env for n in part.inputs):
            raise RuntimeError("cycle exists between partitions!")
        call = graph.call_module(part.submod_name, tuple([env[n] for n in part.inputs]))
        results = list(part.outputs)
        if len(results) == 1:
            env[results[0]] = call
            call.meta["val"] = results[0].meta.get("val")
        else:
            env.update((n, graph.call_function(operator.getitem, (call, i), val=n.meta.get("val"))) for i, n in enumerate(results))
    for node in m.graph.output_node.all_input_nodes:
        if node not in env:  # an attribute that is the result
            env[node] = graph.node_copy(node, env.__getitem__)
            first = node.target.split(".")[0]
            root[first] = getattr(m, first)
    graph.output(map_arg(m.graph.output_node.args[0], env.__getitem__))
    return GraphModule(root, graph, class_name=m.class_name)


def _partitions(graph: Graph, split_callback: Callable[[Node], Any]) -> dict[Any, Partition]:
    parts: dict[Any, Partition] = {}
    part_of: dict[Node, Any] = {}
    for node in graph.nodes:
        if node.op in ("placeholder", "get_attr", "output"):
            continue
        key = part_of[node] = split_callback(node)
        parts.setdefault(key, Partition(str(key))).nodes.append(node)
    for node in graph.nodes:
        for n in node.all_input_nodes if node.op != "get_attr" else ():
            if n in part_of and (node.op == "output" or part_of[n] != part_of[node]):
                parts[part_of[n]].outputs[n] = None
                if node in part_of:
                    parts[part_of[node]].dependencies[part_of[n]] = None
            if node in part_of and n.op != "get_attr" and part_of.get(n, parts) != part_of[node]:
                parts[part_of[node]].inputs[n] = None
    return parts


def _in_order(parts: dict[Any, Partition]) -> list[Any]:
    """The partitions so that each comes behind those that it depends on."""
    order: list[Any] = []
    while len(order) < len(parts):
        ready = [key for key, part in parts.items() if key not in order and all(d in order for d in part.dependencies)]
        if not ready:
            raise RuntimeError("cycle exists between partitions!")
        order.append(ready[0])
    return order


def _module(part: Partition, m: GraphModule, root_m: Any) -> GraphModule:
    graph, env = Graph(), {}
    graph.shape_env = m.shape_env
    for n in part.inputs:
        env[n] = graph.placeholder(n.name, val=n.meta.get("val"))
    for node in part.nodes:
        for n in node.all_input_nodes:
            if n.op == "get_attr" and n not in env:
                env[n] = graph.node_copy(n, env.__getitem__)
        env[node] = graph.node_copy(node, env.__getitem__)
    results = tuple([env[n] for n in part.outputs])
    graph.output(results[0] if len(results) == 1 else results)
    targets = {n.target.split(".")[0] for n in graph.nodes if n.op in ("get_attr", "call_module")}
    return GraphModule({name: getattr(m if hasattr(m, name) else root_m, name) for name in targets}, graph)


__all__ = ["Partition", "split_module"]
