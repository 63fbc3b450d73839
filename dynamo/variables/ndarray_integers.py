"""NumPy's int64 numbers that were seen to change: symbols, as Python's ints are."""

from __future__ import annotations

import _operator as operator
from typing import Any

import numpy as np

import aten
from aten.op import registry
from aten.symbolic import nodes
from aten.symbolic.symint import SymInt
from dynamo import outcome
from dynamo.operators import ROWS
from dynamo.source import Converted, Object
from dynamo.variables.base import Variable, method
from dynamo.variables.constant import ConstantVariable
from dynamo.variables.ndarray import ArrayVariable
from dynamo.variables.ndarray_outside import constant
from dynamo.variables.raising import run_python
from dynamo.variables.symint import SymbolicVariable, combined, is_large
from dynamo.variables.track import kind

# Of two integers an int64, unless it overflows; divisions by 0 are left to NumPy.
KEPT = frozenset({operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod})
DIVISIONS = frozenset({operator.floordiv, operator.mod})
COMPARISONS = frozenset({operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge})
# With a number that is no integer, and divided by one, it is a float, which the graph computes.
COMPUTED = frozenset({operator.add, operator.sub, operator.mul, operator.truediv})
FLOATING = frozenset({int, float, np.float64, np.float32})
OF_ALL = frozenset({"dtype", "ndim", "shape", "size", "itemsize", "nbytes", "strides", "imag", "denominator"})  # the same for each
MOST = 2**31  # a symbol lies within, so that what a few operations make of it fits into 64 bits


class NumpyIntegerVariable(SymbolicVariable):
    """A SymInt that the program sees as an int64."""

    __slots__ = ()

    def python_type(self):
        return np.int64

    def specialize(self) -> Any:
        return np.int64(int(self.value))

    def binary(self, frame, op, other):
        return self._with(frame, ROWS[op].function, self, other, other)

    def reflected(self, frame, op, other):
        return self._with(frame, op, other, self, other)

    def _with(self, frame, op, a: Variable, b: Variable, other: Variable) -> Variable | None:
        constant = isinstance(other, ConstantVariable) and isinstance(other.value, (bool, int, float, complex, np.generic))
        if not (constant or isinstance(other, SymbolicVariable)):
            return None
        if other.python_type() not in (int, np.int64):
            pass
        elif op in COMPARISONS or (op in KEPT and not (op in DIVISIONS and bool(plain(b).value == 0))):  # type: ignore[attr-defined]
            result = combined(frame, op, plain(a), plain(b))
            value = result.value  # type: ignore[attr-defined]
            if op in COMPARISONS:
                return ConstantVariable(np.bool_(bool(value)))
            if isinstance(value, SymInt) and not is_large(value):
                return NumpyIntegerVariable(value)
        number = other.value if isinstance(other, ConstantVariable) else None
        if op in COMPUTED and type(number) in FLOATING and (op is operator.truediv or type(number) is not int):
            if a is not self and op is not operator.truediv:  # (a divisor that changes may be 0, of which NumPy warns)
                return _in_the_graph(frame, self).reflected(frame, op, a)
            if a is self and (number or op is not operator.truediv):
                return _in_the_graph(frame, self).binary(frame, op, b)
        return ConstantVariable(run_python(frame, op, a.as_python(), b.as_python()))

    def unary(self, frame, op):
        if op is operator.neg:
            return NumpyIntegerVariable(-self.value)
        return self.constant().unary(frame, op)

    def getattr(self, frame, name):
        if name in ("real", "numerator"):
            return self
        if name in OF_ALL:
            return frame.world.known(getattr(np.int64(0), name))
        return super().getattr(frame, name)

    @method("__index__", "__int__", "item", "tolist")
    def plain(self, frame):
        return SymbolicVariable(self.value)

    def recipe(self, emit):
        if self.source is not None:
            return emit.load(self.source)
        return outcome.Call(outcome.Const(np.int64), (emit.graph_output(self.value),))


def _in_the_graph(frame: Any, value: Variable) -> ArrayVariable:
    """The number as one that the graph has."""
    dtype = {"dtype": ConstantVariable(aten.int64)}
    number = frame.output.record(frame, registry["full"], [frame.values.list_([]), plain(value)], dtype)
    return ArrayVariable(number, scalar=True)


def plain(value: Variable) -> Variable:
    """The number as one of Python's."""
    if isinstance(value, NumpyIntegerVariable):
        return SymbolicVariable(value.value)
    return ConstantVariable(int(value.value)) if isinstance(value, ConstantVariable) else value


@kind(np.int64)
def _integer(frame, value, source):
    number = int(value)
    if isinstance(source.root, Object) or abs(number) >= MOST:
        return constant(frame, value, source)
    found = frame.output.symbolic_number(Converted(source, operator.index), number)
    if found is None:
        return constant(frame, value, source)
    frame.output.guard_type(source, np.int64)
    env, symbol = frame.output.shape_env, found.value.expr
    env.guard(nodes.and_(nodes.le(-MOST, symbol), nodes.le(symbol, MOST)))
    return NumpyIntegerVariable(found.value, source)
