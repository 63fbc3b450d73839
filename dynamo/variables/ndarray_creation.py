"""NumPy functions that make arrays, of values or of sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

from aten.dtype import dtype_from_numpy, int64
from dynamo import breaks
from dynamo.breaks import Unsupported
from dynamo.variables.base import Variable
from dynamo.variables.constant import NONE, TRUE, ConstantVariable, plain
from dynamo.variables.exception import run_python
from dynamo.variables.ndarray import ArrayVariable, cast, copy_of, dtype_asked, items_stored, of_scalars, wrap_array
from dynamo.variables.ndarray_made import as_array, constant_array, filled, record
from dynamo.variables.ndarray_table import left_out, row
from dynamo.variables.sequence import ListVariable, TupleVariable
from dynamo.variables.symint import SymbolicVariable


@row(np.asarray)
@of_scalars
def array(frame, value, /, dtype=NONE, order=NONE, *, copy=NONE):
    left_out("asarray", order=order)
    return _fresh(frame, value, dtype, copy)


@row(np.array)
@of_scalars
def new_array(frame, value, /, dtype=NONE, *, copy=TRUE):
    return _fresh(frame, value, dtype, copy)


@row(np.ascontiguousarray)
@of_scalars
def row_major(frame, value, /, dtype=NONE):
    made = _fresh(frame, value, dtype, NONE)
    if not made.ndim:
        return wrap_array(record(frame, "unsqueeze", made.tensor, ConstantVariable(0)))
    tensor = record(frame, "contiguous", made.tensor)
    return made if tensor is made.tensor and made.again is None else wrap_array(tensor)


def _fresh(frame, value: Variable, dtype: Variable, copy: Variable) -> ArrayVariable:
    """An array of a value: a copy, what there is, or with None a copy where it is none, or a scalar."""
    made = _made(frame, value, dtype, copy.truth(frame))
    if not copy.is_same(NONE) and not copy.truth(frame) and made is not value:
        raise Unsupported(breaks.ARRAY_FUNCTION, "copy=False for what has to be copied")
    return made


def _made(frame, value: Variable, dtype: Variable, copies: bool) -> ArrayVariable:
    wanted = None if dtype.is_same(NONE) else dtype_asked(frame, dtype)
    if wanted is not None and not (isinstance(value, ConstantVariable) and isinstance(value.value, np.generic)):
        value = value if isinstance(value, ArrayVariable) else items_stored(frame, value, wanted)
    made = as_array(frame, value)
    if wanted is not None and wanted != made.dtype:
        return ArrayVariable(cast(frame, made, wanted).tensor)
    return ArrayVariable(copy_of(frame, made).tensor) if copies or made.scalar else made


def _filler(value: float):
    def rule(frame, shape, dtype=NONE):
        wanted = np.dtype(float) if dtype.is_same(NONE) else dtype_asked(frame, dtype)
        sizes = shape if isinstance(shape, (TupleVariable, ListVariable)) else TupleVariable([shape])
        return filled(frame, sizes, wanted.type(value).item(), wanted)

    return rule


row(np.zeros, np.empty)(of_scalars(_filler(0)))
row(np.ones)(of_scalars(_filler(1)))


@row(np.full)
@of_scalars
def full(frame, shape, fill_value, dtype=NONE):
    value = plain(fill_value)
    wanted = np.asarray(value).dtype if dtype.is_same(NONE) else dtype_asked(frame, dtype)
    if wanted.kind not in "biufc":
        raise Unsupported(breaks.ARRAY_FUNCTION, f"np.full of {wanted}")
    sizes = shape if isinstance(shape, (TupleVariable, ListVariable)) else TupleVariable([shape])
    return filled(frame, sizes, _cut(value, wanted), wanted)


def _cut(value: Any, dtype: np.dtype) -> Any:
    """A number as np.full puts it into an array: cast, whether it fits or not."""
    return np.full((), value, dtype).item()


def _like(value: float):
    def rule(frame, x, /, dtype=NONE):
        x = as_array(frame, x)
        wanted = x.dtype if dtype.is_same(NONE) else dtype_asked(frame, dtype)
        return filled(frame, x.getattr(frame, "shape"), wanted.type(value).item(), wanted)

    return rule


row(np.zeros_like, np.empty_like)(of_scalars(_like(0)))
row(np.ones_like)(of_scalars(_like(1)))


@row(np.full_like)
@of_scalars
def full_like(frame, x, /, fill_value, dtype=NONE):
    x = as_array(frame, x)
    wanted = x.dtype if dtype.is_same(NONE) else dtype_asked(frame, dtype)
    return filled(frame, x.getattr(frame, "shape"), _cut(plain(fill_value), wanted), wanted)


def _window(function: Any):
    return of_scalars(lambda frame, *args: constant_array(frame, run_python(frame, function, *map(plain, args))))


for _function in (np.hanning, np.hamming, np.blackman, np.bartlett, np.kaiser):
    row(_function)(_window(_function))


@row(np.arange)
@of_scalars
def arange(frame, *bounds, dtype=NONE):
    if any(isinstance(b, SymbolicVariable) for b in bounds) and all(b.python_type() in (int, np.int64) for b in bounds):
        made = wrap_array(record(frame, "arange", *bounds, dtype=ConstantVariable(int64)))
        return made if dtype.is_same(NONE) else cast(frame, made, dtype_asked(frame, dtype))
    values = [plain(b) for b in bounds]
    return constant_array(frame, run_python(frame, np.arange, *values, dtype=dtype.as_python()))


@row(np.eye)
@of_scalars
def eye(frame, *sizes, dtype=NONE):
    wanted = np.dtype(float) if dtype.is_same(NONE) else dtype_asked(frame, dtype)
    if any(isinstance(s, SymbolicVariable) for s in sizes) and len(sizes) <= 2:
        return wrap_array(record(frame, "eye", *sizes, dtype=ConstantVariable(dtype_from_numpy(wanted))))
    return constant_array(frame, np.eye(*[plain(s) for s in sizes], dtype=wanted))


@row(np.identity)
@of_scalars
def identity(frame, n, dtype=NONE):
    return eye(frame, n, dtype=dtype)


@row(np.linspace)
@of_scalars
def linspace(frame, *args, **kwargs):
    made = run_python(frame, np.linspace, *map(plain, args), **{k: plain(v) for k, v in kwargs.items()})
    if not isinstance(made, np.ndarray):
        raise Unsupported(breaks.ARRAY_FUNCTION, "np.linspace with retstep=")
    return constant_array(frame, made)
