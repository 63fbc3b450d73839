"""ONNX export, which weft does not have: programs may ask, and are told."""

from __future__ import annotations

from typing import Any

__all__ = ["export", "is_in_onnx_export", "is_onnxrt_backend_supported", "register_custom_op_symbolic"]


def is_in_onnx_export() -> bool:
    """False: nothing is ever exported."""
    return False


def is_onnxrt_backend_supported() -> bool:
    """False."""
    return False


def export(*args: Any, **kwargs: Any) -> Any:
    """Raises RuntimeError."""
    raise RuntimeError(
        "weft does not export to ONNX: save the state_dict with weft.save, load it in PyTorch, and export there"
    )


dynamo_export = export


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Any, opset_version: int, custom_opsets: Any = None) -> None:
    """Nothing: there is no export that would ask for the op."""
