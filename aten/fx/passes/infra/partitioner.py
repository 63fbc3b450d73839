"""Graphs cut into what a backend can run, in as few parts as can be."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence

from aten.fx.graph_module import GraphModule
from aten.fx.node import Node
from aten.fx.passes.operator_support import OperatorSupportBase
from aten.fx.passes.tools_common import get_node_target
from aten.fx.passes.utils.fuser_utils import fuse_by_partitions


class Partition:
    """Nodes that run at once."""

    def __init__(self, id: int | None = None, nodes: Iterable[Node] = ()):
        self.id = id
        self.nodes: dict[Node, None] = dict.fromkeys(nodes)

    def add_node(self, node: Node) -> None:
        self.nodes[node] = None

    def remove_node(self, node: Node) -> None:
        del self.nodes[node]

    def size(self) -> int:
        return len(self.nodes)

    def __repr__(self) -> str:
        return str(self.nodes)


class CapabilityBasedPartitioner:
    """Puts the nodes that `operator_support` can run into partitions, none of which needs a result that needs one of its own.

    Partitions of one node, and of nothing but `non_compute_ops`, are left out, unless allows_single_node_partition (or the
    node's target is among allowed_single_node_partition_ops).
    """

    def __init__(
        self,
        graph_module: GraphModule,
        operator_support: OperatorSupportBase,
        allows_single_node_partition: bool = False,
        non_compute_ops: Sequence[str] | None = None,
        allowed_single_node_partition_ops: Sequence[str] | None = None,
    ):
        self.graph_module = graph_module
        self.operator_support = operator_support
        self.allows_single_node_partition = allows_single_node_partition
        self.non_compute_ops = non_compute_ops or []
        self.allowed_single_node_partition_ops = allowed_single_node_partition_ops or []

    def propose_partitions(self) -> list[Partition]:
        """The partitions, those that come last in the graph first."""
        modules = dict(self.graph_module.named_modules())
        nodes = list(self.graph_module.graph.nodes)
        place = {n: i for i, n in enumerate(nodes)}
        after = _followers(nodes)
        parts: dict[int, Partition] = {}
        part_of: dict[Node, int] = {}
        for node in reversed(nodes):
            if not self.operator_support.is_node_supported(modules, node) or node.op in ("placeholder", "output"):
                continue
            own = place[node]
            parts[own], part_of[node] = Partition(own, [node]), own
            for other in sorted({part_of[user] for user in node.users if user in part_of} | self._neighbours(node, part_of)):
                if other != part_of[node]:
                    self._join(parts, part_of, part_of[node], other, after)
        for part in list(parts.values()):
            part.nodes = dict.fromkeys(sorted(part.nodes, key=place.__getitem__))
        for node in nodes:  # parts of a tuple go with what makes it
            if node.op == "call_function" and node.target is operator.getitem and node.args[0] in part_of:
                home = part_of[node.args[0]]
                if part_of.get(node) != home:
                    if node in part_of:
                        parts[part_of[node]].remove_node(node)
                    parts[home].add_node(node)
                    part_of[node] = home
        found = [part for part in parts.values() if part.size() and self._is_worth(part, modules)]
        return sorted(found, key=lambda part: -(part.id or 0))

    def _neighbours(self, node: Node, part_of: dict[Node, int]) -> set[int]:
        """The partitions of other nodes that take what this one takes."""
        return {part_of[user] for a in node.all_input_nodes for user in a.users if user in part_of}

    def _join(self, parts: dict[int, Partition], part_of: dict[Node, int], one: int, other: int, after: dict) -> None:
        """Make one partition of two, if no way leads out of it and in again."""
        joined = {*parts[one].nodes, *parts[other].nodes}
        for node in joined:
            for user in node.users:
                if user not in joined and not joined.isdisjoint(after[user]):
                    return
        for node in parts[other].nodes:
            parts[one].add_node(node)
            part_of[node] = one
        del parts[other]

    def _is_worth(self, part: Partition, modules: dict) -> bool:
        if self.allows_single_node_partition:
            return True
        kept = {"_operator.getitem", *self.non_compute_ops}
        names = [get_node_target(modules, n) for n in part.nodes if n.op != "get_attr"]
        counted = [name for name in names if name not in kept]
        return len(counted) > 1 or any(name in self.allowed_single_node_partition_ops for name in counted)

    def fuse_partitions(self, partitions: list[Partition], prefix: str = "fused_") -> GraphModule:
        """The module with each partition in a module of its own, which is called in its place."""
        return fuse_by_partitions(self.graph_module, [part.nodes for part in partitions], prefix)

    def remove_bookkeeping_ops(self, partitions: list[Partition]) -> list[Partition]:
        """Take `non_compute_ops` out of partitions where nothing in there needs them, or gives what they take."""
        modules = dict(self.graph_module.named_modules())
        for part in partitions:
            changed = True
            while changed:
                idle = [
                    n for n in part.nodes
                    if n.op != "get_attr" and get_node_target(modules, n) in self.non_compute_ops
                    and (not any(a in part.nodes for a in n.all_input_nodes) or not any(u in part.nodes for u in n.users))
                ]  # fmt: skip
                changed = bool(idle)
                for node in idle:
                    part.remove_node(node)
        return partitions

    def partition_and_fuse(self, prefix: str = "fused_") -> GraphModule:
        """Propose partitions and fuse them."""
        return self.fuse_partitions(self.propose_partitions(), prefix)


def _followers(nodes: list[Node]) -> dict[Node, set[Node]]:
    """For each node those that need it, itself included."""
    found: dict[Node, set[Node]] = {}
    for node in reversed(nodes):
        found[node] = {node}.union(*[found[user] for user in node.users])
    return found


__all__ = ["CapabilityBasedPartitioner", "Partition"]
