"""A graph cut by the tags of its nodes."""

from __future__ import annotations

from typing import Any

from aten.fx.graph_module import GraphModule, for_users
from aten.fx.passes.split_module import split_module


def split_by_tags(gm: GraphModule, tags: list[str], return_fqn_mapping: bool = False, return_tuple: bool = False) -> Any:
    """A GraphModule that calls a module for each tag, in the order of `tags`: that of the nodes whose `tag` it is.

    return_fqn_mapping: also {where a module or tensor is: where it was}. Raises AssertionError for nodes with another tag or none,
    NotImplementedError for return_tuple.
    """
    if return_tuple:
        raise NotImplementedError("split_by_tags: a part with one result returns it as it is")
    for node in gm.graph.nodes:
        if node.op not in ("placeholder", "get_attr", "output"):
            assert getattr(node, "tag", None) in tags, (
                f"Node {node.name} has the tag {getattr(node, 'tag', None)!r}, not one of {tags}"
            )
    moved: dict[str, str] = {}
    made = split_module(gm, gm, lambda node: node.tag, moved)
    root = made.__dict__["_root"]
    for node in made.graph.nodes:
        if node.op == "call_module":
            name = node.target.removeprefix("submod_")
            root[name] = root.pop(node.target)
            node.target = name
    users = for_users(root, made.graph, gm.class_name)
    return (users, {key.removeprefix("submod_"): value for key, value in moved.items()}) if return_fqn_mapping else users


__all__ = ["split_by_tags"]
