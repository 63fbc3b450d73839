"""NumPy's ufuncs on arrays being traced: a row names the op; dtypes come from `ufunc.resolve_dtypes`.

The loop computed is the one that NumPy would run.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from aten.op import registry
from aten.scalar import table as scalar
from dynamo import breaks
from dynamo.breaks import Unsupported
from dynamo.variables.base import Variable
from dynamo.variables.constant import NONE, ConstantVariable, literal, plain
from dynamo.variables.exception import raise_exception, run_python
from dynamo.variables.ndarray import SUPPORTED, ArrayVariable, cast, write_into
from dynamo.variables.ndarray_made import as_array, filled, record
from dynamo.variables.sequence import ListVariable, TupleVariable
from dynamo.variables.symint import SymbolicVariable
from dynamo.variables.tensor import TensorVariable

UFUNCS = {row.numpy: name for name, row in scalar.table.items() if isinstance(row.numpy, np.ufunc)} | {
    np.add: "add", np.subtract: "sub", np.multiply: "mul", np.true_divide: "div", np.power: "pow",
    np.floor_divide: "floor_divide", np.remainder: "remainder", np.fmod: "fmod", np.negative: "neg",
    np.positive: "clone", np.absolute: "abs", np.fabs: "abs", np.sign: "sign", np.square: "square", np.arctan2: "atan2",
    np.floor: "floor", np.ceil: "ceil", np.trunc: "trunc", np.rint: "round", np.hypot: "hypot", np.copysign: "copysign",
    np.nextafter: "nextafter", np.maximum: "maximum", np.minimum: "minimum", np.fmax: "fmax", np.fmin: "fmin",
    np.equal: "eq", np.not_equal: "ne", np.less: "lt", np.less_equal: "le", np.greater: "gt", np.greater_equal: "ge",
    np.logical_and: "logical_and", np.logical_or: "logical_or", np.logical_xor: "logical_xor", np.logical_not: "logical_not",
    np.bitwise_and: "bitwise_and", np.bitwise_or: "bitwise_or", np.bitwise_xor: "bitwise_xor",
    np.invert: "bitwise_not", np.left_shift: "bitwise_left_shift", np.right_shift: "bitwise_right_shift",
    np.isnan: "isnan", np.isinf: "isinf", np.isfinite: "isfinite", np.signbit: "signbit", np.matmul: "matmul",
}  # fmt: skip
COMPARISONS = {np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal}
# Integer loops whose values are not those of the op: NumPy answers a division by zero with 0, we with an error.
OWN_VALUES = {np.floor_divide, np.remainder, np.fmod, np.power, np.reciprocal, np.left_shift, np.right_shift}


def kind_of(value: Variable):
    """What NumPy's promotion takes for an operand: a dtype, or int, float, bool for Python's own numbers."""
    if isinstance(value, ArrayVariable):
        return value.dtype
    if isinstance(value, SymbolicVariable):
        cls = value.python_type()
        return np.dtype(cls) if issubclass(cls, (np.generic, bool)) else cls
    number = value.as_python()
    if isinstance(number, np.generic):
        return number.dtype
    if type(number) in (int, float, complex):
        return type(number)
    return np.asarray(number).dtype  # (a subclass of int is an integer of 64 bits to NumPy)


def resolve(frame, ufunc: np.ufunc, operands: list[Variable]) -> tuple[list[np.dtype], np.dtype]:
    """(dtypes of the loop's inputs, dtype of its result)."""
    kinds = [kind_of(v) for v in operands]
    if not any(isinstance(k, np.dtype) for k in kinds):
        raise Unsupported(breaks.ARRAY_FUNCTION, f"np.{ufunc.__name__} of Python numbers")
    dtypes = run_python(frame, ufunc.resolve_dtypes, (*kinds, *[None] * ufunc.nout))
    if any(d.char not in SUPPORTED for d in dtypes):
        raise Unsupported(breaks.ARRAY_FUNCTION, f"np.{ufunc.__name__} in {dtypes[-1]}")
    return list(dtypes[: ufunc.nin]), dtypes[-1]


def ufunc_call(frame, ufunc: np.ufunc, operands: list[Variable]) -> ArrayVariable:
    """ufunc(*operands)."""
    operands = [v if not isinstance(v, (ListVariable, TupleVariable)) else as_array(frame, v) for v in operands]
    beyond = compare_beyond(frame, ufunc, operands)
    if beyond is not None:
        return beyond
    inputs, result = resolve(frame, ufunc, operands)
    if ufunc in OWN_VALUES and result.kind in "iub":
        check_divisor(ufunc, operands)
    if ufunc is np.power and "?" in [getattr(kind_of(v), "char", "") for v in operands]:
        raise Unsupported(breaks.ARRAY_FUNCTION, "powers of bools, whose dtype the exponent decides")
    args: list[Variable] = []
    for value, wanted in zip(operands, inputs):
        if isinstance(value, ArrayVariable):
            args.append(cast(frame, value, wanted).tensor)
        else:
            args.append(number(frame, value, wanted))
    if len(args) > 1 and "scalars" not in registry[UFUNCS[ufunc]].tags:  # it takes tensors alone
        args = [a if isinstance(a, TensorVariable) else filled(frame, TupleVariable([]), a, w).tensor for a, w in zip(args, inputs)]
    if not any(isinstance(a, TensorVariable) for a in args):
        args[0] = filled(frame, TupleVariable([]), args[0].as_python(), inputs[0]).tensor
    made = frame.output.record(frame, registry[UFUNCS[ufunc]], args, {})
    if ufunc is np.sign and result.kind == "f":  # of NaN it is NaN, for tensors 0
        made = record(frame, "where", record(frame, "isnan", args[0]), args[0], made)
    if ufunc is np.remainder and result.kind == "f":  # a zero, too, has the divisor's sign; for tensors the dividend's
        made = record(frame, "copysign", made, args[1])
    return cast(frame, ArrayVariable(made, scalar=not made.meta.sizes), result)


def compare_beyond(frame, ufunc: np.ufunc, operands: list[Variable]) -> ArrayVariable | None:
    """The comparison of an integer array with a Python integer that its dtype cannot hold: one answer for all items."""
    if ufunc not in COMPARISONS:
        return None
    array, n = operands if isinstance(operands[0], ArrayVariable) else operands[::-1]
    if not (isinstance(array, ArrayVariable) and is_python_integer(n) and array.dtype.kind in "iu"):
        return None
    if fits(n.as_python(), array.dtype):
        return None
    item = np.zeros((), array.dtype)
    answer = bool(ufunc(item, n.as_python()) if operands[0] is array else ufunc(n.as_python(), item))
    return filled(frame, array.getattr(frame, "shape"), answer, np.dtype(bool), not array.ndim)


def is_python_integer(value: Variable) -> bool:
    return issubclass(value.python_type(), int) and value.python_type() is not bool


def is_beyond(value: Variable, dtype: np.dtype) -> bool:
    """Whether the value is a Python integer that an integer dtype cannot hold."""
    if isinstance(value, ArrayVariable) or dtype.kind not in "iu" or not is_python_integer(value):
        return False
    return not fits(value.as_python(), dtype)


def fits(n: int, dtype: np.dtype) -> bool:
    return np.iinfo(dtype).min <= n <= np.iinfo(dtype).max


def number(frame, value: Variable, dtype: np.dtype) -> Variable:
    """A Python or NumPy number as the loop reads it. NumPy refuses integers that the dtype cannot hold."""
    narrow = dtype.kind in "iu" and dtype != np.int64
    if isinstance(value, SymbolicVariable) and not (narrow and is_python_integer(value)):
        return value
    n = value.as_python()
    if isinstance(n, np.generic):
        return ConstantVariable(n.astype(dtype).item() if dtype.kind == "f" else n.item())
    if type(n) is int and not -(2**63) <= n < 2**63:
        raise Unsupported(breaks.ARRAY_FUNCTION, f"the integer {n}")
    if type(n) is int and dtype.kind in "iu" and not fits(n, dtype):
        raise raise_exception(frame, OverflowError, f"Python integer {n} out of bounds for {dtype}")
    return ConstantVariable(rounded(n, dtype) if dtype.kind == "f" else n)


def rounded(n: float, dtype: np.dtype) -> float:
    """A number as an array of the dtype holds it."""
    with np.errstate(all="ignore"):
        return dtype.type(n).item()


def check_divisor(ufunc, operands: list[Variable]) -> None:
    """Integer division, powers and shifts are traced by a constant with one meaning only."""
    second = operands[-1]
    if isinstance(second, ConstantVariable) and isinstance(second.value, (int, np.integer)) and second.value > 0:
        if ufunc not in (np.left_shift, np.right_shift) or second.value < 8:
            return
    raise Unsupported(breaks.ARRAY_FUNCTION, f"np.{ufunc.__name__} of integers by a value not known to be positive")


def ufunc_rule(ufunc: np.ufunc) -> Callable:
    """What a call of the ufunc records."""

    def rule(frame, *operands, out=None, dtype=None, where=None, casting=None):
        if len(operands) == ufunc.nin + 1 and out is None:
            *operands, out = operands
        if len(operands) != ufunc.nin:
            raise Unsupported(breaks.ARRAY_FUNCTION, f"np.{ufunc.__name__} of {len(operands)} arguments")
        if where is not None or casting is not None or dtype is not None:
            raise Unsupported(breaks.ARRAY_FUNCTION, f"np.{ufunc.__name__} with where=, casting= or dtype=")
        if not any(isinstance(v, (ArrayVariable, ListVariable, TupleVariable)) for v in operands):
            if out is not None and out is not NONE:
                raise Unsupported(breaks.ARRAY_FUNCTION, f"np.{ufunc.__name__} of numbers with out=")
            return literal(frame, run_python(frame, ufunc, *[plain(v) for v in operands]))
        result = ufunc_call(frame, ufunc, list(operands))
        return result if out is None or out is NONE else store(frame, out, result)

    return rule


def store(frame, out: Variable, result: ArrayVariable) -> Variable:
    target = out.unpack(frame)[0] if isinstance(out, TupleVariable) else out
    if not isinstance(target, ArrayVariable) or target.scalar:
        raise Unsupported(breaks.ARRAY_FUNCTION, "out= of what is no array")
    return write_into(frame, target, result)
