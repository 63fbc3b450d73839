"""NumPy arrays while tracing: each is a tensor of the graph, over the array's memory, with NumPy's rules of dtypes.

Result dtypes are asked of NumPy at capture and become explicit casts, so that below capture there is one semantics.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from aten import _native
from aten.dtype import dtype_from_numpy
from aten.op import registry
from dynamo import graph_break, guards, outcome
from dynamo.graph_break import NotConstant, Unsupported
from dynamo.source import Converted
from dynamo.variables.base import Variable
from dynamo.variables.constant import ConstantVariable, literal
from dynamo.variables.sequence import SliceVariable, TupleVariable
from dynamo.variables.symint import SymbolicVariable, symbolic
from dynamo.variables.tensor import TensorVariable
from dynamo.variables.track import kind, unknown

SUPPORTED = frozenset("?bBhHiIlLqQefd")  # dtype.char of what tensors hold


def tensor_of(array: np.ndarray) -> Any:
    """A tensor over the memory of `array`. Raises for what tensors cannot hold."""
    if type(array) is not np.ndarray or array.dtype.char not in SUPPORTED or not array.dtype.isnative:
        raise TypeError("not an array that tensors can hold")
    return _native.from_numpy(array)


def scalar_of(tensor: Any) -> np.generic:
    """The NumPy scalar that a 0-d result is."""
    return tensor.numpy(force=True)[()]


def array_of(tensor: Any) -> np.ndarray:
    """The array over the memory of `tensor`."""
    return tensor.numpy(force=True)


class ArrayVariable(Variable):
    """An ndarray, or with `scalar` a NumPy scalar (what reductions and indexing give)."""

    __slots__ = ("tensor", "scalar")

    def __init__(self, tensor: TensorVariable, scalar: bool = False, source=None):
        super().__init__(source)
        self.tensor = tensor
        self.scalar = scalar

    def __repr__(self):
        return f"ArrayVariable({self.tensor})"

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self.tensor.meta.dtype.to_numpy())

    @property
    def ndim(self) -> int:
        return len(self.tensor.meta.sizes)

    def python_type(self):
        return self.dtype.type if self.scalar else np.ndarray

    def describe(self):
        return f"an array of sizes [{', '.join(map(str, self.tensor.meta.sizes))}]"

    def is_constant(self):
        return False

    def is_same(self, other):
        return self is other

    # -------------------------------------------------------------------------------------- operations
    def getattr(self, frame, name):
        from dynamo.variables.function import BoundMethod
        from dynamo.variables.ndarray_table import METHODS

        rule = ATTRIBUTES.get(name)
        if rule is not None:
            return rule(self, frame)
        if name in METHODS:
            return BoundMethod(self, name)
        raise Unsupported(graph_break.ARRAY_FUNCTION, f"ndarray.{name}")

    def method(self, frame, name, args, kwargs):
        from dynamo.variables.ndarray_table import METHODS

        rule = METHODS.get(name)
        if rule is None:
            raise Unsupported(graph_break.ARRAY_FUNCTION, f"ndarray.{name}()")
        return call_row(frame, rule, f"ndarray.{name}", [self, *args], kwargs)

    def setattr(self, frame, name, value):
        raise Unsupported(graph_break.ARRAY_FUNCTION, f"setting ndarray.{name}")

    def truth(self, frame):
        raise Unsupported(graph_break.BRANCH_ON_TENSOR)

    def length(self, frame):
        return self.tensor.length(frame)

    def iterate(self, frame):
        from dynamo.variables.iterator import ItemsIterator

        return ItemsIterator(self.unpack(frame))

    def unpack(self, frame):
        return [wrap_array(t, scalar=self.ndim == 1) for t in self.tensor.unpack(frame)]

    def getitem(self, frame, key):
        index = as_index(frame, key)
        parts = index.items if isinstance(index, TupleVariable) else [index]
        whole = sum(isinstance(p, (ConstantVariable, SymbolicVariable)) and is_integer(p) for p in parts)
        scalar = whole == self.ndim == len(parts)
        return wrap_array(self.tensor.getitem(frame, index), scalar)

    def setitem(self, frame, key, value):
        if isinstance(value, ArrayVariable):
            value = cast(frame, value, self.dtype).tensor
        elif isinstance(value, ConstantVariable) and isinstance(value.value, np.generic):
            value = ConstantVariable(value.value.item())
        self.tensor.setitem(frame, as_index(frame, key), value)

    def binary(self, frame, op, other):
        from dynamo.variables.ndarray_table import OPERATORS, ufunc_call

        ufunc = OPERATORS.get(op)
        if ufunc is None or not is_operand(other):
            return None
        result = ufunc_call(frame, ufunc, [self, other])
        if op.__name__.startswith("i") and op in IN_PLACE:
            return write_into(frame, self, result)
        return result

    def reflected(self, frame, op, other):
        from dynamo.variables.ndarray_table import OPERATORS, ufunc_call

        if op not in OPERATORS or not is_operand(other):
            return None
        return ufunc_call(frame, OPERATORS[op], [other, self])

    def unary(self, frame, op):
        from dynamo.variables.ndarray_table import ufunc_call

        ufuncs = {
            operator.neg: np.negative,
            operator.pos: np.positive,
            operator.invert: np.invert,
            operator.abs: np.abs,
        }
        return ufunc_call(frame, ufuncs[op], [self])

    def recipe(self, emit):
        if self.source is not None:
            return emit.load(self.source)
        make = scalar_of if self.scalar else array_of
        return emit.shared(self, lambda: outcome.Call(outcome.Const(make), (emit.value(self.tensor),)))


IN_PLACE = frozenset(
    {operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.imod, operator.ipow,
     operator.iand, operator.ior, operator.ixor, operator.imatmul}
)  # fmt: skip


def write_into(frame, target: ArrayVariable, result: ArrayVariable) -> ArrayVariable:
    """target[...] = result, as in-place operators do; a cast that could lose values is an error in NumPy."""
    if not np.can_cast(result.dtype, target.dtype, "same_kind"):
        from dynamo.variables.exception import raise_exception

        text = f"Cannot cast ufunc output from {result.dtype!r} to {target.dtype!r} with casting rule 'same_kind'"
        raise raise_exception(frame, np._core._exceptions._UFuncOutputCastingError, text)  # type: ignore[attr-defined]
    if target.scalar:
        return result
    frame.output.record(frame, registry["copy_"], [target.tensor, cast(frame, result, target.dtype).tensor], {})
    return target


def wrap_array(tensor: Variable, scalar: bool = False) -> ArrayVariable:
    assert isinstance(tensor, TensorVariable)
    return ArrayVariable(tensor, scalar)


def cast(frame, value: ArrayVariable, dtype: np.dtype) -> ArrayVariable:
    """value.astype(dtype), nothing if it has it."""
    if value.dtype == dtype:
        return value
    to = literal(frame, dtype_from_numpy(dtype))
    return ArrayVariable(frame.output.record(frame, registry["cast"], [value.tensor, to], {}), value.scalar)


def is_integer(value: Variable) -> bool:
    return issubclass(value.python_type(), (int, np.integer)) and not issubclass(value.python_type(), (bool, np.bool_))


def is_operand(value: Variable) -> bool:
    if isinstance(value, (ArrayVariable, SymbolicVariable)):
        return True
    return isinstance(value, ConstantVariable) and isinstance(value.value, (bool, int, float, np.generic))


def as_index(frame, key: Variable) -> Variable:
    """An index with arrays and NumPy integers as the tensor's index takes them."""
    if isinstance(key, TupleVariable):
        return TupleVariable([as_index(frame, k) for k in key.unpack(frame)])
    if isinstance(key, ArrayVariable):
        return key.tensor
    if isinstance(key, ConstantVariable) and isinstance(key.value, np.integer):
        return ConstantVariable(int(key.value))
    if isinstance(key, SliceVariable):
        return SliceVariable([as_index(frame, p) for p in key.parts])
    return key


def call_row(frame, rule, name: str, args: list, kwargs: dict) -> Variable:
    """rule(frame, *args, **kwargs); arguments that it does not know break the graph."""
    try:
        return rule(frame, *args, **kwargs)
    except TypeError as e:
        if e.__traceback__ is not None and e.__traceback__.tb_next is None:
            raise Unsupported(graph_break.ARRAY_FUNCTION, f"{name} with these arguments") from e
        raise
    except NotConstant as e:
        raise Unsupported(graph_break.ARRAY_FUNCTION, f"{name} of {e.args[0].describe()}") from None


def _transposed(self, frame):
    dims = TupleVariable([ConstantVariable(d) for d in reversed(range(self.ndim))])
    return wrap_array(self.tensor.op(frame, "permute", self.tensor, dims))


ATTRIBUTES = {
    "shape": lambda self, frame: TupleVariable([symbolic(frame, s) for s in self.tensor.meta.sizes]),
    "ndim": lambda self, frame: ConstantVariable(self.ndim),
    "dtype": lambda self, frame: literal(frame, self.dtype),
    "size": lambda self, frame: symbolic(frame, self.tensor.meta.numel()),
    "itemsize": lambda self, frame: ConstantVariable(self.dtype.itemsize),
    "T": _transposed,
    "real": lambda self, frame: self,
    "__class__": lambda self, frame: literal(frame, self.python_type()),
    "__array_priority__": lambda self, frame: ConstantVariable(0.0),
}


# -------------------------------------------------------------------------------------------- type table
@kind(np.ndarray)
def _array(frame, value, source):
    """An array from outside: a tensor over its memory is the input of the graph."""
    try:
        tensor = tensor_of(value)
    except (TypeError, RuntimeError, ValueError) as e:
        return unknown(frame, value, source, str(e))
    from dynamo.variables.aten_kinds import tensor as wrap_tensor

    frame.output.guard(guards.TypeIs(source, np.ndarray))
    inner = wrap_tensor(frame, tensor, Converted(source, _native.from_numpy))
    frame.output.alive.append(tensor)
    return ArrayVariable(inner, source=source)


def _constant(frame, value, source):
    from dynamo.source import Object

    if not isinstance(source, Object):
        frame.output.guard_constant(source, value)
    return ConstantVariable(value, source)


kind(np.generic, subclasses=True)(_constant)
kind(np.dtype, subclasses=True)(_constant)
