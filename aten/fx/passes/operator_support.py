"""Which nodes a backend can run: answers that can be put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from aten.fx.node import Node
from aten.fx.passes.tools_common import CALLABLE_NODE_OPS, get_node_target, tensors_of

IsNodeSupported = Callable[[Mapping[str, Any], Node], bool]


class OperatorSupportBase:
    """Answers `is_node_supported(submodules, node)`."""

    def is_node_supported(self, submodules: Mapping[str, Any], node: Node) -> bool:
        """Whether the node can be run; submodules: the modules of its GraphModule by path."""
        raise NotImplementedError


class OperatorSupport(OperatorSupportBase):
    """Nodes by what they call: {text of get_node_target: None, or ((dtypes of each argument …), {name: dtypes})}."""

    def __init__(self, support_dict: Mapping[str, Any] | None = None):
        self._support_dict = support_dict or {}

    def is_node_supported(self, submodules: Mapping[str, Any], node: Node) -> bool:
        if node.op not in CALLABLE_NODE_OPS:
            return True
        target = get_node_target(submodules, node)
        if target not in self._support_dict:
            return False
        asked = self._support_dict[target]
        if asked is None:
            return True
        by_place, by_name = asked
        pairs = [
            *zip(node.args, by_place),
            *((node.kwargs[name], dtypes) for name, dtypes in by_name.items() if name in node.kwargs),
        ]
        return all(_dtype(a) in dtypes for a, dtypes in pairs if isinstance(a, Node))


def _dtype(node: Node) -> Any:
    found = tensors_of(node)
    return found[0].dtype if found else None


class _Function(OperatorSupportBase):
    def __init__(self, function: IsNodeSupported):
        self.is_node_supported = function  # type: ignore[method-assign]


def create_op_support(is_node_supported: IsNodeSupported) -> OperatorSupportBase:
    """A function's answers."""
    return _Function(is_node_supported)


def chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Nodes that all of these can run."""
    return _Function(lambda submodules, node: all(s.is_node_supported(submodules, node) for s in op_support))


def any_chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Nodes that any of these can run."""
    return _Function(lambda submodules, node: any(s.is_node_supported(submodules, node) for s in op_support))


class OpSupports:
    """Answers that are often wanted."""

    @classmethod
    def decline_if_input_dtype(cls, dtype: Any) -> OperatorSupportBase:
        """All but nodes that take a tensor of this dtype."""
        return _Function(lambda _, node: not any(t.dtype is dtype for a in node.all_input_nodes for t in tensors_of(a)))

    @classmethod
    def decline_if_node_in_names(cls, disallow_set: set[str]) -> OperatorSupportBase:
        """All but the nodes of these names."""
        return _Function(lambda _, node: node.name not in disallow_set)


__all__ = ["OpSupports", "OperatorSupport", "OperatorSupportBase", "any_chain", "chain", "create_op_support"]
