"""What the values of a graph look like, found by running it."""

from __future__ import annotations

from typing import Any, NamedTuple

from aten import pytree
from aten._native import Tensor
from aten.fx.interpreter import Interpreter
from aten.fx.node import Node
from aten.layout import contiguous_format


class TensorMetadata(NamedTuple):
    """What is written down of a tensor."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: Tensor, include_contiguity: bool = True) -> TensorMetadata:
    layout = contiguous_format if include_contiguity and result.is_contiguous() else None
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, result.stride(), layout, False, {})


class ShapeProp(Interpreter):
    """Runs a graph and writes into each node's meta: "tensor_meta" for the tensors of its value, "type" for its class."""

    def run_node(self, n: Node) -> Any:
        result = super().run_node(n)
        leaves, _ = pytree.flatten(result)
        if any(isinstance(leaf, Tensor) for leaf in leaves):
            n.meta["tensor_meta"] = pytree.map_leaves(lambda x: _extract_tensor_metadata(x) if isinstance(x, Tensor) else x, result)
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """What the graph gives for these inputs."""
        return super().run(*args)


__all__ = ["ShapeProp", "TensorMetadata"]
