"""Parts of a graph into modules: the nodes of a part become the graph of a module that is called in their place."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from aten.fx.graph import Graph
from aten.fx.graph_module import GraphModule, for_users
from aten.fx.node import Node
from aten.fx.passes.tools_common import legalize_graph


def topo_sort(nodes: Iterable[Node]) -> list[Node]:
    """The nodes, each behind those that it takes."""
    left, done = list(nodes), set()
    inside, order = set(left), []
    while left:
        ready = [n for n in left if all(a in done or a not in inside for a in n.all_input_nodes)]
        assert ready, "topological sorted nodes doesn't have same length as input nodes"
        order += ready
        done.update(ready)
        left = [n for n in left if n not in done]
    return order


def validate_partition(partition: Iterable[Node]) -> bool:
    """Whether the nodes can run at once: no way leads out of them and in again."""
    inside = set(partition)
    seen: set[Node] = set()
    left = [user for node in inside for user in node.users if user not in inside]
    while left:
        node = left.pop()
        if node in inside:
            return False
        if node not in seen:
            seen.add(node)
            left += node.users
    return True


def fuse_as_graphmodule(gm: GraphModule, nodes: list[Node], module_name: str) -> tuple[GraphModule, tuple, tuple]:
    """(the nodes, in an order they can run in, as a GraphModule; what it takes of the graph; what the graph takes of it)."""
    for node in nodes:
        assert node.graph.owning_module is gm, f"{node} doesn't belong to passed in graph module {gm}"
        assert node.op in ("call_function", "call_module", "call_method", "get_attr"), f"{node} cannot be part of a module"
    assert validate_partition(nodes), "Invalid partition, found dependency cycles"
    inside, graph, env = set(nodes), Graph(), {}
    graph.shape_env = gm.shape_env
    inputs: dict[Node, None] = {}
    for node in nodes:
        for a in node.all_input_nodes:
            if a not in inside:
                inputs[a] = None
    for a in inputs:
        env[a] = graph.placeholder(a.name, val=a.meta.get("val"))
        env[a].meta.update(a.meta)
    for node in nodes:
        env[node] = graph.node_copy(node, env.__getitem__)
    outputs = [n for n in nodes if any(user not in inside for user in n.users)]
    results = tuple([env[n] for n in outputs])
    graph.output(results[0] if len(results) == 1 else results)
    graph.lint()
    return for_users(gm, graph, module_name), tuple(inputs), tuple(outputs)


def insert_subgm(gm: GraphModule, sub_gm: GraphModule, orig_inputs: tuple, orig_outputs: tuple) -> GraphModule:
    """Call the module at the end of the graph, where what took orig_outputs takes its results."""
    name = sub_gm.class_name
    gm.add_submodule(name, sub_gm)  # type: ignore[attr-defined]
    graph = gm.graph
    with graph.inserting_before(graph.output_node):
        call = graph.call_module(name, orig_inputs)
        if len(orig_outputs) == 1:
            call.meta["val"] = orig_outputs[0].meta.get("val")
            new: list[Any] = [call]
        else:
            new = [graph.call_function(operator.getitem, (call, i), val=n.meta.get("val")) for i, n in enumerate(orig_outputs)]
    for old, result in zip(orig_outputs, new):
        old.replace_all_uses_with(result)
    return gm


def erase_nodes(gm: GraphModule, nodes: list[Node]) -> None:
    """Take the nodes away, the last first."""
    for node in reversed(nodes):
        gm.graph.erase_node(node)


def fuse_by_partitions(gm: GraphModule, partitions: list[dict[Node, Any]], prefix: str = "fused_") -> GraphModule:
    """The module with the nodes of each partition in a module `fused_0`, `fused_1` …, which is called in their place."""
    parts = [topo_sort(partition) for partition in partitions]
    for i, nodes in enumerate(parts):
        name = f"{prefix}{i}"
        sub_gm, inputs, outputs = fuse_as_graphmodule(gm, nodes, name)
        insert_subgm(gm, sub_gm, inputs, outputs)
        erase_nodes(gm, nodes)
    return legalize_graph(gm)


__all__ = ["erase_nodes", "fuse_as_graphmodule", "fuse_by_partitions", "insert_subgm", "topo_sort", "validate_partition"]
