"""A number of the CPU among the operands of a device's op is copied there first: kernels see memory of one device."""

from __future__ import annotations

from typing import Any

from aten.fx.graph import Graph
from aten.fx.node import Node
from aten.meta import Meta
from aten.op import registry


def on_one_device(graph: Graph) -> None:
    """Put a `to_device` before every op of a device that reads a 0-d tensor of the CPU."""
    moved: dict[tuple[Node, str], Node] = {}
    for node in list(graph.nodes):
        if node.op != "call_function" or getattr(node.target, "name", "to_device") == "to_device":
            continue
        device = _device(node.meta.get("val"))
        if device is None or device.type == "cpu":
            continue
        for operand in list(node.all_input_nodes):
            val = operand.meta.get("val")
            if not hasattr(val, "device") or val.device.type != "cpu" or len(val.sizes):
                continue
            key = (operand, str(device))
            if key not in moved:
                there = Meta(val.dtype, device, val.sizes, val.strides)
                with graph.inserting_before(node):
                    moved[key] = graph.create_node("call_function", registry["to_device"], (operand, device), {}, val=there)
            node.replace_input_with(operand, moved[key])


def _device(val: Any) -> Any:
    if isinstance(val, (tuple, list)):
        return next((d for d in map(_device, val) if d is not None), None)
    return getattr(val, "device", None)
