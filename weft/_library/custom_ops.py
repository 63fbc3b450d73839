"""Custom ops."""

from aten.library import CustomOp as CustomOpDef
from aten.library import custom_op

__all__ = ["CustomOpDef", "custom_op"]
