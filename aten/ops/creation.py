"""Tensors from nothing: full, arange, eye and what follows from them. `dtype` and `device` of core forms are
resolved.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from aten import _native
from aten import dtype as dtypes
from aten._native import Tensor
from aten.arrays import as_number
from aten.errors import warn_caller
from aten.meta import Meta, dense_strides, exceeds
from aten.op import composite, inplace_of, op, ops
from aten.promotion import TYPE_NAMES, category, element, number_dtype
from aten.scalar.unpatched import math
from aten.shapes import show

_FACTORY = "*, ScalarType? dtype=None, Device? device=None, Any layout=None, bool? pin_memory=None, bool requires_grad=False"
_LIKE = (
    "*, ScalarType? dtype=None, Device? device=None, Any layout=None, bool requires_grad=False, "
    "MemoryFormat? memory_format=None"
)
CPU = dtypes.device("cpu")


def check_sizes(size: list[Any]) -> None:
    """Raises RuntimeError for a negative size."""
    for s in size:
        if exceeds(0, s):
            raise RuntimeError(f"Trying to create tensor with negative dimension {s}: {show(size)}")


def finish(x: Any, requires_grad: bool) -> Any:
    """A factory's result, a leaf that requires grad if asked."""
    return x.requires_grad_() if requires_grad else x


@op(
    "full(int[*] size, Scalar fill_value, *, ScalarType? dtype=None, Device? device=None, Any layout=None, bool? "
    "pin_memory=None, bool requires_grad=False) -> Tensor",
    kind="factory",
    tags=["function_only"],
    native="create",
)
def full(size: list[Any], fill_value: Any, dtype: Any, device: Any) -> Meta:
    """A tensor of one value, which fits the dtype; that is by default the value's."""
    check_sizes(size)
    element(fill_value, dtype, _is_one(size))
    return Meta.contiguous(size, dtype, device)


full.special(lambda size, fill_value, dtype, device, layout, pin_memory, requires_grad: requires_grad)(
    lambda size, fill_value, dtype, device, *rest: full(size, fill_value, dtype=dtype, device=device).requires_grad_()
)


@full.normal
def _(size, fill_value, dtype, device, *rest):
    return size, fill_value, dtype or number_dtype(fill_value), device or CPU


@full.kernel
def _(out, size, fill_value, dtype, device):
    out[...] = as_number(element(fill_value, dtype, _is_one(size)), out.dtype)


def _is_one(size: Any) -> bool:
    return all(type(s) is int and s == 1 for s in size)


@composite(f"zeros(int[*] size, {_FACTORY}) -> Tensor", tags=["function_only"], native="create")
def zeros(size, dtype, device, layout, pin_memory, requires_grad):
    """A tensor of zeros."""
    return finish(full(size, 0, dtype=dtype or dtypes.get_default_dtype(), device=device), requires_grad)


@composite(f"ones(int[*] size, {_FACTORY}) -> Tensor", tags=["function_only"], native="create")
def ones(size, dtype, device, layout, pin_memory, requires_grad):
    """A tensor of ones."""
    return finish(full(size, 1, dtype=dtype or dtypes.get_default_dtype(), device=device), requires_grad)


@op(
    "empty(int[*] size, *, ScalarType? dtype=None, Device? device=None, Any layout=None, bool? pin_memory=None, bool "
    "requires_grad=False, MemoryFormat? memory_format=None) -> Tensor",
    kind="factory",
    tags=["function_only"],
    native="create",
)
def empty(size: list[Any], dtype: Any, device: Any) -> Meta:
    """A tensor of undefined values."""
    check_sizes(size)
    return Meta.contiguous(size, dtype, device)


empty.normal(lambda size, dtype, device, *rest: (size, dtype or dtypes.get_default_dtype(), device or CPU))


@empty.special(
    lambda size, dtype, device, layout, pin_memory, requires_grad, memory_format: (
        requires_grad or getattr(memory_format, "name", None) in _CHANNELS
    )
)
def _(size, dtype, device, layout, pin_memory, requires_grad, memory_format):
    return finish(laid_out(size, None, memory_format, lambda sizes: empty(sizes, dtype=dtype, device=device)), requires_grad)


empty.kernel(lambda out, size, dtype, device: None)
empty.kernel_for("cuda")(lambda out, size, dtype, device: None)
empty.decompose(lambda size, dtype, device: full(size, 0, dtype=dtype, device=device))


@composite(
    "empty_strided(int[] size, int[] stride, *, ScalarType? dtype=None, Device? device=None, Any layout=None, "
    "bool? pin_memory=None, bool requires_grad=False) -> Tensor",
    tags=["function_only"],
)
def empty_strided(size, stride, dtype, device, layout, pin_memory, requires_grad):
    """Undefined values in memory with these strides."""
    span = 0 if 0 in size else 1 + sum((n - 1) * s for n, s in zip(size, stride))
    return finish(ops.as_strided(empty([span], dtype=dtype, device=device), size, stride), requires_grad)


_CHANNELS = {"channels_last": 4, "channels_last_3d": 5}  # formats with the channels innermost, and of how many dims


def laid_out(sizes: list[Any], like: Any, memory_format: Any, make: Any) -> Any:
    """make(sizes), with its dims in memory as a format says, or (None, preserve_format) as those of the tensor `like`."""
    name, n = getattr(memory_format, "name", "preserve_format"), len(sizes)
    if name in _CHANNELS:
        if n != _CHANNELS[name]:
            raise RuntimeError(f"required rank {_CHANNELS[name]} tensor to use {name} format")
        order = [0, *range(2, n), 1]
    elif name != "preserve_format" or like is None or like.is_contiguous():
        return make(sizes)
    else:
        strides = [v if type(v) is int else v.hint for v in dense_strides(Meta.of(like))]
        if None in strides or 0 in sizes:  # (the order of symbolic strides is that of their hints: no size of theirs is 0 or 1)
            return make(sizes)
        order = sorted(range(n), key=lambda d: (-strides[d], sizes[d] != 1, d))
    if order == list(range(n)):
        return make(sizes)
    return ops.permute(make([sizes[d] for d in order]), [order.index(d) for d in range(n)])


def _like(name: str, value: Any) -> None:
    @composite(f"{name}_like(Tensor input, {_LIKE}) -> Tensor", tags=["function_only"], native="create")
    def like(input, dtype, device, layout, requires_grad, memory_format):
        """A tensor with the sizes (and by default dtype and device) of another."""
        keywords = {"dtype": dtype or input.dtype, "device": device or input.device}
        make = lambda sizes: empty(sizes, **keywords) if value is None else full(sizes, value, **keywords)
        return finish(laid_out(list(input.shape), input, memory_format, make), requires_grad)

    @composite(f"new_{name}(Tensor input, int[*] size, {_FACTORY}) -> Tensor", native="create")
    def new(input, size, dtype, device, layout, pin_memory, requires_grad):
        """A tensor with the dtype and device of another."""
        keywords = {"dtype": dtype or input.dtype, "device": device or input.device}
        made = empty(size, **keywords) if value is None else full(size, value, **keywords)
        return finish(made, requires_grad)


_like("zeros", 0)
_like("ones", 1)
_like("empty", None)


@composite(f"full_like(Tensor input, Scalar fill_value, {_LIKE}) -> Tensor", tags=["function_only"], native="create")
def full_like(input, fill_value, dtype, device, layout, requires_grad, memory_format):
    """A tensor of one value with the sizes, dtype and device of another."""
    make = lambda sizes: full(sizes, fill_value, dtype=dtype or input.dtype, device=device or input.device)
    return finish(laid_out(list(input.shape), input, memory_format, make), requires_grad)


@composite(f"new_full(Tensor input, int[] size, Scalar fill_value, {_FACTORY}) -> Tensor", native="create")
def new_full(input, size, fill_value, dtype, device, layout, pin_memory, requires_grad):
    """A tensor of one value with the dtype and device of another."""
    return finish(full(size, fill_value, dtype=dtype or input.dtype, device=device or input.device), requires_grad)


@composite(f"new_tensor(Tensor input, Any data, {_FACTORY}) -> Tensor")
def new_tensor(input, data, dtype, device, layout, pin_memory, requires_grad):
    """`tensor(data)` with the dtype and device of another."""
    from aten.tensor import tensor

    return tensor(data, dtype=dtype or input.dtype, device=device or input.device, requires_grad=requires_grad)


# ------------------------------------------------------------------------------------------------------ ranges
def _length(start: Any, end: Any, step: Any, dtype: Any) -> Any:
    if all(isinstance(v, (int, float)) for v in (start, end, step)):
        if not (step > 0 or step < 0):  # (NaN is neither)
            raise RuntimeError("step must be nonzero")
        if not (math.isfinite(start) and math.isfinite(end)):
            raise RuntimeError(f"unsupported range: {start:g} -> {end:g}")
        if (end - start) * (1 if step > 0 else -1) < 0:
            raise RuntimeError("upper bound and lower bound inconsistent with step sign")
        if dtype is dtypes.int64 and all(isinstance(v, int) for v in (start, end, step)):
            return max(0, -((start - end) // step))
        return int(math.ceil((float(end) - float(start)) / step))  # other dtypes count in doubles
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if exceeds(start, end) if step > 0 else exceeds(end, start):
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if any(isinstance(v, float) or getattr(v, "kind", "int") == "float" for v in (start, end, step)):
        return math.ceil((end - start) / step)
    if step > 0:
        return (end - start + (step - 1)) // step
    return (start - end + (-step - 1)) // -step


@op(
    "arange(Scalar start, Scalar? end=None, Scalar step=1, *, ScalarType? dtype=None, Device? device=None, Any layout=None, "
    "bool? pin_memory=None, bool requires_grad=False) -> Tensor",
    kind="factory",
    tags=["function_only"],
    native="create",
)
def arange(start: Any, end: Any, step: Any, dtype: Any, device: Any) -> Meta:
    """start, start + step, … below end; integers give int64."""
    return Meta.contiguous((_length(start, end, step, dtype),), dtype, device)


def _whole(start: Any, end: Any, step: Any, dtype: Any) -> tuple[Any, Any, Any]:
    """The bounds of integers from numbers: int64 counts with their whole parts, shorter integers have as many as the numbers."""
    given = start, end, step
    if not any(isinstance(v, float) and math.isfinite(v) for v in given):
        return given
    start, whole_end, whole_step = (int(v) if isinstance(v, float) and math.isfinite(v) else v for v in given)
    if whole_step == 0 and step:
        _length(*given, dtypes.float64)  # (what is wrong with the numbers comes first)
        raise ValueError("step must be nonzero")
    finite = all(isinstance(v, (int, float)) and math.isfinite(v) for v in given)
    if dtype is not dtypes.int64 and finite and whole_step and (given[1] - given[0]) / step >= 0:
        whole_end = start + math.ceil((end - given[0]) / step) * whole_step
    return start, whole_end, whole_step


def _real_number(value: Any) -> Any:
    if not isinstance(value, complex):
        return value
    if value.imag:
        raise RuntimeError("value cannot be converted to type double without overflow")
    return value.real


@arange.normal
def _(start, end, step, dtype, device, *rest):
    if end is None:
        start, end = 0, start
    start, end, step = (_real_number(v) for v in (start, end, step))
    if dtype is None:
        floats = any(isinstance(v, float) or getattr(v, "kind", "int") == "float" for v in (start, end, step))
        dtype = dtypes.get_default_dtype() if floats else dtypes.int64
    elif dtype is dtypes.bool:
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{TYPE_NAMES[dtype.name]}'")
    elif not dtype.is_floating_point and not dtype.is_complex:
        start, end, step = _whole(start, end, step, dtype)
    return start, end, step, dtype, device or CPU


def _stands(step: Any, dtype: Any) -> bool:
    """Whether integers shorter than int64 are as many as numbers of this step, whose whole part is none."""
    short = dtype is not None and dtype not in (dtypes.bool, dtypes.int64) and category(dtype) < 2
    return short and isinstance(step, float) and 0 < abs(step) < 1


@arange.special(lambda start, end, step, dtype, *rest: rest[-1] or _stands(step, dtype))
def _(start, end, step, dtype, device, *rest):
    if rest[-1]:
        return arange(start, end, step, dtype=dtype, device=device).requires_grad_()
    first, last = (0, start) if end is None else (start, end)
    return full([_length(first, last, step, dtype)], int(first), dtype=dtypes.int64, device=device).to(dtype)


@arange.kernel
def _(out, start, end, step, dtype, device):
    wide = np.float64 if isinstance(start + step, float) else np.int64
    out[...] = (wide(start) + np.arange(out.shape[0], dtype=wide) * wide(step)).astype(out.dtype)


@composite(f"range(Scalar start=0, Scalar? end=None, Scalar step=1, {_FACTORY}) -> Tensor", tags=["function_only"])
def range_(start, end, step, dtype, device, layout, pin_memory, requires_grad):
    """start, start + step, … up to and including end."""
    warn_caller(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with Python's "
        "range builtin. Instead, use torch.arange, which produces values in [start, end)."
    )
    if end is None:
        start, end = 0, start
    n = int(math.floor((end - start) / step)) + 1
    made = arange(n, device=device).to(dtypes.float64) * step + start
    return finish(made.to(dtype or dtypes.get_default_dtype()), requires_grad)


def _spaced(start: Any, end: Any, steps: int, dtype: Any, device: Any) -> Any:
    """Evenly spaced, counted from the nearer end, so that both ends are exact."""
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if steps < 2:
        return full([steps], start, dtype=dtype, device=device)
    if type(steps) is int and type(start) in (int, float) and type(end) in (int, float) and category(dtype) < 3:
        number = np.float32 if dtype is dtypes.float32 else np.float64  # in which the step is rounded
        with np.errstate(all="ignore"):
            low, high = number(start), number(end)
            step = (high - low) / number(steps - 1)
        kept = dtype if dtype in (dtypes.float32, dtypes.float64) else dtypes.float64
        return spaced(float(low), float(high), float(step), steps, dtype=kept, device=device)
    if dtype is dtypes.float32 and not isinstance(start, complex) and not isinstance(end, complex):
        return _spaced_once_rounded(start, end, steps, device)
    wide = dtypes.float64 if category(dtype) < 3 else dtype
    return _from_both_ends(start, end, (end - start) / (steps - 1), steps, wide, device)


@op(
    "spaced(float start, float end, float step, int steps, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    kind="factory",
    tags=["fused", "function_only", "hidden"],
)
def spaced(start: float, end: float, step: float, steps: int, dtype: Any, device: Any) -> Meta:
    """`steps` values `step` apart, counted from the nearer end; computed in float64."""
    return Meta.contiguous([steps], dtype, device or CPU)


@spaced.kernel
def _(out, start, end, step, steps, dtype, device):
    low = steps // 2
    out[:low] = start + np.arange(low) * step
    out[low:] = end - np.arange(steps - low - 1, -1, -1) * step


@spaced.decompose
def _(start, end, step, steps, dtype, device):
    return _from_both_ends(start, end, step, steps, dtypes.float64, device).to(dtype)


def _from_both_ends(start: Any, end: Any, step: Any, steps: int, dtype: Any, device: Any) -> Any:
    low = steps // 2
    below = arange(low, dtype=dtype, device=device) * step + start
    above = end - arange(steps - low - 1, -1, -1, dtype=dtype, device=device) * step
    return ops.cat([below, above], 0)


def _spaced_once_rounded(start: Any, end: Any, steps: int, device: Any) -> Any:
    """The step is a float32, each product and sum is rounded once, as by a fused multiply-add."""
    start, end = (full([], v, dtype=dtypes.float32, device=device) for v in (start, end))
    step = (end - start) / full([], steps - 1, dtype=dtypes.float32, device=device)
    start, end, step = (v.to(dtypes.float64) for v in (start, end, step))
    return _from_both_ends(start, end, step, steps, dtypes.float64, device)


def _are_values(*numbers: Any) -> bool:
    """Whether one is a tensor of a transform, which has no number to ask for."""
    return any(isinstance(v, Tensor) and _native.is_tracer(v) for v in numbers)


def _spaced_values(start: Any, end: Any, steps: int, dtype: Any, device: Any) -> Any:
    if category(dtype) < 2:
        start, end = (v.to(dtypes.int64) if isinstance(v, Tensor) else int(v) for v in (start, end))
    wide = dtypes.complex128 if dtype.is_complex else dtypes.float64
    start, end = (v.to(wide) if isinstance(v, Tensor) else full([], v, dtype=wide) for v in (start, end))
    if steps == 1:
        return start.reshape([1])
    return _from_both_ends(start, end, (end - start) / (steps - 1), steps, wide, device)


def _number(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return int(value) if isinstance(value, bool) else value


def _spaced_dtype(name: str, start: Any, end: Any, dtype: Any) -> Any:
    """The default dtype, or the complex one of its precision if an end is complex. Raises RuntimeError for a real one then."""
    if not any(isinstance(v, complex) or isinstance(v, Tensor) and v.dtype.is_complex for v in (start, end)):
        return dtype or dtypes.get_default_dtype()
    inferred = number_dtype(1j)
    if dtype is not None and not dtype.is_complex:
        passed, inner = TYPE_NAMES[dtype.name], "double" if inferred is dtypes.complex128 else "float"
        raise RuntimeError(
            f"torch.{name}(): inferred dtype c10::complex<{inner}> can't be safely cast to passed dtype {passed}"
        )
    return dtype or inferred


@composite(f"linspace(Any start, Any end, int steps, {_FACTORY}) -> Tensor", tags=["function_only"])
def linspace(start, end, steps, dtype, device, layout, pin_memory, requires_grad):
    """`steps` values from start to end, both included."""
    dtype = _spaced_dtype("linspace", start, end, dtype)
    if _are_values(start, end):
        return finish(_spaced_values(start, end, steps, dtype, device).to(dtype), requires_grad)
    start, end = (_number(v) for v in (start, end))
    if category(dtype) < 2:
        start, end = int(start), int(end)
    return finish(_spaced(start, end, steps, dtype, device).to(dtype), requires_grad)


@composite(f"logspace(Any start, Any end, int steps, float base=10.0, {_FACTORY}) -> Tensor", tags=["function_only"])
def logspace(start, end, steps, base, dtype, device, layout, pin_memory, requires_grad):
    """base to the power of `steps` values from start to end."""
    dtype = _spaced_dtype("logspace", start, end, dtype)
    if _are_values(start, end):
        return finish((base ** _spaced_values(start, end, steps, dtype, device)).to(dtype), requires_grad)
    start, end = (_number(v) for v in (start, end))
    if category(dtype) < 2:
        start, end = int(start), int(end)
    exponents = _spaced(start, end, steps, dtypes.complex128 if dtype.is_complex else dtypes.float64, device)
    return finish((base**exponents).to(dtype), requires_grad)


@op(
    "eye(int n, int? m=None, *, ScalarType? dtype=None, Device? device=None, Any layout=None, bool? pin_memory=None, "
    "bool requires_grad=False) -> Tensor",
    kind="factory",
    tags=["function_only"],
)
def eye(n: Any, m: Any, dtype: Any, device: Any) -> Meta:
    """Ones on the diagonal, zeros elsewhere."""
    for size in (n, m):
        if exceeds(0, size):
            raise RuntimeError(f"n must be greater or equal to 0, got {size}")
    return Meta.contiguous((n, m), dtype, device)


eye.normal(lambda n, m, dtype, device, *rest: (n, n if m is None else m, dtype or dtypes.get_default_dtype(), device or CPU))
eye.special(lambda *public: public[-1])(lambda n, m, dtype, device, *rest: eye(n, m, dtype=dtype, device=device).requires_grad_())


@eye.kernel
def _(out, n, m, dtype, device):
    out[...] = np.eye(*out.shape, dtype=bool)


@eye.decompose
def _(n, m, dtype, device):
    rows = arange(n, device=device).unsqueeze(1)
    return ops.cast(ops.eq(rows, arange(m, device=device)), dtype)


def _triangle(name: str, inside: Any, size: Any, doc: str) -> None:
    @op(f"{name}(int row, int col, int offset=0, {_FACTORY}) -> Tensor", kind="factory", tags=["library", "function_only"])
    def indices(row: Any, col: Any, offset: Any, dtype: Any, device: Any) -> Meta:
        for label, n in (("row", row), ("col", col)):
            if n < 0:
                raise RuntimeError(f"{label} must be non-negative, got{n}")
        if dtype is not dtypes.int64 and dtype is not dtypes.int32:
            raise NotImplementedError(f"\"{name}\" not implemented for '{TYPE_NAMES[dtype.name]}'")
        return Meta.contiguous((2, size(row, col, offset)), dtype, device)

    indices.__doc__ = indices.function.__doc__ = doc
    indices.normal(lambda row, col, offset, dtype, device, *rest: (row, col, offset, dtype or dtypes.int64, device or CPU))
    indices.special(lambda *public: public[-1])(
        lambda row, col, offset, dtype, device, *rest: finish(indices(row, col, offset, dtype=dtype, device=device), True)
    )

    @indices.kernel
    def _(out, row, col, offset, dtype, device):
        out[...] = np.nonzero(inside(np.arange(row)[:, None] + offset, np.arange(col)))


def _lower_size(row: Any, col: Any, offset: Any) -> Any:
    """How many places (i, j) have j <= i + offset: the sum of the numbers of such j over all rows."""

    def up_to(k: Any) -> Any:  # the sum of min(j, col) for j in 1, ..., k
        if k <= 0:
            return 0
        return k * (k + 1) // 2 if k <= col else col * (col + 1) // 2 + (k - col) * col

    return up_to(row + offset) - up_to(offset)


_triangle(
    "tril_indices",
    lambda i, j: j <= i,
    _lower_size,
    "Row and column numbers of the lower triangle (columns up to row + offset), as two rows of int64 or int32.",
)
_triangle(
    "triu_indices",
    lambda i, j: j >= i,
    lambda row, col, offset: row * col - _lower_size(row, col, offset - 1),
    "Row and column numbers of the upper triangle (columns from row + offset), as two rows of int64 or int32.",
)


@composite(
    "scalar_tensor(Scalar s, *, ScalarType? dtype=None, Device? device=None, Any layout=None, bool? pin_memory=None, "
    "bool requires_grad=False) -> Tensor",
    tags=["function_only"],
)
def scalar_tensor(s, dtype, device, layout, pin_memory, requires_grad):
    """A 0-d tensor of one number, of the default dtype unless told."""
    return finish(full([], s, dtype=dtype or dtypes.get_default_dtype(), device=device), requires_grad)


@composite("fill(Tensor input, NumberOrTensor value) -> Tensor", tags=["fill"])
def fill(input, value):
    """A tensor of one value (a number or a 0-d tensor) with the sizes and dtype of the input."""
    if hasattr(value, "dtype"):
        if value.ndim:
            raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
        return ops.copy(input, value if value.device.type == "cpu" else value.to(input.device))
    element(value, input.dtype, _is_one(input.shape))
    return ops.copy(input, full([], value, dtype=input.dtype, device=input.device))


fill.inplace = inplace_of(fill, native="copy")


@composite("zero(Tensor input) -> Tensor", tags=["hidden", "fill"])
def zero(input):
    """Zeros with the sizes and dtype of the input."""
    return ops.copy(input, full([], 0, dtype=input.dtype, device=input.device))


zero.inplace = inplace_of(zero, native="copy")


@composite(f"new_empty_strided(Tensor input, int[] size, int[] stride, {_FACTORY}) -> Tensor")
def new_empty_strided(input, size, stride, dtype, device, layout, pin_memory, requires_grad):
    """`empty_strided` with the dtype and device of another tensor."""
    made = empty_strided(size, stride, dtype=dtype or input.dtype, device=device or input.device)
    return finish(made, requires_grad)


@composite(f"empty_permuted(int[] size, int[] physical_layout, {_FACTORY}) -> Tensor", tags=["function_only"])
def empty_permuted(size, physical_layout, dtype, device, layout, pin_memory, requires_grad):
    """Undefined values in memory whose dims, from slowest to fastest, are those of physical_layout."""
    if sorted(physical_layout) != list(range(len(size))):
        raise RuntimeError(f"Duplicate or missing dim in physical_layout {show(physical_layout)}")
    made = empty([size[d] for d in physical_layout], dtype=dtype, device=device)
    order = [physical_layout.index(d) for d in range(len(size))]
    return finish(ops.permute(made, order) if size else made, requires_grad)
