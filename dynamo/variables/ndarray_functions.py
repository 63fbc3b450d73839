"""More NumPy functions: those of dtypes, which are known while tracing, and those that rearrange, sort and measure arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dynamo import breaks, trace_rules
from dynamo.breaks import Unsupported
from dynamo.variables import builtin
from dynamo.variables.base import Variable
from dynamo.variables.constant import FALSE, NONE, ConstantVariable, boolean, plain
from dynamo.variables.exception import run_python
from dynamo.variables.ndarray import ArrayVariable, cast, copy_of, of_scalars, whole, wrap_array
from dynamo.variables.ndarray_made import as_array, record, same_dtype
from dynamo.variables.ndarray_table import FUNCTIONS, axes, entry, floating, ravel, row
from dynamo.variables.ndarray_ufuncs import kind_of, ufunc_call
from dynamo.variables.sequence import ListVariable, TupleVariable
from dynamo.variables.tensor import TensorVariable
from dynamo.variables.track import CONSTANTS


# -------------------------------------------------------------------------------------------------- dtypes
def of_dtypes(function: Callable) -> Callable:
    """The rule of a function of dtypes: run while tracing, an array standing for its dtype."""

    def rule(frame, args, kwargs):
        given = [a.realize(frame) for a in args]
        arrays = [a for a in given if isinstance(a, ArrayVariable)]
        if arrays and (function not in OF_ARRAYS or not all(map(is_told_by_dtype, arrays))):
            raise Unsupported(breaks.ARRAY_FUNCTION, f"np.{function.__name__} of an array, whose value counts or is told")
        values = [a.example() if isinstance(a, ArrayVariable) else frame.ops.real(frame, a) for a in given]
        named = {k: frame.ops.real(frame, v) for k, v in kwargs.items()}
        return frame.values.literal(frame, run_python(frame, function, *values, **named))

    def is_told_by_dtype(array: ArrayVariable) -> bool:
        """Whether NumPy asks for no more than the dtype of the array."""
        by_value = function is np.min_scalar_type or BY_VALUE
        return array.scalar if function in CLASSES else array.ndim > 0 or not by_value

    return rule


BY_VALUE = np.lib.NumpyVersion(np.__version__) < "2.0.0"  # whether the values of scalars decide which dtype holds them
CLASSES = (np.finfo, np.iinfo)  # which take a number for its class
OF_ARRAYS = {np.can_cast, np.min_scalar_type, np.result_type, *CLASSES}

for _function in (
    np.issubdtype, np.can_cast, np.promote_types, np.min_scalar_type, np.result_type, getattr(np, "isdtype", None),
):  # fmt: skip
    if _function is not None:
        trace_rules.handle(_function)(of_dtypes(_function))
for _cls in CLASSES:
    builtin.CLASSES[_cls] = of_dtypes(_cls)
    CONSTANTS.add(_cls)


# ----------------------------------------------------------------------------------------------- rearranging
def integer(value: Variable) -> ConstantVariable:
    return ConstantVariable(whole(value))


@row(np.take_along_axis)
def take_along_axis(frame, x, /, indices, axis):
    if isinstance(indices, TensorVariable):
        raise Unsupported(breaks.ARRAY_FUNCTION, "np.take_along_axis by a tensor, whose dtype is none of NumPy's")
    x, places = as_array(frame, x), as_array(frame, indices)
    if places.dtype.kind not in "iu":
        raise Unsupported(breaks.ARRAY_FUNCTION, f"np.take_along_axis by indices of {places.dtype}")
    if axis.is_same(NONE):
        x, axis = ravel(frame, x), ConstantVariable(0)
    return wrap_array(record(frame, "take_along_dim", x.tensor, cast(frame, places, np.dtype(np.int64)).tensor, integer(axis)))


@row(np.roll)
def roll(frame, x, /, shift, axis=NONE):
    x = as_array(frame, x)
    dims = [] if axis.is_same(NONE) else [axis]
    return wrap_array(record(frame, "roll", x.tensor, shift, *dims))


@row(name="repeat")
def repeat_method(frame, x, repeats, /, axis=NONE):
    return repeat(frame, x, repeats, axis)


@row(np.repeat)
def repeat(frame, x, /, repeats, axis=NONE):
    x = as_array(frame, x)
    if isinstance(repeats, ArrayVariable):
        raise Unsupported(breaks.DATA_DEPENDENT_SIZE, "np.repeat by an array")
    if axis.is_same(NONE):
        x, axis = ravel(frame, x), ConstantVariable(0)
    return wrap_array(record(frame, "repeat_interleave", x.tensor, integer(repeats), integer(axis)))


@row(np.tile)
def tile(frame, x, /, reps):
    times = reps if isinstance(reps, (TupleVariable, ListVariable)) else TupleVariable([reps])
    return wrap_array(record(frame, "tile", as_array(frame, x).tensor, times))


def at_least(dims: int, function: Callable) -> None:
    """The array itself, where it has the dims."""

    def rule(frame, x, /):
        x = as_array(frame, x)
        return x if x.ndim >= dims else wrap_array(record(frame, f"atleast_{dims}d", x.tensor))

    row(function)(rule)


for _dims in (1, 2, 3):
    at_least(_dims, getattr(np, f"atleast_{_dims}d"))


def of_several(name: str, function: Callable) -> None:
    """A function of several arrays that is an op by itself."""
    row(function)(lambda frame, arrays, /: wrap_array(record(frame, name, same_dtype(frame, arrays))))


for _name in ("vstack", "hstack", "dstack", "column_stack"):
    of_several(_name, getattr(np, _name))


@row(np.split)
def split(frame, x, /, indices_or_sections, axis=ConstantVariable(0)):
    x = as_array(frame, x)
    if isinstance(indices_or_sections, ConstantVariable):
        n, at = plain(indices_or_sections), plain(axis)
        if n < 1 or (-x.ndim <= at < x.ndim and x.tensor.meta.sizes[at] % n != 0):
            raise Unsupported(breaks.ARRAY_FUNCTION, "np.split into parts that are not equal")
    return array_split(frame, x, indices_or_sections, axis)


@row(np.array_split)
def array_split(frame, x, /, indices_or_sections, axis=ConstantVariable(0)):
    x = as_array(frame, x)
    parts = record(frame, "tensor_split", x.tensor, indices_or_sections, integer(axis))
    return ListVariable([wrap_array(p) for p in parts.unpack(frame)])


@row(np.diff)
def diff(frame, x, /, n=ConstantVariable(1), axis=ConstantVariable(-1)):
    x, times = as_array(frame, x), integer(n)
    return wrap_array(record(frame, "diff", x.tensor, times, integer(axis))) if plain(times) else x


@row(np.meshgrid)
def meshgrid(frame, *arrays, indexing=ConstantVariable("xy")):
    tensors = ListVariable([as_array(frame, a).tensor for a in arrays])
    made = record(frame, "meshgrid", tensors, indexing=indexing).unpack(frame)
    return frame.values.tuple_([copy_of(frame, wrap_array(t)) for t in made])


# ------------------------------------------------------------------------------------------- sorting, measuring
def sorted_axis(frame, x, axis) -> tuple[ArrayVariable, Variable]:
    return (ravel(frame, x), ConstantVariable(0)) if axis.is_same(NONE) else (as_array(frame, x), integer(axis))


@row(np.sort)
def sort(frame, x, /, axis=ConstantVariable(-1)):
    x, dim = sorted_axis(frame, x, axis)
    return wrap_array(record(frame, "sort", x.tensor, dim).unpack(frame)[0])


@row(np.argsort, name="argsort")
def argsort(frame, x, /, axis=ConstantVariable(-1), kind=NONE):
    x, dim = sorted_axis(frame, x, axis)
    if kind.as_python() not in ("stable", "mergesort"):
        raise Unsupported(breaks.ARRAY_FUNCTION, "np.argsort whose order of equal items is open (kind='stable' is traced)")
    return wrap_array(record(frame, "argsort", x.tensor, stable=boolean(True), dim=dim))


@row(np.trace, name="trace")
def trace(frame, x, /):
    return np_sum(frame, wrap_array(record(frame, "diagonal", as_array(frame, x).tensor)), ConstantVariable(-1))


def np_sum(frame, x: ArrayVariable, axis: Variable) -> Any:
    return x.method(frame, "sum", [axis], {})


@row(np.nan_to_num)
@of_scalars
def nan_to_num(frame, x, copy=NONE, nan=ConstantVariable(0.0), posinf=NONE, neginf=NONE):
    x = as_array(frame, x)
    if not copy.is_same(NONE) and not copy.truth(frame):
        raise Unsupported(breaks.ARRAY_FUNCTION, "np.nan_to_num with copy=False")
    if nan.is_same(NONE):
        raise Unsupported(breaks.ARRAY_FUNCTION, "np.nan_to_num with nan=None")
    if x.dtype.kind in "iub":
        return wrap_array(copy_of(frame, x).tensor, not x.ndim)
    made = record(frame, "nan_to_num", x.tensor, nan, posinf, neginf)
    return wrap_array(made, not x.ndim)


@row(np.isclose)
@of_scalars
def isclose(frame, a, b, rtol=ConstantVariable(1e-5), atol=ConstantVariable(1e-8), equal_nan=FALSE):
    first, second = [k if isinstance(k, np.dtype) else k(0) for k in map(kind_of, (a, b))]
    if isinstance(second, np.dtype):
        second = floating(second)
    dtype = floating(np.result_type(first, second))
    a, b = [cast(frame, as_array(frame, v), dtype).tensor for v in (a, b)]
    made = record(frame, "isclose", a, b, rtol, atol, boolean(equal_nan.truth(frame)))
    return wrap_array(made, not made.meta.sizes)


@row(np.inner)
def inner(frame, a, b, /):
    a, b = as_array(frame, a), as_array(frame, b)
    if a.ndim != 1 or b.ndim != 1:
        raise Unsupported(breaks.ARRAY_FUNCTION, "np.inner but of two vectors")
    return ufunc_call(frame, np.matmul, [a, b])


@row(np.linalg.norm)
def norm(frame, x, ord=NONE, axis=NONE, keepdims=FALSE):
    x = as_array(frame, x)
    x = cast(frame, x, floating(x.dtype))
    dims = axes(frame, x, axis)
    kind = ord.as_python()
    if kind is not None and len(dims.items) != 1:
        raise Unsupported(breaks.ARRAY_FUNCTION, "np.linalg.norm of matrices")
    if len(dims.items) > 2 and not axis.is_same(NONE):
        raise Unsupported(breaks.ARRAY_FUNCTION, "np.linalg.norm over more than two axes")
    order = ConstantVariable(2 if kind is None else kind)
    made = record(frame, "linalg_vector_norm", x.tensor, order, dims, boolean(keepdims.truth(frame)))
    return wrap_array(made, not made.meta.sizes)


for _function, _rule in FUNCTIONS.items():
    if trace_rules.handler(_function) is None:
        trace_rules.handle(_function)(entry(_function, _rule))
