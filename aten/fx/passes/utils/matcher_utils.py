"""Where a graph has the form of another one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from aten._native import Tensor
from aten.fx.graph import Graph
from aten.fx.node import Node
from aten.fx.targets import is_op
from aten.scalar.unpatched import itertools

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclass
class InternalMatch:
    """One place. anchors: the pattern's last nodes; nodes_map: {node of the pattern: node of the graph, or what stands for an
    input}; placeholder_nodes, returning_nodes: what stands for the pattern's inputs and results, in order.
    """

    anchors: list[Node]
    nodes_map: dict[Node, Any] = field(default_factory=dict)
    placeholder_nodes: list[Any] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)


class SubgraphMatcher:
    """Finds `pattern`, a graph, in others.

    match_output: the pattern's output is one of the graph, too. match_placeholder: so are its inputs, which otherwise stand for
    any node or value. remove_overlapping_matches: of matches that share nodes the first one is given. ignore_literals: numbers
    and other values in arguments may differ. Raises ValueError for a pattern without nodes, AssertionError for one with nodes
    that nothing uses.
    """

    def __init__(
        self,
        pattern: Graph,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ):
        nodes = list(pattern.nodes)
        if not nodes:
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        dead = [n.name for n in nodes if n.op != "output" and not n.users]
        assert not dead, f"SubgraphMatcher cannot be initialized with an pattern with dead code: {', '.join(dead)}"
        self.pattern = pattern
        self.match_output = match_output
        self.match_placeholder = match_placeholder
        self.remove_overlapping_matches = remove_overlapping_matches
        self.ignore_literals = ignore_literals
        self.pattern_placeholder_nodes = [n for n in nodes if n.op == "placeholder"]
        self.pattern_returning_nodes = list(nodes[-1].all_input_nodes)
        ends = [n for n in self.pattern_returning_nodes if len(n.users) == 1]
        self.pattern_anchors = [nodes[-1]] if match_output else ends

    def match(self, graph: Graph) -> list[InternalMatch]:
        """The places in `graph` where it has the form of the pattern, in order. No node of one but its results is used outside."""
        wanted = [[n for n in graph.nodes if self._may_be(anchor, n)] for anchor in self.pattern_anchors]
        found: list[InternalMatch] = []
        for nodes_map in self._placed(wanted, {}):
            if self._is_closed(nodes_map):
                found.append(self._told(nodes_map))
        if self.remove_overlapping_matches:
            taken: set[Node] = set()
            kept = []
            for match in found:
                inside = {v for p, v in match.nodes_map.items() if p.op not in ("placeholder", "output")}
                if not inside & taken:
                    taken |= inside
                    kept.append(match)
            found = kept
        return found

    def _placed(self, wanted: list[list[Node]], nodes_map: dict[Node, Any]) -> Iterator[dict[Node, Any]]:
        """Every way to put the anchors from the len(wanted)-th last on."""
        if not wanted:
            yield nodes_map
            return
        anchor = self.pattern_anchors[-len(wanted)]
        for node in wanted[0]:
            tried = dict(nodes_map)
            if self._nodes_match(anchor, node, tried):
                yield from self._placed(wanted[1:], tried)

    def _told(self, nodes_map: dict[Node, Any]) -> InternalMatch:
        return InternalMatch(
            anchors=list(self.pattern_anchors),
            nodes_map=nodes_map,
            placeholder_nodes=[nodes_map[p] for p in self.pattern_placeholder_nodes if p in nodes_map],
            returning_nodes=[nodes_map[p] for p in self.pattern_returning_nodes],
        )

    def _is_closed(self, nodes_map: dict[Node, Any]) -> bool:
        """Whether what is not returned is used inside alone."""
        inside = {v: p for p, v in nodes_map.items() if p.op != "placeholder"}
        return all(p in self.pattern_returning_nodes or all(u in inside for u in v.users) for v, p in inside.items())

    def _may_be(self, wanted: Node, node: Node) -> bool:
        if wanted.op == "placeholder" and not self.match_placeholder:
            return True
        if wanted.op != node.op:
            return False
        if wanted.op == "get_attr":
            return type(_attribute(wanted)) is type(_attribute(node))
        return wanted.op in ("placeholder", "output") or wanted.target == node.target

    def _nodes_match(self, wanted: Node, node: Node, nodes_map: dict[Node, Any]) -> bool:
        if wanted in nodes_map:
            return nodes_map[wanted] is node
        if any(v is node and p.op != "placeholder" and wanted.op != "placeholder" for p, v in nodes_map.items()):
            return False
        if not self._may_be(wanted, node):
            return False
        before = dict(nodes_map)
        nodes_map[wanted] = node
        if wanted.op == "placeholder" or self._values_match(_arguments(wanted), _arguments(node), nodes_map):
            return True
        nodes_map.clear()
        nodes_map.update(before)
        return False

    def _values_match(self, wanted: Any, value: Any, nodes_map: dict[Node, Any]) -> bool:
        if isinstance(wanted, Node):
            if isinstance(value, Node):
                return self._nodes_match(wanted, value, nodes_map)
            if wanted.op != "placeholder":
                return False
            if wanted in nodes_map:
                known = nodes_map[wanted]
                return type(known) is type(value) and known == value
            nodes_map[wanted] = value
            return True
        if isinstance(value, Node):
            return False
        if isinstance(wanted, (list, tuple)) and isinstance(value, (list, tuple)):
            return len(wanted) == len(value) and all(self._values_match(a, b, nodes_map) for a, b in zip(wanted, value))
        if isinstance(wanted, dict) and isinstance(value, dict):
            return wanted.keys() == value.keys() and all(self._values_match(v, value[k], nodes_map) for k, v in wanted.items())
        return self.ignore_literals or (type(wanted) is type(value) and wanted == value)


def _arguments(node: Node) -> Any:
    """All arguments of a node; those of ops in the order of their schema, with the defaults."""
    if node.op == "call_function" and is_op(node.target):
        params = node.target.schema.params
        given = dict(zip((p.name for p in params), node.args)) | dict(node.kwargs)
        return [given.get(p.name, p.default) for p in params] + list(itertools.islice(node.args, len(params), None))
    return [list(node.args), dict(node.kwargs)]


def _attribute(node: Node) -> Any:
    """What a get_attr node gives; of tensors any stands for another."""
    value = node.graph.owning_module
    for name in str(node.target).split("."):
        value = getattr(value, name)
    if not isinstance(value, Tensor):
        raise RuntimeError(f"Unsupported type {value} when matching attributes")
    return value
