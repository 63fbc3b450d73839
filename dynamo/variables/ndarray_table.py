"""NumPy functions on arrays being traced: one row each. What has no row breaks the graph.

A ufunc's row names the op; dtypes come from `ufunc.resolve_dtypes`: the loop computed is the one NumPy would run.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from aten import _native
from aten.dtype import dtype_from_numpy
from aten.op import registry
from aten.scalar import table as scalar
from dynamo import breaks, trace_rules
from dynamo.breaks import NotConstant, Unsupported
from dynamo.source import Made
from dynamo.variables import builtin
from dynamo.variables.base import Variable, method
from dynamo.variables.constant import FALSE, NONE, TRUE, ConstantVariable, boolean, literal, plain
from dynamo.variables.exception import raise_exception, run_python
from dynamo.variables.ndarray import (
    SUPPORTED,
    ArrayVariable,
    as_stored,
    call_row,
    cast,
    check_writable,
    copy_of,
    dtype_asked,
    known_values,
    of_scalars,
    wrap_array,
    write_into,
)
from dynamo.variables.ndarray_layout import lay_out
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


def as_array(frame, value: Variable) -> ArrayVariable:
    """np.asarray(value)."""
    if isinstance(value, ArrayVariable):
        return value
    if isinstance(value, TensorVariable):
        return wrap_array(value.op(frame, "detach", value))
    if isinstance(value, (ListVariable, TupleVariable)) and any(isinstance(v, ArrayVariable) for v in value.items):
        return stack(frame, value, ConstantVariable(0))
    return constant_array(frame, run_python(frame, np.asarray, frame.ops.real(frame, value)))


def constant_array(frame, array: np.ndarray) -> ArrayVariable:
    """An array known while tracing: filled where it is one value, else an input of the graph, copied at each call."""
    if array.dtype.char not in SUPPORTED:
        raise Unsupported(breaks.ARRAY_FUNCTION, f"an array of {array.dtype}")
    tensor = _native.from_numpy(array.copy())
    if array.size and (array == array.flat[0]).all():
        made = filled(frame, literal(frame, array.shape), array.flat[0].item(), array.dtype)
    else:
        constant = frame.world.wrap(tensor, Made(tensor, "a constant array"))
        made = wrap_array(record(frame, "clone", constant), array.ndim == 0)
    made.tensor.known = tensor
    return made


def of_constants(frame, function: Callable, args: list[Variable], kwargs: dict[str, Variable]) -> Variable | None:
    """The call made while tracing, where sequences of numbers, or arrays known by now, are all that it is given."""
    given = [*args, *kwargs.values()]
    if "out" in kwargs or not any(isinstance(v, (ListVariable, TupleVariable, ArrayVariable)) for v in given[:1]):
        return None
    real: list[Any] = []
    for value in given:
        if isinstance(value, ArrayVariable):
            if (found := known_values(value)) is None:
                return None
            real.append(found)
        else:
            try:
                real.append(frame.ops.real(frame, value))
            except (NotConstant, Unsupported):
                return None
    found = run_python(frame, function, *real[: len(args)], **dict(zip(kwargs, real[len(args) :])))
    if isinstance(found, np.ndarray) and found.dtype.char in SUPPORTED:
        return constant_array(frame, found)
    return literal(frame, found) if isinstance(found, np.generic) else None


def filled(frame, sizes: Variable, value: Any, dtype: np.dtype, scalar: bool = False) -> ArrayVariable:
    kwargs = {"dtype": literal(frame, dtype_from_numpy(np.dtype(dtype)))}
    args = [ListVariable(sizes.unpack(frame)), ConstantVariable(value)]
    return wrap_array(frame.output.record(frame, registry["full"], args, kwargs), scalar)


# ------------------------------------------------------------------------------------------------- ufuncs
def kind_of(value: Variable):
    """What NumPy's promotion takes for an operand: a dtype, or int, float, bool for Python's own numbers."""
    if isinstance(value, ArrayVariable):
        return value.dtype
    if isinstance(value, SymbolicVariable):
        cls = value.python_type()
        return np.dtype(cls) if issubclass(cls, np.generic) else cls
    number = value.as_python()
    if isinstance(number, np.generic):
        return number.dtype
    return np.dtype(bool) if type(number) is bool else type(number)


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
    if not any(isinstance(a, TensorVariable) for a in args):
        args[0] = filled(frame, TupleVariable([]), args[0].as_python(), inputs[0]).tensor
    made = frame.output.record(frame, registry[UFUNCS[ufunc]], args, {})
    if ufunc is np.sign and result.kind == "f":  # of NaN it is NaN, for tensors 0
        made = record(frame, "where", record(frame, "isnan", args[0]), args[0], made)
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


def _ufunc_rule(ufunc: np.ufunc) -> Callable:
    def rule(frame, *operands, out=None, dtype=None, where=None, casting=None):
        if len(operands) == ufunc.nin + 1 and out is None:
            *operands, out = operands
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


# ---------------------------------------------------------------------------------------------- functions
FUNCTIONS: dict[Any, Callable] = {ufunc: of_scalars(_ufunc_rule(ufunc)) for ufunc in UFUNCS}


def row(*functions: Any, name: str | None = None):
    """Declare the rule of NumPy functions, and of the method of that name: rule(frame, array, …)."""

    def declare(rule):
        for f in functions:
            FUNCTIONS[f] = rule
        if name is not None:
            declare_method(name, rule)
        return rule

    return declare


def declare_method(name: str, rule: Callable) -> None:
    """The rule of a method of arrays."""

    @method(name)
    def bound(self, frame, *args, **kwargs):
        made = call_row(frame, rule, f"ndarray.{name}", [self, *args], kwargs)
        return lay_out(frame, getattr(np.ndarray, name), name, [self, *args], kwargs, made)

    setattr(ArrayVariable, f"row_{name}", bound)
    ArrayVariable.rules[name] = f"row_{name}"


def record(frame, name: str, *args: Variable, **kwargs: Variable) -> TensorVariable:
    return frame.output.record(frame, registry[name], list(args), kwargs)


def axes(frame, x: ArrayVariable, axis: Variable) -> ListVariable:
    """The `dim` of an op, a list of ints, from an `axis` that is None (all), a number or a tuple."""
    if axis.is_same(NONE):
        return ListVariable([ConstantVariable(d) for d in range(x.ndim)])
    dims = axis.unpack(frame) if isinstance(axis, TupleVariable) else [axis]
    if not dims:
        raise Unsupported(breaks.ARRAY_FUNCTION, "axis=(), which is no axis for NumPy and all for tensors")
    return ListVariable([ConstantVariable(int(plain(d))) for d in dims])


def accumulator(dtype: np.dtype) -> np.dtype:
    """The dtype that NumPy sums and multiplies in."""
    if dtype.kind in "bi" and dtype.itemsize < 8:
        return np.dtype(np.int64)
    return np.dtype(np.uint64) if dtype.kind == "u" and dtype.itemsize < 8 else dtype


def reduction(name: str, dtype_rule: Callable[[np.dtype], np.dtype] | None = None, result: Any = None):
    def rule(frame, x, axis=NONE, dtype=NONE, out=NONE, keepdims=FALSE):
        x = as_array(frame, x)
        if not out.is_same(NONE):
            raise Unsupported(breaks.ARRAY_FUNCTION, f"np.{name} with out=")
        if not dtype.is_same(NONE):
            x = cast(frame, x, dtype_asked(frame, dtype))
        elif dtype_rule is not None:
            x = cast(frame, x, dtype_rule(x.dtype))
        dims = axes(frame, x, axis)
        if name == "mean":
            check_items(x, dims, name)
        if dims.items or name not in ("amax", "amin"):
            made = record(frame, name, x.tensor, dims, keepdim=boolean(keepdims.truth(frame)))
        else:
            made = copy_of(frame, x).tensor
        result = wrap_array(made, not made.meta.sizes)
        return cast(frame, result, np.dtype(bool) if name in ("any", "all") else x.dtype)

    return of_scalars(rule)


def floating(dtype: np.dtype) -> np.dtype:
    return np.dtype(np.float64) if dtype.kind in "biu" else dtype


for _functions, _method, _op, _rule in [
    ((np.sum,), "sum", "sum", accumulator), ((np.mean,), "mean", "mean", floating),
    ((np.max, np.amax), "max", "amax", None), ((np.min, np.amin), "min", "amin", None),
    ((np.any,), "any", "any", None), ((np.all,), "all", "all", None),
]:  # fmt: skip
    row(*_functions, name=_method)(reduction(_op, _rule))


@row(np.prod, name="prod")
@of_scalars
def prod(frame, x, axis=NONE, dtype=NONE, keepdims=FALSE):
    x = as_array(frame, x)
    x = cast(frame, x, accumulator(x.dtype) if dtype.is_same(NONE) else dtype_asked(frame, dtype))
    keep = boolean(keepdims.truth(frame))
    if axis.is_same(NONE) and not keep.value:
        made = record(frame, "prod", x.tensor)
    else:
        made, dims = x.tensor, {d.value % x.ndim for d in axes(frame, x, axis).items}
        for d in sorted(dims, reverse=True):
            made = record(frame, "prod", made, ConstantVariable(d), keepdim=keep)
    return cast(frame, wrap_array(made, not made.meta.sizes), x.dtype)


def check_items(x: ArrayVariable, dims: ListVariable, name: str, least: Any = 0) -> None:
    """NumPy warns of a mean or variance of too few items."""
    sizes = [x.tensor.meta.sizes[plain(d)] for d in dims.items]
    if not bool(math.prod(sizes) > least):
        raise Unsupported(breaks.ARRAY_FUNCTION, f"np.{name} of no more than {least} items")


def _spread(name: str):
    def rule(frame, x, axis=NONE, dtype=NONE, ddof=ConstantVariable(0), keepdims=FALSE):
        x = as_array(frame, x)
        x = cast(frame, x, floating(x.dtype))
        dims = axes(frame, x, axis)
        check_items(x, dims, name, plain(ddof))
        keep = boolean(keepdims.truth(frame))
        made = record(frame, name, x.tensor, dims, correction=ddof, keepdim=keep)
        return wrap_array(made, not made.meta.sizes)

    return rule


row(np.var, name="var")(of_scalars(_spread("var")))
row(np.std, name="std")(of_scalars(_spread("std")))


def _argument(name: str):
    def rule(frame, x, axis=NONE, keepdims=FALSE):
        x = as_array(frame, x)
        args = [] if axis.is_same(NONE) else [ConstantVariable(int(plain(axis)))]
        made = record(frame, name, x.tensor, *args, keepdim=boolean(keepdims.truth(frame)))
        return wrap_array(made, not made.meta.sizes)

    return rule


row(np.argmax, name="argmax")(_argument("argmax"))
row(np.argmin, name="argmin")(_argument("argmin"))


def _running(name: str):
    def rule(frame, x, axis=NONE, dtype=NONE):
        x = as_array(frame, x)
        x = cast(frame, x, accumulator(x.dtype) if dtype.is_same(NONE) else dtype_asked(frame, dtype))
        tensor = x.tensor
        if axis.is_same(NONE):
            tensor, axis = record(frame, "reshape", tensor, TupleVariable([ConstantVariable(-1)])), ConstantVariable(0)
        return cast(frame, wrap_array(record(frame, name, tensor, axis)), x.dtype)

    return rule


row(np.cumsum, name="cumsum")(_running("cumsum"))
row(np.cumprod, name="cumprod")(_running("cumprod"))


# -------------------------------------------------------------------------------------------------- layout
@row(name="reshape")
def reshape_method(frame, x, *sizes):
    parts = sizes[0].unpack(frame) if len(sizes) == 1 and isinstance(sizes[0], (TupleVariable, ListVariable)) else sizes
    return wrap_array(record(frame, "reshape", x.tensor, TupleVariable(list(parts))))


@row(np.reshape)
def reshape(frame, x, shape):
    return reshape_method(frame, as_array(frame, x), shape)


@row(name="transpose")
def transpose_method(frame, x, *dims):
    if len(dims) == 1 and isinstance(dims[0], (TupleVariable, ListVariable)):
        dims = tuple(dims[0].unpack(frame))
    order = list(dims) if dims and not dims[0].is_same(NONE) else [ConstantVariable(d) for d in reversed(range(x.ndim))]
    return wrap_array(record(frame, "permute", x.tensor, TupleVariable(order)))


@row(np.transpose)
def transpose(frame, x, axes=NONE):
    x = as_array(frame, x)
    return transpose_method(frame, x) if axes.is_same(NONE) else transpose_method(frame, x, axes)


@row(np.ravel, name="ravel")
def ravel(frame, x):
    """A view of row-major memory, else a copy: also of one dimension with gaps, of which a tensor's reshape gives a view."""
    flat = record(frame, "reshape", as_array(frame, x).tensor, TupleVariable([ConstantVariable(-1)]))
    return wrap_array(record(frame, "contiguous", flat))


@row(name="flatten")
def flatten(frame, x):
    flat = ravel(frame, x).tensor
    return wrap_array(record(frame, "row_major", flat))


@row(np.copy, name="copy")
def copy(frame, x):
    return wrap_array(record(frame, "row_major", as_array(frame, x).tensor))


@row(np.squeeze, name="squeeze")
def squeeze(frame, x, axis=NONE):
    x = as_array(frame, x)
    if axis.is_same(NONE):
        return wrap_array(record(frame, "squeeze", x.tensor))
    dims = axes(frame, x, axis)
    for d in dims.items:
        at = plain(d)
        if -x.ndim <= at < x.ndim and x.tensor.meta.sizes[at] != 1:
            raise Unsupported(breaks.ARRAY_FUNCTION, "np.squeeze of a size that is not 1")
    return wrap_array(record(frame, "squeeze", x.tensor, dims))


@row(np.expand_dims)
def expand_dims(frame, x, axis):
    return wrap_array(record(frame, "unsqueeze", as_array(frame, x).tensor, axis))


@row(np.swapaxes, name="swapaxes")
def swapaxes(frame, x, axis1, axis2):
    return wrap_array(record(frame, "transpose", as_array(frame, x).tensor, axis1, axis2))


@row(np.moveaxis)
def moveaxis(frame, x, source, destination):
    return wrap_array(record(frame, "movedim", as_array(frame, x).tensor, source, destination))


@row(np.concatenate)
def concatenate(frame, arrays, axis=ConstantVariable(0)):
    return wrap_array(record(frame, "cat", same_dtype(frame, arrays), axis))


@row(np.stack)
def stack(frame, arrays, axis=ConstantVariable(0)):
    return wrap_array(record(frame, "stack", same_dtype(frame, arrays), axis))


def same_dtype(frame, arrays: Variable) -> ListVariable:
    """The tensors of several arrays, in NumPy's common dtype."""
    values = [as_array(frame, a) for a in arrays.unpack(frame)]
    if not values:
        raise Unsupported(breaks.UNKNOWN_CALL, "no arrays")
    dtype = np.result_type(*[v.dtype for v in values])
    return ListVariable([cast(frame, v, dtype).tensor for v in values])


# -------------------------------------------------------------------------------------------------- values
@row(name="astype")
@of_scalars
def astype(frame, x, dtype, copy=TRUE):
    wanted = dtype_asked(frame, dtype)
    if wanted.char not in SUPPORTED:
        raise Unsupported(breaks.ARRAY_FUNCTION, f"astype from {x.dtype} to {wanted}")
    return copy_of(frame, x) if wanted == x.dtype and copy.truth(frame) else cast(frame, x, wanted)


@row(np.where)
@of_scalars
def where(frame, condition, x=None, y=None):
    if x is None or y is None:
        raise Unsupported(breaks.DATA_DEPENDENT_SIZE, "np.where(condition)")
    kinds = [kind_of(v) for v in (x, y)]
    numbers = [k if isinstance(k, np.dtype) else k(0) for k in kinds]
    dtype = np.result_type(*numbers)
    if any(is_beyond(v, dtype) for v in (x, y)):
        raise Unsupported(breaks.ARRAY_FUNCTION, f"np.where with an integer beyond {dtype}")
    parts = [cast(frame, v, dtype).tensor if isinstance(v, ArrayVariable) else number(frame, v, dtype) for v in (x, y)]
    if not any(isinstance(p, TensorVariable) for p in parts):
        parts[1] = filled(frame, TupleVariable([]), parts[1].as_python(), dtype).tensor
    condition = cast(frame, as_array(frame, condition), np.dtype(bool))
    return cast(frame, wrap_array(record(frame, "where", condition.tensor, *parts)), dtype)


@row(np.clip, name="clip")
@of_scalars
def clip(frame, x, a_min=NONE, a_max=NONE, min=NONE, max=NONE):
    x = as_array(frame, x)
    low, high = (a_min, a_max) if min is NONE and max is NONE else (min, max)
    if is_beyond(low, x.dtype) or is_beyond(high, x.dtype):
        raise Unsupported(breaks.ARRAY_FUNCTION, f"np.clip by an integer beyond {x.dtype}")
    if low.is_same(NONE) and high.is_same(NONE):
        return copy_of(frame, x)
    if not low.is_same(NONE):
        x = ufunc_call(frame, np.maximum, [x, low])
    return x if high.is_same(NONE) else ufunc_call(frame, np.minimum, [x, high])


@row(np.round, np.around, name="round")
@of_scalars
def round_(frame, x, decimals=ConstantVariable(0)):
    if plain(decimals) != 0:
        raise Unsupported(breaks.ARRAY_FUNCTION, "np.round with decimals")
    x = as_array(frame, x)
    if x.dtype.kind == "b":
        raise Unsupported(breaks.ARRAY_FUNCTION, "np.round of bools, which are halves then")
    return wrap_array(copy_of(frame, x).tensor, not x.ndim) if x.dtype.kind in "iu" else ufunc_call(frame, np.rint, [x])


@row(np.dot, name="dot")
@of_scalars
def dot(frame, a, b):
    a, b = as_array(frame, a), as_array(frame, b)
    if a.ndim == 0 or b.ndim == 0:
        return ufunc_call(frame, np.multiply, [a, b])
    if b.ndim > 2:
        raise Unsupported(breaks.ARRAY_FUNCTION, "np.dot with more than two dimensions")
    return ufunc_call(frame, np.matmul, [a, b])


@row(np.outer)
@of_scalars
def outer(frame, a, b):
    column = expand_dims(frame, ravel(frame, a), ConstantVariable(1))
    return ufunc_call(frame, np.multiply, [column, ravel(frame, b)])


@row(name="fill")
def fill(frame, x, value):
    check_writable(frame, x)
    record(frame, "fill_", x.tensor, as_stored(frame, value, x.dtype))
    return NONE


@row(np.tril)
def tril(frame, x, k=ConstantVariable(0)):
    return wrap_array(record(frame, "tril", as_array(frame, x).tensor, k))


@row(np.triu)
def triu(frame, x, k=ConstantVariable(0)):
    return wrap_array(record(frame, "triu", as_array(frame, x).tensor, k))


# ------------------------------------------------------------------------------------------------- entries
# Functions by which programs compute sizes and bounds, whose results share no memory with their arguments.
MADE_ANEW = {
    np.argmax, np.argmin, np.argsort, np.concatenate, np.cumprod, np.cumsum, np.diff, np.max, np.min, np.prod, np.sort, np.sum,
}  # fmt: skip


def entry(function: Any, rule: Callable) -> Callable:
    name = f"np.{getattr(function, '__name__', function)}"

    def call(frame, args, kwargs):
        if function in MADE_ANEW and (found := of_constants(frame, function, args, kwargs)) is not None:
            return found
        return lay_out(frame, function, name, args, kwargs, call_row(frame, rule, name, args, kwargs))

    return call


for _function, _row in FUNCTIONS.items():
    trace_rules.handle(_function)(entry(_function, _row))


for _function, _name in ((np.ndim, "ndim"), (np.shape, "shape"), (np.size, "size")):
    trace_rules.handle(_function)(lambda frame, args, kwargs, n=_name: as_array(frame, args[0]).getattr(frame, n))


def _scalar_class(cls: type) -> Callable:
    def rule(frame, args, kwargs):
        if args and isinstance(args[0], ArrayVariable):
            return cast(frame, args[0], np.dtype(cls))
        return literal(frame, run_python(frame, cls, *[plain(a) for a in args]))

    return rule


for _char in "?bBhHiIlLqQefd":
    builtin.CLASSES[np.dtype(_char).type] = _scalar_class(np.dtype(_char).type)
builtin.CLASSES[np.dtype] = lambda frame, args, kwargs: literal(frame, run_python(frame, np.dtype, args[0].as_python()))
for _name in ("item", "tolist", "__int__", "__float__", "__index__", "__complex__"):
    declare_method(_name, of_scalars(lambda frame, x, *args, n=_name: x.tensor.method(frame, n, list(args), {})))
