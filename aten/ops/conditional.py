"""Elementwise choice: where, clamp."""

from typing import Any

import numpy as np

from aten import dtype as dtypes
from aten.errors import warn_caller
from aten.meta import Meta
from aten.op import composite, op, ops
from aten.ops.closed import closed
from aten.ops.pointwise import finish_pointwise, pointwise_device, pointwise_meta
from aten.promotion import TYPE_NAMES, category, element, number_dtype, promote_types, result_dtype
from aten.shapes import broadcast, pointwise_strides


@op(
    "where(BoolTensor condition, Tensor? input=None, Tensor? other=None) -> Tensor",
    tags=("pointwise", "scalars"),
    promote="same",
    native="pointwise",
)
def where_(condition: Meta, input: Any, other: Any) -> Meta:
    """`input` where `condition` holds, else `other`; all three broadcast. Numbers may stand for input and other.

    `where(condition)` alone gives the indices where it holds, a tensor for each dimension.
    """
    if condition.dtype is not dtypes.bool:
        raise RuntimeError(
            f"expected condition to be a boolean tensor, but got a tensor with dtype {TYPE_NAMES[condition.dtype.name]}"
        )
    if input is None or other is None:
        raise TypeError("where() takes a condition alone, or with two values: input and other")
    dtype = input.dtype if type(input) is Meta else other.dtype
    for value in (input, other):
        if type(value) is not Meta:
            element(value, dtype, True)
    metas = [m for m in (condition, input, other) if type(m) is Meta]
    sizes = broadcast(*[m.sizes for m in metas])
    return Meta(dtype, pointwise_device(metas), sizes, pointwise_strides(sizes, metas))


@where_.special(
    lambda condition, input, other: condition.dtype is dtypes.uint8 or (not hasattr(input, "dtype") and not hasattr(other, "dtype"))
)
def _(condition, input, other):
    if condition.dtype is dtypes.uint8 and input is not None:
        warn_caller("where received a uint8 condition tensor. This behavior is deprecated. Use a boolean condition instead.")
        return ops.where(condition.to(dtypes.bool), input, other)
    if input is None:
        return ops.nonzero(condition, as_tuple=True)
    if other is None:
        raise TypeError("where() takes a condition alone, or with two values: input and other")
    dtype = promote_types(number_dtype(input), number_dtype(other))
    return ops.where(condition, ops.full([], input, dtype=dtype, device=condition.device), other)


@composite("where_method(Tensor input, BoolTensor condition, Tensor other) -> Tensor", tags=("hidden", "scalars"))
def where_method(input, condition, other):
    """input.where(condition, other)."""
    return where_(condition, input, other)


where_.kernel(lambda out, condition, x, y: np.copyto(out, np.where(condition, x, y)))



def saved_condition(condition: Any) -> Any:
    """A condition as derivatives find it: a hook of saved tensors may have cast it, where it is but a step of another function (of
    `nansum`, say, which saves none in PyTorch)."""
    return condition if condition.dtype is dtypes.bool else ops.ne(condition, 0)


finish_pointwise(
    where_,
    (lambda t, condition: where_(saved_condition(condition), t, 0), lambda t, condition: where_(saved_condition(condition), 0, t)),
    False,
)


@op(
    "clamp(Tensor input, NumberOrTensor? min=None, NumberOrTensor? max=None) -> Tensor",
    tags=("pointwise",),
    promote=lambda x, low, high: _clamp_dtype(x, low, high),
    compute="float32",
    native="pointwise",
)
def clamp(input: Meta, min: Any, max: Any) -> Meta:
    """Elements limited to [min, max]; NaN stays. Bounds are numbers or tensors, either may be None."""
    return pointwise_meta(input)


def _clamp_dtype(x: Any, low: Any, high: Any) -> Any:
    if low is None and high is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if not x.dtype.is_complex and any(type(b) is complex for b in (low, high)):
        if category(x.dtype) < 2:
            raise NotImplementedError("clamp is not supported for complex types")
        raise RuntimeError("value cannot be converted to type double without overflow")
    bounds = [b for b in (low, high) if b is not None]
    dtype = result_dtype([(x.dtype, 2 if x.ndim else 1)] + [(number_dtype(b), 0) for b in bounds])
    for bound in bounds:
        if not hasattr(bound, "dtype"):
            element(bound, dtype)
    if dtype is dtypes.bool:
        side = "" if len(bounds) == 2 else "_min" if high is None else "_max"
        raise NotImplementedError(f"\"clamp{side}_scalar_cpu\" not implemented for 'Bool'")
    return dtype


@clamp.special(lambda input, min, max: hasattr(min, "dtype") or hasattr(max, "dtype"))
def _(input, min, max):
    min, max = (_beside(*pair) for pair in ((min, max), (max, min)))
    given = [x for x in (input, min, max) if x is not None]
    if not all(hasattr(x, "dtype") for x in given):
        kinds = ["Tensor" if hasattr(x, "dtype") else type(x).__name__ for x in (min, max)]
        raise TypeError(f"clamp() received an invalid combination of arguments - got (Tensor, min={kinds[0]}, max={kinds[1]})")
    if len({x.dtype for x in given}) > 1:  # one dtype for all three, whichever bound comes first
        dtype = result_dtype([(x.dtype, 2 if x.ndim else 1) for x in given])
        input, min, max = (x if x is None else x.to(dtype) for x in (input, min, max))
    if input.dtype.is_floating_point:
        return _between(input, min, max)
    if input.dtype is dtypes.bool and len(given) == 3:
        raise NotImplementedError("\"clamp_cpu\" not implemented for 'Bool'")
    result = input if min is None else ops.maximum(input, min)
    return result if max is None else ops.minimum(result, max)


def _beside(bound: Any, other: Any) -> Any:
    """A number beside a bound that is a tensor of one number, as such a tensor."""
    number = bound is not None and not hasattr(bound, "dtype")
    return ops.full([], bound, dtype=number_dtype(bound), device=other.device) if number and other.ndim == 0 else bound


def _between(x, low, high):
    """Bounds that are tensors: of equal numbers x has the gradient, a bound only where it takes the place of x."""
    if high is None:
        return ops.clamp_below(x, low)
    if low is None:
        return ops.clamp_above(x, high)
    return ops.clamp_between(x, low, high)


@composite("clamp_between(Tensor input, Tensor min, Tensor max) -> Tensor", tags=["function_only", "hidden"], native="chain")
def clamp_between(input, min, max):
    """`clamp` between tensors of bounds."""
    return ops.clamp_both(input, min, max)


closed(
    "clamp_below(Tensor input, Tensor min) -> Tensor",
    lambda x, low: ops.maximum(x, low),
    (lambda t, x, y: where_(x >= y, t, 0), lambda t, x, y: where_(x < y, t, 0)),
    "`clamp` by a tensor of lower bounds.",
)
closed(
    "clamp_above(Tensor input, Tensor max) -> Tensor",
    lambda x, high: ops.minimum(x, high),
    (lambda t, x, y: where_(x <= y, t, 0), lambda t, x, y: where_(x > y, t, 0)),
    "`clamp` by a tensor of upper bounds.",
)
closed(
    "clamp_both(Tensor input, Tensor min, Tensor max) -> Tensor",
    lambda x, low, high: ops.minimum(ops.maximum(x, low), high),
    (
        lambda t, x, y, z: where_((x >= y) & (x <= z), t, 0),
        lambda t, x, y, z: where_((y < z) & (x < y), t, 0),
        lambda t, x, y, z: where_((x > z) | (z < y), t, 0),
    ),
    "`clamp` between tensors of bounds.",
)


@clamp.kernel
def _(out, x, low, high):
    y = x if low is None else _limited(x, low, np.less)
    out[...] = y if high is None else _limited(y, high, np.greater)


def _limited(x: np.ndarray, bound: Any, outside: np.ufunc) -> np.ndarray:
    """x, and the bound where x is outside or the bound NaN: of zeros with two signs x stays, as in the native loop."""
    limit = np.array(bound).astype(x.dtype)
    return np.where(outside(x, limit) | (limit != limit), limit, x)


def _clamp_product(g, x, min, max):
    inside = x >= min if min is not None else x <= max
    if min is not None and max is not None:
        inside = inside & (x <= max)
    return where_(inside, g, 0)


finish_pointwise(clamp, _clamp_product, True)
