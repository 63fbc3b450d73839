"""Sizes and numbers that are symbols while tracing: SymInt, SymFloat and SymBool of aten.symbolic."""

from __future__ import annotations

import operator
from typing import Any

from dynamo.variables.base import Variable
from dynamo.variables.constant import ConstantVariable, literal
from dynamo.variables.exception import run_python

OPERATORS = {
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
    operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.imod, operator.ipow,
    operator.and_, operator.or_, operator.iand, operator.ior,
}  # fmt: skip
UNREAL = {
    operator.iadd: operator.add, operator.isub: operator.sub, operator.imul: operator.mul, operator.ipow: operator.pow,
    operator.itruediv: operator.truediv, operator.ifloordiv: operator.floordiv, operator.imod: operator.mod,
    operator.iand: operator.and_, operator.ior: operator.or_,
}  # fmt: skip


class SymbolicVariable(Variable):
    """A SymInt, SymFloat or SymBool. Asking for its Python value guards on it (`specialize`)."""

    __slots__ = ("value",)

    def __init__(self, value: Any, source=None):
        super().__init__(source)
        self.value = value

    def python_type(self):
        from aten.symbolic.symint import SymBool, SymFloat

        return float if isinstance(self.value, SymFloat) else bool if isinstance(self.value, SymBool) else int

    def describe(self):
        return f"the symbolic {self.python_type().__name__} {self.value}"

    def as_arg(self):
        return self.value

    def as_meta(self):
        return self.value

    def is_constant(self):
        return False

    def as_python(self):
        return self.specialize()

    def specialize(self) -> Any:
        """The value in this call; guarded."""
        return self.python_type()(self.value)

    def truth(self, frame):
        return bool(self.value)

    def binary(self, frame, op, other):
        if op not in OPERATORS:
            if isinstance(other, ConstantVariable):
                return literal(frame, run_python(frame, op, self.specialize(), other.value))
            return None
        if isinstance(other, SymbolicVariable):
            return symbolic(frame, run_python(frame, UNREAL.get(op, op), self.value, other.value))
        if isinstance(other, ConstantVariable) and isinstance(other.value, (int, float)):
            return symbolic(frame, run_python(frame, UNREAL.get(op, op), self.value, other.value))
        if isinstance(other, ConstantVariable) and op in (operator.eq, operator.ne):
            return literal(frame, op is operator.ne)
        return None

    def reflected(self, frame, op, other):
        if isinstance(other, ConstantVariable) and isinstance(other.value, (int, float)):
            if op not in OPERATORS:
                return literal(frame, run_python(frame, op, other.value, self.specialize()))
            return symbolic(frame, run_python(frame, UNREAL.get(op, op), other.value, self.value))
        if isinstance(other, ConstantVariable) and op in (operator.eq, operator.ne):
            return literal(frame, op is operator.ne)
        return None

    def unary(self, frame, op):
        if op is operator.invert:
            return literal(frame, ~self.specialize())
        return symbolic(frame, run_python(frame, op, self.value))

    def getattr(self, frame, name):
        from dynamo.variables.function import BoundMethod

        if name in ("real", "numerator"):
            return self
        if name in ("imag", "denominator"):
            return ConstantVariable(0 if name == "imag" else 1)
        if not hasattr(self.python_type(), name):
            from dynamo.variables.exception import raise_exception

            raise raise_exception(
                frame, AttributeError, f"'{self.python_type().__name__}' object has no attribute '{name}'"
            )
        return BoundMethod(self, name)

    def method(self, frame, name, args, kwargs):
        if name == "is_integer" and self.python_type() is int:
            return ConstantVariable(True)
        return ConstantVariable(self.specialize()).method(frame, name, args, kwargs)

    def is_same(self, other):
        return self is other

    def hash_key(self):
        return self.specialize()

    def recipe(self, emit):
        return emit.graph_output(self.value)


def symbolic(frame, value: Any) -> Variable:
    """SymbolicVariable, or ConstantVariable when the value is an ordinary number."""
    if isinstance(value, (int, float, bool)):
        return ConstantVariable(value)
    return SymbolicVariable(value)
