"""Symbols of sizes under PyTorch's names."""

from aten.errors import ConstraintViolationError
from aten.symbolic.shape_env import DataDependentError as GuardOnDataDependentSymNode
from aten.symbolic.shape_env import ShapeEnv
from aten.symbolic.symint import SymBool, SymFloat, SymInt, is_symbolic

__all__ = ["ConstraintViolationError", "GuardOnDataDependentSymNode", "ShapeEnv", "SymBool", "SymFloat", "SymInt", "is_symbolic"]
