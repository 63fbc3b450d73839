"""Sizes and numbers that are symbols while tracing: SymInt, SymFloat and SymBool of aten.symbolic."""

from __future__ import annotations

import _operator as operator
from typing import Any

from aten.symbolic.symint import SymBool, SymFloat, SymInt
from dynamo import promises
from dynamo.breaks import NotConstant, Raised
from dynamo.operators import ROWS
from dynamo.variables.base import Variable, attribute
from dynamo.variables.constant import NUMBERS, ConstantVariable, literal
from dynamo.variables.exception import run_python

NUMERIC = frozenset(
    {operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
     operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge}
)  # fmt: skip
LOGICAL = frozenset({operator.and_, operator.or_})  # of SymBools
DIVISIONS = frozenset({operator.truediv, operator.floordiv, operator.mod})


class SymbolicVariable(Variable):
    """A SymInt, SymFloat or SymBool. Asking for its Python value guards on it (`specialize`)."""

    __slots__ = ("value",)

    def __init__(self, value: Any, source=None):
        super().__init__(source)
        self.value = value

    def number_type(self) -> type:
        """Which of Python's own numbers it is, or is computed with as."""
        return float if isinstance(self.value, SymFloat) else bool if isinstance(self.value, SymBool) else int

    def python_type(self):
        return self.number_type()

    def describe(self):
        return f"the symbolic {self.python_type().__name__} {self.value}"

    def as_arg(self):
        """Of a truth value ops ask what it is (an index, a flag, a dtype): it is that of this call, where it is known."""
        known = isinstance(self.value, SymBool) and self.value.hint is not None
        return self.specialize() if known else self.value

    def as_meta(self):
        return self.as_arg()

    def is_constant(self):
        return False

    def example(self):
        return self.python_type()(1)

    def as_python(self):
        return self.specialize()

    def specialize(self) -> Any:
        """The value in this call; guarded."""
        return self.python_type()(self.value)

    def constant(self) -> ConstantVariable:
        return ConstantVariable(self.specialize())

    def truth(self, frame):
        return bool(self.value)

    # --------------------------------------------------------------------------------------- operators
    def binary(self, frame, op, other):
        number = number_known(self, other)
        return None if number is None else combined_with(frame, ROWS[op].function, self, number, hides=number is not other)

    def reflected(self, frame, op, other):
        number = number_known(self, other)
        return None if number is None else combined_with(frame, op, number, self, hides=number is not other)

    def of_constant(self, frame, op, constant: ConstantVariable, reflected: bool) -> Variable | None:
        """op(constant, self), or the reflected one, as the operators of the constant answer."""
        if not is_number(constant) or number_known(constant, self) is None:
            return None
        plainly, hides = ConstantVariable(constant.value), hasattr(constant, "owner")
        return combined_with(frame, op, *((self, plainly) if reflected else (plainly, self)), hides=hides)

    def unary(self, frame, op):
        if op is operator.invert or self.python_type() is bool:
            return literal(frame, run_python(frame, op, self.specialize()))
        if op is operator.abs and self.python_type() is float and not bool(self.value != 0):  # -0.0 has a sign
            return literal(frame, abs(self.specialize()))
        return symbolic(frame, run_python(frame, op, self.value))

    # ----------------------------------------------------------------------------- attributes, methods
    @attribute("real", "numerator")
    def itself(self, frame):
        if self.python_type() is not int:
            return self.constant().getattr(frame, "real")
        return self

    @attribute("imag")
    def imaginary(self, frame):
        return ConstantVariable(0.0 if self.python_type() is float else 0)

    @attribute("denominator")
    def one(self, frame):
        if self.python_type() is float:
            return self.constant().getattr(frame, "denominator")
        return ConstantVariable(1)

    def method(self, frame, name, args, kwargs):
        if name in self.rules:
            return super().method(frame, name, args, kwargs)
        return self.constant().method(frame, name, args, kwargs)

    def getitem(self, frame, key):
        return self.constant().getitem(frame, key)

    def is_same(self, other):
        if self is other or not is_number(other) or other.python_type() is not self.python_type():
            return self is other
        mine, its = self.specialize(), other.as_python()
        if mine == its and not (type(mine) is int and -5 <= mine <= 256):  # (which are one object each)
            raise NotConstant(self)
        return mine == its

    def hash_key(self):
        return self.specialize()

    def recipe(self, emit):
        return emit.graph_output(self.value)


def is_number(value: Variable) -> bool:
    """Whether a symbolic number knows the value: Python's own numbers."""
    if isinstance(value, SymbolicVariable):
        return True
    return isinstance(value, ConstantVariable) and type(value.value) in NUMBERS


KNOWN = {bool: (int,), int: (int,), float: (int, float), complex: (int, float, complex)}  # to the operators of C of each


def number_known(asked: Variable, other: Variable) -> Variable | None:
    """The number that another operand is or, as an object of a subclass, begins with; None if operators of the one that is
    asked do not know it."""
    native = getattr(other, "native", other)
    if not is_number(native) or not issubclass(native.python_type(), KNOWN[asked.python_type()]):
        return None
    return native if native is other else ConstantVariable(native.value)


def combined_with(frame, op, a: Variable, b: Variable, hides: bool) -> Variable | None:
    """`combined`, or None where the operands are refused and one of them hides an object of a subclass: whoever applied the
    operator names that."""
    try:
        return combined(frame, op, a, b)
    except Raised as raised:
        if not hides or not issubclass(raised.value.python_type(), TypeError):
            raise
        return None


def combined(frame, op, a: Variable, b: Variable) -> Variable:
    """op(a, b) of numbers, at least one of them symbolic: symbolic where there is a rule, else the values are read."""
    kinds = {v.python_type() for v in (a, b)}
    left, right = a.value, b.value  # type: ignore[attr-defined]
    if complex not in kinds and not (is_large(left) or is_large(right)) and has_rule(op, kinds, left, right):
        result = run_python(frame, op, left, right)
        if not is_large(result):
            return symbolic(frame, result)
    return literal(frame, run_python(frame, op, a.as_python(), b.as_python()))


def fits(frame, value: Any) -> bool:
    """Whether a symbolic number is finite and, as an int, computed with by graphs; guarded, or checked where data decides it."""
    if not isinstance(value, SymFloat):
        return True
    bounds = [value < 2.0**62, value > -(2.0**62)]
    if frame.output.shape_env.hint(value.expr) is not None:
        return all(map(bool, bounds))
    for bound in bounds:
        promises.expected(frame.output, bound)
    return True


def is_large(value: Any) -> bool:
    """Whether an int is beyond what graphs compute with (64 bits), or only just within."""
    if not isinstance(value, (int, SymInt)):
        return False
    known = value if isinstance(value, int) else value.hint
    return known is not None and abs(known) >= 2**62


def has_rule(op, kinds: set[type], a: Any, b: Any) -> bool:
    """Whether op(a, b) is what the symbolic rule says; guarded where that depends on the values."""
    if op in LOGICAL:
        return kinds == {bool}
    if op in DIVISIONS:
        return bool(b != 0)
    if op is operator.pow:
        natural = type(b) is int and b >= 0
        return natural or bool(a > 0) and (kinds != {int} or type(b) is not int and bool(b >= 0))
    return op in NUMERIC


def symbolic(frame, value: Any) -> Variable:
    """SymbolicVariable, or ConstantVariable when the value is an ordinary number."""
    if isinstance(value, (int, float, bool)):
        return ConstantVariable(value)
    return SymbolicVariable(value)
