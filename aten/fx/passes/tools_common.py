"""What several passes ask of nodes and graphs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aten import pytree
from aten._native import Tensor
from aten.fx.graph import Graph
from aten.fx.graph_module import GraphModule
from aten.fx.node import Node, map_arg
from aten.meta import Meta
from aten.op import Op

CALLABLE_NODE_OPS = {"call_module", "call_function", "call_method"}


def get_node_target(submodules: Mapping[str, Any], node: Node) -> str:
    """What a node calls, as text: the class of a module, the name of a function with its module, or that of a method.

    Raises AssertionError for nodes that call nothing.
    """
    assert node.op in CALLABLE_NODE_OPS, f"Expect op types of {', '.join(CALLABLE_NODE_OPS)}, but found {node.op}"
    if node.op == "call_module":
        cls = type(submodules[str(node.target)])
        return f"{cls.__module__}.{cls.__qualname__}"
    if node.op == "call_method":
        return str(node.target)
    if isinstance(node.target, Op):
        return f"torch.{node.target.name}"
    return f"{getattr(node.target, '__module__', None) or ''}.{node.target.__name__}"


def is_node_output_tensor(node: Node) -> bool:
    """Whether the node's value is a tensor, as far as it was found out (ShapeProp, FakeTensorProp, or tracing)."""
    cls = node.meta.get("type")
    return issubclass(cls, Tensor) if isinstance(cls, type) else type(node.meta.get("val")) is Meta


def tensors_of(node: Node) -> list[Any]:
    """What is known of the tensors of the node's value: Metas, or what ShapeProp wrote; each has a dtype."""
    found = node.meta.get("tensor_meta", node.meta.get("val"))
    if hasattr(found, "dtype"):
        return [found]
    return [leaf for leaf in pytree.leaves(found) if hasattr(leaf, "dtype")]


def legalize_graph(gm: GraphModule) -> GraphModule:
    """The module with its nodes in an order in which each comes behind what it takes; the order they had otherwise.

    Raises RuntimeError where nodes need one another.
    """
    new, env = Graph(), {}
    new.shape_env = gm.shape_env
    left = list(gm.graph.nodes)
    while left:
        ready = [n for n in left if all(a in env for a in n.all_input_nodes)]
        if not ready:
            raise RuntimeError(f"Input graph has cycles, unable to add {[n.name for n in left]}")
        done = set()
        for node in ready:
            if node.op != "output" or len(done) + 1 == len(left):
                env[node] = _copied(new, node, env)
                done.add(node)
        left = [n for n in left if n not in done]
    gm.graph = new
    return gm


def _copied(graph: Graph, node: Node, env: dict[Node, Node]) -> Node:
    if node.op != "output":
        return graph.node_copy(node, env.__getitem__)
    made = graph.output(map_arg(node.args[0], env.__getitem__))
    made.meta = dict(node.meta)
    return made


__all__ = ["CALLABLE_NODE_OPS", "get_node_target", "is_node_output_tensor", "legalize_graph", "tensors_of"]
