"""Other dtypes and devices, and Python values."""

from typing import Any

import numpy as np

from aten import _native
from aten import dtype as dtypes
from aten.devices import same, waited
from aten.dtype import DType
from aten.float8 import powers, saturated
from aten.meta import CHANNELS_INNERMOST, Meta, channels_innermost, contiguous_strides, dense_strides, known_equal
from aten.op import composite, op, ops
from aten.ops.pointwise import finish_pointwise, pointwise_meta
from aten.promotion import can_cast as _can_cast
from aten.promotion import number_dtype, result_dtype
from aten.promotion import promote_types as _promote_types
from aten.schema import the_one_host

METHODS = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
    "bool": "bool",
    "cfloat": "complex64",
    "cdouble": "complex128",
    "chalf": "complex32",
}


def convert(x: Any, dtype: Any, copy: bool = False) -> Any:
    """x in a dtype: itself if it has it already and no copy is asked."""
    if dtype is None or dtype is x.dtype:
        return ops.clone(x) if copy else x
    return ops.cast(x, dtype)


@composite(
    "to(Tensor input, Any first=None, Any second=None, bool non_blocking=False, bool copy=False, *, ScalarType? dtype=None, "
    "Device? device=None, MemoryFormat? memory_format=None, Any other=None) -> Tensor",
    native="copy",
)
def to(input, first, second, non_blocking, copy, dtype, device, memory_format, other):
    """The tensor in another dtype or on another device; itself if nothing changes.

    Forms: to(dtype), to(device), to(device, dtype), to(other).
    """
    for value in (first, second, other):
        if value is None or isinstance(value, bool):
            continue
        if isinstance(value, DType):
            dtype = value
        elif hasattr(value, "dtype") and hasattr(value, "device"):
            dtype, device = value.dtype, value.device
        elif isinstance(value, type):
            dtype = {float: dtypes.float64, int: dtypes.int64, bool: dtypes.bool, complex: dtypes.complex128}.get(value)
            if dtype is None:
                raise TypeError(f"to(): {value.__name__} is no dtype")
        else:
            device = the_one_host(dtypes.device(value))
    if device is not None and not same(device, input.device):
        result = convert((to_device_ahead if non_blocking else to_device)(input, device), dtype)
    else:
        result = convert(input, dtype, copy)
    if memory_format is None or result is input and _has_format(input, memory_format):
        return result
    return _laid_out(result, memory_format)


def _has_format(x, memory_format):
    """Whether the order of its dims is that of the format, whatever gaps there are: then `to` has nothing to do."""
    if memory_format.name == "contiguous_format":
        return not channels_innermost(Meta.of(x))
    return memory_format.name == {4: "channels_last", 5: "channels_last_3d"}.get(x.ndim) and channels_innermost(Meta.of(x))


def _laid_out(x, memory_format):
    """x in a format; where dims of one element leave room for doubt, with the strides that the format gives them, too."""
    if memory_format.name == "preserve_format":
        return x
    made = x.contiguous(memory_format=memory_format)
    if memory_format.name not in CHANNELS_INNERMOST or made is not x:
        return made
    steps = contiguous_strides([x.shape[d] for d in (0, *range(2, x.ndim), 1)])
    strides = (steps[0], steps[-1], *steps[1:-1])
    return x if all(map(known_equal, x.stride(), strides)) else ops.clone(x, memory_format=memory_format)


def _moving(name: str, ahead: bool, doc: str) -> Any:
    """An op that copies to another device; `ahead`: from or to pinned memory it may return before the copy is done."""

    @op(f"{name}(Tensor input, Device device) -> Tensor", tags=("function_only", "hidden"))
    def moving(input: Meta, device: Any) -> Meta:
        if input.device.type == "meta" and device.type != "meta":
            raise NotImplementedError("Cannot copy out of meta tensor; no data! to_empty() gives memory.")
        return Meta(input.dtype, device, input.sizes, dense_strides(input))

    moving.__doc__ = doc

    @moving.anywhere
    def _(input, device):
        strides = dense_strides(Meta.of(input))
        if device.type == "meta":
            return _native.empty(tuple(input.shape), input.dtype, device, strides)
        if tuple(input.stride()) != strides and input.device.type == "cpu":
            input = _native.alias(input, input.shape, input.stride(), input.storage_offset()).contiguous()
        moved = _native.move(input, device, ahead)
        if ahead and device.type == "cpu":
            waited()  # (the copy itself need not have waited)
        return moved if moved.stride() == strides or device.type != "cpu" else moved.contiguous()

    moving.vjp(lambda g, input_meta: to_device(g, input_meta.device))
    moving.jvp(lambda tangents, input, device, out: moving(tangents[0], device))
    moving.batch(lambda n, dims, input, device: (moving(input, device), dims[0]))
    return moving


to_device = _moving(
    "to_device",
    False,
    """The same elements in memory of another device, laid out as elementwise results are.

    Raises NotImplementedError from meta, which has no elements; RuntimeError if there is no such device.
    """,
)
to_device_ahead = _moving("to_device_ahead", True, "`to_device` that does not wait for copies from or to pinned memory.")


def _method(name: str, dtype_name: str) -> None:
    dtype = getattr(dtypes, dtype_name)

    native = None if dtype.is_complex else "copy"

    @composite(f"{name}(Tensor input, *, MemoryFormat? memory_format=None) -> Tensor", native=native)
    def definition(input, memory_format):
        result = convert(input, dtype)
        return result if memory_format is None else _laid_out(result, memory_format)

    definition.__doc__ = f"The tensor as {dtype_name}."


for _name, _dtype in METHODS.items():
    _method(_name, _dtype)


@composite("type_as(Tensor input, Tensor other) -> Tensor")
def type_as(input, other):
    """The tensor in the dtype of another, where that is."""
    return convert(input, other.dtype) if input.device == other.device else to(input, other)


@composite("cpu(Tensor input, MemoryFormat? memory_format=None) -> Tensor")
def cpu(input, memory_format):
    """The tensor in main memory."""
    return to(input, device=dtypes.device("cpu"))


@composite("cuda(Tensor input, Any device=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor")
def cuda(input, device, non_blocking, memory_format):
    """The tensor in memory of a GPU: of the first if none is named."""
    return to(input, device=dtypes.device("cuda" if device is None else device), non_blocking=non_blocking)


@composite("result_type(Any tensor1, Any tensor2) -> Any", tags=["function_only"])
def result_type(tensor1, tensor2):
    """The dtype that arithmetic of the two gives."""
    for i, x in enumerate((tensor1, tensor2), 1):
        if not hasattr(x, "dtype") and not hasattr(x, "kind") and not isinstance(x, (int, float, complex)):
            raise TypeError(f"result_type(): argument 'tensor{i}' (position {i}) must be Tensor or Number, not {type(x).__name__}")
    return result_dtype(
        [(x.dtype, 2 if x.ndim else 1) if hasattr(x, "dtype") else (number_dtype(x), 0) for x in (tensor1, tensor2)]
    )


@composite("promote_types(ScalarType type1, ScalarType type2) -> Any", tags=["function_only"])
def promote_types(type1, type2):
    """The smallest dtype that holds both."""
    return _promote_types(type1, type2)


@composite("_local_scalar_dense(Tensor input) -> Any", tags=["function_only"])
def _local_scalar_dense(input):
    """The only element as a Python number: what `item()` asks of classes with a `__torch_dispatch__`."""
    return input.item()


@composite("can_cast(ScalarType from_, ScalarType to) -> bool", tags=["function_only"])
def can_cast(from_, to):
    """Whether an in-place op may put the one dtype into the other."""
    return _can_cast(from_, to)


@op("cast(Tensor input, ScalarType dtype) -> Tensor", tags=("pointwise", "function_only"), native="copy")
def cast(input: Meta, dtype: Any) -> Meta:
    """The elements in another dtype; floats become integers by truncation."""
    return pointwise_meta(input, dtype=dtype)


@cast.kernel
def _(out, x, dtype):
    if x.dtype.kind == "c" and out.dtype.kind not in "cb":
        x = x.real
    if x.dtype.kind not in "biufc" and out.dtype.kind in "biu":  # bfloat16
        x = x.astype(np.float32)
    if x.dtype.kind == "f" and out.dtype.kind in "iu":
        x = _wrap_to_int(x, out.dtype)
    elif x.dtype.kind == "c" and out.dtype.kind == "b":
        x = x != 0
    if out.dtype.name == "float8_e8m0fnu":
        out.view(np.uint8)[...] = powers(x)
    else:
        out[...] = saturated(x, out.dtype)
        if out.dtype.name == "float8_e5m2":  # of its NaNs the one with all bits set
            out.view(np.uint8)[np.isnan(x)] |= 0x7F


def _wrap_to_int(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Truncate to int32 (int8, int16, uint16, int32) or int64, then keep the low bits; what does not fit becomes the minimum,
    as on x86. The upper half of uint64 is counted from its own start."""
    way = np.int32 if dtype.name in ("int8", "int16", "uint16", "int32") else np.int64
    limit = 2.0 ** (np.iinfo(way).bits - 1)
    if dtype == np.uint64:
        low, high = (_wrap_to_int(part, np.dtype(np.int64)) for part in (x, x - limit))
        return np.where(x >= limit, high ^ np.iinfo(np.int64).min, low).astype(dtype)
    whole = np.trunc(x.astype(np.float64))
    fits = (whole >= -limit) & (whole < limit)
    return np.where(fits, np.where(fits, whole, 0).astype(way), np.iinfo(way).min).astype(dtype)


finish_pointwise(cast, None, False)
cast.vjp(lambda g, input_meta: convert(g, input_meta.dtype))
cast.jvp(lambda tangents, input, dtype, out: convert(tangents[0], dtype))
