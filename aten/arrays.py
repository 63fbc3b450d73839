"""Kernels that NumPy runs: memory as an array, numbers as their dtype has them, halves computed wider and rounded once."""

from __future__ import annotations

from typing import Any

import numpy as np

from aten import _native, devices
from aten import dtype as dtypes
from aten._native import Tensor
from aten.float8 import saturated
from aten.op import Op
from aten.promotion import TYPE_NAMES


def array(tensor: Tensor) -> np.ndarray:
    """The tensor's memory, which is the host's, as a NumPy array, whatever its autograd state."""
    if tensor.device is not devices.CPU and not tensor.is_meta:
        raise NotImplementedError(f"a kernel of the CPU cannot read memory on {tensor.device}")
    return tensor.numpy(force=True)


def numbers(tensor: Tensor) -> np.ndarray:
    """The tensor's elements as NumPy computes with them: its memory, or complex64 for complex32, which NumPy lacks."""
    a = array(tensor)
    if tensor.dtype is not dtypes.complex32:
        return a
    return np.asarray(a["real"].astype(np.float32) + 1j * a["imag"].astype(np.float32))


def store(tensor: Tensor, values: np.ndarray) -> None:
    """Put numbers into the tensor's memory, casting; a complex32 takes their parts."""
    memory = array(tensor)
    if tensor.dtype is not dtypes.complex32:
        memory[...] = values
    elif values.dtype == memory.dtype:
        memory[...] = values
    else:
        memory["real"], memory["imag"] = values.real, values.imag


def as_number(value: Any, dtype: np.dtype) -> np.ndarray:
    """A Python number as a 0-d array of `dtype`; integers wrap as C casts do."""
    if dtype.kind in "iu" and not isinstance(value, (bool, float, complex)):
        bits = 8 * dtype.itemsize
        value = int(value) & ((1 << bits) - 1)
        if dtype.kind == "i" and value >> (bits - 1):
            value -= 1 << bits
    elif dtype.kind in "iu":
        value = int(value)
    return np.array(value if dtype.kind in "biufc" else saturated(np.array(value), dtype), dtype)


def kernel_argument(value: Any, half_to: Any = None) -> Any:
    if isinstance(value, Tensor):
        a = numbers(value)
        if half_to is not None and value.dtype.itemsize == 2 and value.dtype.is_floating_point:
            a = a.astype(half_to)
        return a
    if type(value) is list and value and any(isinstance(v, Tensor) for v in value):
        return [kernel_argument(v, half_to) for v in value]
    return value


def _kernel_out(tensor: Tensor, half_to: Any) -> np.ndarray:
    if half_to is not None and tensor.dtype.itemsize == 2 and tensor.dtype.is_floating_point:
        return np.empty(tuple(tensor.shape), half_to)
    if tensor.dtype is dtypes.complex32:
        return np.empty(tuple(tensor.shape), np.complex64)
    return array(tensor)


def _native_into(kernel: Any, out: Any, args: tuple[Any, ...]) -> bool:
    """Run a native kernel into `out`. Most write row-major memory only: what lies otherwise is copied from such."""
    if kernel(out, *args) is not NotImplemented:
        return True
    outs = out if type(out) is tuple else (out,)
    if all([o.is_contiguous() for o in outs]):
        return False
    made = tuple([o if o.is_contiguous() else _native.empty(tuple(o.shape), o.dtype, o.device) for o in outs])
    if kernel(made if type(out) is tuple else made[0], *args) is NotImplemented:
        return False
    for to, one in zip(outs, made):
        if one is not to:
            to.copy_(one)
    return True


def run_kernel(op: Op, out: Any, args: tuple[Any, ...]) -> None:
    """Run the kernel into memory that is there; float16 and bfloat16 are computed in `op.compute` and rounded once."""
    if op.native_fn is not None and _native_into(op.native_fn, out, args):
        return
    if op.native_fn is not None and op.compute == "float32" and _native.widened(op.native_fn)(out, *args) is not NotImplemented:
        return
    half_to = np.dtype(op.compute) if op.compute else None
    arrays = [kernel_argument(v, half_to) for v in args]
    if "scalars" in op.tags:
        dtype = next((a.dtype for p, a in zip(op.core, arrays) if p.type == "Tensor" and isinstance(a, np.ndarray)), None)
        for i, param in enumerate(op.core):
            if param.numbers and not isinstance(arrays[i], np.ndarray) and arrays[i] is not None:
                arrays[i] = as_number(arrays[i], dtype)
    outs = tuple([_kernel_out(o, half_to) for o in out]) if type(out) is tuple else _kernel_out(out, half_to)
    try:
        with np.errstate(all="ignore"):
            op.kernel_fn(outs, *arrays)
    except TypeError as error:  # NumPy has it not for this dtype, nor have we
        found = next((a.dtype for a in args if isinstance(a, Tensor)), None)
        dtype = TYPE_NAMES[found.name] if found else ""
        raise NotImplementedError(f"\"{op.kernel_name}\" not implemented for '{dtype}'") from error
    if half_to is not None or dtypes.complex32 in [o.dtype for o in (out if type(out) is tuple else (out,))]:
        for o, a in zip(out, outs) if type(out) is tuple else ((out, outs),):
            if a.dtype != o.dtype.to_numpy():
                store(o, a)


def from_arrays(result: Any) -> Any:
    if isinstance(result, (tuple, list)):
        return type(result)([from_arrays(r) for r in result])
    return _native.from_numpy(np.asarray(result, order="C")) if isinstance(result, np.ndarray) else result
