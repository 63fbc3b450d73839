"""NumPy functions on arrays being traced: one row each. What has no row breaks the graph. Ufuncs are in `ndarray_ufuncs`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from aten.scalar.unpatched import math
from dynamo import breaks, trace_rules
from dynamo.breaks import Raised, Unsupported
from dynamo.variables import builtin
from dynamo.variables.base import Variable, method
from dynamo.variables.constant import FALSE, NONE, TRUE, ConstantVariable, boolean, literal, plain
from dynamo.variables.exception import run_python
from dynamo.variables.ndarray import (
    ArrayVariable,
    as_stored,
    call_row,
    cast,
    check_writable,
    copied_scalar,
    copy_of,
    dtype_asked,
    of_scalars,
    whole,
    wrap_array,
)
from dynamo.variables.ndarray_layout import lay_out
from dynamo.variables.ndarray_made import as_array, filled, of_constants, record, same_dtype, stacked
from dynamo.variables.ndarray_ufuncs import UFUNCS, is_beyond, kind_of, number, ufunc_call, ufunc_rule
from dynamo.variables.sequence import ListVariable, TupleVariable
from dynamo.variables.tensor import TensorVariable

# ---------------------------------------------------------------------------------------------- functions
FUNCTIONS: dict[Any, Callable] = {ufunc: of_scalars(ufunc_rule(ufunc)) for ufunc in UFUNCS}


def row(*functions: Any, name: str | None = None):
    """Declare the rule of NumPy functions, and of the method of that name: rule(frame, array, …).

    Its parameters are the first of NumPy's, in NumPy's order; what may be given by name has NumPy's name. Those that it does
    not have are left to NumPy."""

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


def axes(frame, x: ArrayVariable, axis: Variable) -> ListVariable:
    """The `dim` of an op, a list of ints, from an `axis` that is None (all), a number or a tuple."""
    if axis.is_same(NONE):
        return ListVariable([ConstantVariable(d) for d in range(x.ndim)])
    dims = axis.unpack(frame) if isinstance(axis, TupleVariable) else [axis]
    if not dims:
        raise Unsupported(breaks.ARRAY_FUNCTION, "axis=(), which is no axis for NumPy and all for tensors")
    places = [whole(d) for d in dims]
    if not all(-x.ndim <= d < x.ndim for d in places) or len({d % x.ndim for d in places}) < len(places):
        raise Unsupported(breaks.ARRAY_FUNCTION, "an axis that is not there, or twice")
    return ListVariable([ConstantVariable(d) for d in places])


def accumulator(dtype: np.dtype) -> np.dtype:
    """The dtype that NumPy sums and multiplies in."""
    if dtype.kind in "bi" and dtype.itemsize < 8:
        return np.dtype(np.int64)
    return np.dtype(np.uint64) if dtype.kind == "u" and dtype.itemsize < 8 else dtype


def left_out(name: str, **given: Variable) -> None:
    """Parameters that stand before others, and of which only the default is traced."""
    for parameter, value in given.items():
        if not value.is_same(NONE):
            raise Unsupported(breaks.ARRAY_FUNCTION, f"np.{name} with {parameter}=")


def reduction(name: str, dtype_rule: Callable[[np.dtype], np.dtype] | None = None):
    def rule(frame, x, /, axis=NONE, dtype=NONE, out=NONE, keepdims=FALSE):
        x = as_array(frame, x)
        left_out(name, out=out)
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

    def without_dtype(frame, x, /, axis=NONE, out=NONE, keepdims=FALSE):
        return rule(frame, x, axis, NONE, out, keepdims)

    return of_scalars(rule if name in ("sum", "mean") else without_dtype)


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
def prod(frame, x, /, axis=NONE, dtype=NONE, out=NONE, keepdims=FALSE):
    x = as_array(frame, x)
    left_out("prod", out=out)
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
    def rule(frame, x, /, axis=NONE, dtype=NONE, out=NONE, ddof=ConstantVariable(0), keepdims=FALSE):
        left_out(name, dtype=dtype, out=out)
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
    def rule(frame, x, /, axis=NONE, out=NONE, *, keepdims=FALSE):
        left_out(name, out=out)
        x = as_array(frame, x)
        args = [] if axis.is_same(NONE) else [ConstantVariable(whole(axis))]
        made = record(frame, name, x.tensor, *args, keepdim=boolean(keepdims.truth(frame)))
        return wrap_array(made, not made.meta.sizes)

    return rule


row(np.argmax, name="argmax")(_argument("argmax"))
row(np.argmin, name="argmin")(_argument("argmin"))


def _running(name: str):
    def rule(frame, x, /, axis=NONE, dtype=NONE):
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
def reshape_method(frame, x, /, *sizes):
    parts = sizes[0].unpack(frame) if len(sizes) == 1 and isinstance(sizes[0], (TupleVariable, ListVariable)) else sizes
    return wrap_array(record(frame, "reshape", x.tensor, TupleVariable(list(parts))))


@row(np.reshape)
def reshape(frame, x, /, shape):
    return reshape_method(frame, as_array(frame, x), shape)


@row(name="transpose")
def transpose_method(frame, x, /, *dims):
    if not dims or len(dims) == 1 and dims[0].is_same(NONE):
        dims = tuple(ConstantVariable(d) for d in reversed(range(x.ndim)))
    elif len(dims) == 1 and isinstance(dims[0], (TupleVariable, ListVariable)):
        dims = tuple(dims[0].unpack(frame))
    order = list(dims)
    return wrap_array(record(frame, "permute", x.tensor, TupleVariable(order)))


@row(np.transpose)
def transpose(frame, x, /, axes=NONE):
    x = as_array(frame, x)
    return transpose_method(frame, x) if axes.is_same(NONE) else transpose_method(frame, x, axes)


@row(np.ravel, name="ravel")
def ravel(frame, x, /):
    """A view of row-major memory, else a copy: also of one dimension with gaps, of which a tensor's reshape gives a view."""
    flat = record(frame, "reshape", as_array(frame, x).tensor, TupleVariable([ConstantVariable(-1)]))
    return wrap_array(record(frame, "contiguous", flat))


@row(name="flatten")
def flatten(frame, x, /):
    flat = ravel(frame, x).tensor
    return wrap_array(record(frame, "row_major", flat))


@row(np.copy, name="copy")
def copy(frame, x, /):
    return wrap_array(record(frame, "row_major", as_array(frame, x).tensor))


@row(np.squeeze, name="squeeze")
def squeeze(frame, x, /, axis=NONE):
    x = as_array(frame, x)
    if axis.is_same(NONE):
        tensor = record(frame, "squeeze", x.tensor)
        return wrap_array(tensor) if len(tensor.meta.sizes) < x.ndim else x
    dims = axes(frame, x, axis)
    for d in dims.items:
        at = plain(d)
        if -x.ndim <= at < x.ndim and x.tensor.meta.sizes[at] != 1:
            raise Unsupported(breaks.ARRAY_FUNCTION, "np.squeeze of a size that is not 1")
    return wrap_array(record(frame, "squeeze", x.tensor, dims))


@row(np.expand_dims)
def expand_dims(frame, x, /, axis):
    return wrap_array(record(frame, "unsqueeze", as_array(frame, x).tensor, axis))


@row(np.swapaxes)
def swapaxes(frame, x, /, axis1, axis2):
    return wrap_array(record(frame, "transpose", as_array(frame, x).tensor, axis1, axis2))


@row(name="swapaxes")
def swapaxes_method(frame, x, axis1, axis2, /):
    return swapaxes(frame, x, axis1, axis2)


@row(np.moveaxis)
def moveaxis(frame, x, /, source, destination):
    return wrap_array(record(frame, "movedim", as_array(frame, x).tensor, source, destination))


@row(np.concatenate)
def concatenate(frame, arrays, /, axis=ConstantVariable(0)):
    return wrap_array(record(frame, "cat", same_dtype(frame, arrays), axis))


@row(np.stack)
def stack(frame, arrays, /, axis=ConstantVariable(0)):
    return stacked(frame, arrays, axis)


# -------------------------------------------------------------------------------------------------- values
@row(name="astype")
@of_scalars
def astype(frame, x, /, dtype, order=NONE, casting=NONE, subok=NONE, copy=TRUE):
    left_out("ndarray.astype", order=order, casting=casting, subok=subok)
    wanted = dtype_asked(frame, dtype)
    return copy_of(frame, x) if wanted == x.dtype and copy.truth(frame) else cast(frame, x, wanted)


@row(np.where)
@of_scalars
def where(frame, condition, x=None, y=None, /):
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


@row(np.clip)
@of_scalars
def clip_function(frame, x, /, *bounds, **named):
    """np.clip asks for both of its bounds (what follows them is `out`), or takes them by the names of the method."""
    old = len(bounds) + len({"a_min", "a_max"} & named.keys())
    if old == 1 or len(bounds) > 2 or (old and {"min", "max"} & named.keys()):
        raise Unsupported(breaks.ARRAY_FUNCTION, "np.clip with these arguments")
    return clip(frame, x, *bounds, **named)


@of_scalars
def clip(frame, x, /, a_min=NONE, a_max=NONE, *, min=NONE, max=NONE):
    x = as_array(frame, x)
    low, high = (a_min, a_max) if min is NONE and max is NONE else (min, max)
    if is_beyond(low, x.dtype) or is_beyond(high, x.dtype):
        raise Unsupported(breaks.ARRAY_FUNCTION, f"np.clip by an integer beyond {x.dtype}")
    if low.is_same(NONE) and high.is_same(NONE):
        return wrap_array(copy_of(frame, x).tensor, not x.ndim)
    if not low.is_same(NONE):
        x = ufunc_call(frame, np.maximum, [x, low])
    return x if high.is_same(NONE) else ufunc_call(frame, np.minimum, [x, high])


declare_method("clip", of_scalars(lambda frame, x, /, min=NONE, max=NONE: clip(frame, x, min, max)))


@row(np.round, np.around, name="round")
@of_scalars
def round_(frame, x, /, decimals=ConstantVariable(0)):
    if plain(decimals) != 0:
        raise Unsupported(breaks.ARRAY_FUNCTION, "np.round with decimals")
    x = as_array(frame, x)
    if x.dtype.kind == "b":
        raise Unsupported(breaks.ARRAY_FUNCTION, "np.round of bools, which are halves then")
    return wrap_array(copy_of(frame, x).tensor, not x.ndim) if x.dtype.kind in "iu" else ufunc_call(frame, np.rint, [x])


@row(np.dot, name="dot")
@of_scalars
def dot(frame, a, b, /):
    a, b = as_array(frame, a), as_array(frame, b)
    if a.ndim == 0 or b.ndim == 0:  # a product, but for zeros, which are never negative
        raise Unsupported(breaks.ARRAY_FUNCTION, "np.dot of a scalar")
    if b.ndim > 2:
        raise Unsupported(breaks.ARRAY_FUNCTION, "np.dot with more than two dimensions")
    return ufunc_call(frame, np.matmul, [a, b])


@row(np.outer)
@of_scalars
def outer(frame, a, b):
    column = expand_dims(frame, ravel(frame, a), ConstantVariable(1))
    return ufunc_call(frame, np.multiply, [column, ravel(frame, b)])


@row(name="fill")
def fill(frame, x, /, value):
    check_writable(frame, x)
    record(frame, "fill_", x.tensor, as_stored(frame, value, x.dtype))
    return NONE


@row(np.tril)
def tril(frame, x, /, k=ConstantVariable(0)):
    return wrap_array(record(frame, "tril", as_array(frame, x).tensor, k))


@row(np.triu)
def triu(frame, x, /, k=ConstantVariable(0)):
    return wrap_array(record(frame, "triu", as_array(frame, x).tensor, k))


# ------------------------------------------------------------------------------------------------- entries
# Functions by which programs compute sizes and bounds, whose results share no memory with their arguments.
MADE_ANEW = {
    np.argmax, np.argmin, np.argsort, np.concatenate, np.cumprod, np.cumsum, np.diff, np.max, np.min, np.prod, np.sort, np.sum,
}  # fmt: skip


BY_METHOD = frozenset({  # what NumPy asks the object itself for, which is no array
    np.all, np.amax, np.amin, np.any, np.argmax, np.argmin, np.argsort, np.around, np.array_split, np.clip, np.cumprod, np.cumsum,
    np.diagonal, np.flip, np.max, np.mean, np.min, np.moveaxis, np.prod, np.ravel, np.repeat, np.reshape, np.round, np.split,
    np.squeeze, np.std, np.sum, np.swapaxes, np.take, np.trace, np.transpose, np.var,
})  # fmt: skip


def entry(function: Any, rule: Callable) -> Callable:
    name = f"np.{getattr(function, '__name__', function)}"

    def call(frame, args, kwargs):
        if function in BY_METHOD and args and isinstance(args[0].realize(frame), TensorVariable):
            raise Unsupported(breaks.ARRAY_FUNCTION, f"{name} of a tensor, whose own method answers")
        if function in MADE_ANEW and (found := of_constants(frame, function, args, kwargs)) is not None:
            return found
        return lay_out(frame, function, name, args, kwargs, call_row(frame, rule, name, args, kwargs))

    return call


for _function, _row in FUNCTIONS.items():
    trace_rules.handle(_function)(entry(_function, _row))


def measured(frame, x: Variable, name: str) -> Variable:
    """ndim or shape, of a tensor as it says it itself."""
    return (x if isinstance(x.realize(frame), TensorVariable) else as_array(frame, x)).getattr(frame, name)


def size(frame, a, axis=NONE):
    if not axis.is_same(NONE):
        return measured(frame, a, "shape").getitem(frame, axis)
    if isinstance(a.realize(frame), TensorVariable):
        return a.method(frame, "numel", [], {})
    return as_array(frame, a).getattr(frame, "size")


for _name, _rule in (
    ("ndim", lambda frame, a: measured(frame, a, "ndim")),
    ("shape", lambda frame, a: measured(frame, a, "shape")),
    ("size", size),
):
    of_scalars(_rule)
    trace_rules.handle(getattr(np, _name))(lambda frame, args, named, n=f"np.{_name}", f=_rule: call_row(frame, f, n, args, named))


def _scalar_class(cls: type) -> Callable:
    def rule(frame, args, kwargs):
        if args and isinstance(args[0], ArrayVariable):
            made = cast(frame, args[0], np.dtype(cls))
            return made if made.ndim or made.scalar else copied_scalar(frame, made.tensor)
        return literal(frame, run_python(frame, cls, *[plain(a) for a in args]))

    return rule


for _char in "?bBhHiIlLqQefd":
    builtin.CLASSES[np.dtype(_char).type] = _scalar_class(np.dtype(_char).type)
builtin.CLASSES[np.dtype] = lambda frame, args, kwargs: literal(frame, run_python(frame, np.dtype, args[0].as_python()))


def _number(name: str) -> Callable:
    """A method that gives Python's number; what it refuses is refused by NumPy in words of its own."""

    def rule(frame, x, /, *args):
        if (x.ndim and name.startswith("__")) or (name == "__index__" and x.dtype.kind not in "iu"):
            raise Unsupported(breaks.ARRAY_FUNCTION, f"array.{name}() of {x.describe()}, of which NumPy refuses, or warns")
        try:
            return x.tensor.method(frame, name, list(args), {})
        except Raised:
            raise Unsupported(breaks.ARRAY_FUNCTION, f"array.{name}(), which is refused") from None

    return of_scalars(rule)


for _name in ("item", "tolist", "__int__", "__float__", "__index__", "__complex__"):
    declare_method(_name, _number(_name))
