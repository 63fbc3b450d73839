"""What Triton's interpreter gets wrong against a GPU, put right: bfloat16 and float8 (by ml_dtypes), tf32, libdevice, atomics.

The stock interpreter truncates where a GPU rounds to even, adds the bits of bfloat16 as integers, does not saturate float8 and has
no libdevice.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import triton.language as tl
from triton._C.libtriton import ir
from triton.runtime import interpreter

from tests.cuda.sim import libdevice

SMALL = {
    "bf16": ml_dtypes.bfloat16,
    "fp8e5": ml_dtypes.float8_e5m2,
    "fp8e4nv": ml_dtypes.float8_e4m3fn,
    "fp8e4b8": ml_dtypes.float8_e4m3fnuz,
    "fp8e5b16": ml_dtypes.float8_e5m2fnuz,
}
LARGEST = {"fp8e5": 57344.0, "fp8e4nv": 448.0}  # a GPU saturates
_stock_dtype, _stock_rmw = interpreter._get_np_dtype, interpreter.InterpreterBuilder.create_atomic_rmw


def np_dtype(ty: Any) -> np.dtype:
    element = ty.element_ty if isinstance(ty, tl.block_type) else ty
    return np.dtype(SMALL[element.name]) if element.name in SMALL else _stock_dtype(ty)


def cast(self: Any, src: Any, dst_type: Any, *_: Any) -> Any:
    dst, data = dst_type.scalar, src.data
    if dst.name in LARGEST:
        data = np.clip(data.astype(np.float32), -LARGEST[dst.name], LARGEST[dst.name])
    with np.errstate(all="ignore"):
        return interpreter.TensorHandle(data.astype(np_dtype(dst)), dst)


def _operand(handle: Any, tf32: bool) -> np.ndarray:
    data = handle.data
    if handle.dtype.scalar.name in SMALL or data.dtype == np.float16:
        return data.astype(np.float32)
    if tf32 and data.dtype == np.float32:  # tensor cores drop the low 13 bits of what was not rounded before
        return (data.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    return data


def dot(self: Any, a: Any, b: Any, d: Any, input_precision: Any, max_num_imprecise_acc: Any) -> Any:
    tf32 = input_precision == ir.INPUT_PRECISION.TF32
    result = d.data.dtype if d.data.dtype.kind in "iu" else np.result_type(d.data.dtype, np.float32)
    product = np.matmul(_operand(a, tf32), _operand(b, tf32), dtype=result)
    return interpreter.TensorHandle((product + d.data).astype(d.data.dtype), d.dtype.scalar)


def _bits(data: np.ndarray) -> np.ndarray:
    """The native loads and stores know NumPy's own dtypes."""
    return data.view(f"u{data.itemsize}") if data.dtype.kind == "V" or data.dtype.type.__module__ == "ml_dtypes" else data


def load(self: Any, ptrs: Any, mask: Any, other: Any, *_: Any, **__: Any) -> Any:
    ty = ptrs.get_element_ty()
    dtype = np_dtype(ty)
    fill = np.zeros(ptrs.data.shape, dtype) if other is None else np.asarray(other.data, dtype)
    raw = _bits(fill)
    return interpreter.TensorHandle(interpreter._interpreter.load(ptrs.data, mask.data, raw, raw.dtype).view(dtype), ty)


def store(self: Any, ptrs: Any, value: Any, mask: Any, *_: Any, **__: Any) -> Any:
    return interpreter._interpreter.store(ptrs.data, _bits(value.data), mask.data)


def atomic(self: Any, op: Any, ptr: Any, val: Any, mask: Any, sem: Any, scope: Any) -> Any:
    """One lane after the other for the small floats, of which the stock interpreter knows no sums."""
    if val.dtype.scalar.name not in SMALL:
        return _stock_rmw(self, op, ptr, val, mask, sem, scope)
    old = np.zeros(ptr.data.shape, val.data.dtype)
    yes = interpreter.TensorHandle(np.ones(1, bool), tl.int1)
    for at in np.ndindex(ptr.data.shape):
        if mask.data[at]:
            p = interpreter.TensorHandle(ptr.data[at].reshape(1), ptr.dtype)
            old[at] = load(self, p, yes, None).data[0]
            store(self, p, interpreter.TensorHandle((old[at] + val.data[at]).reshape(1).astype(val.data.dtype), val.dtype), yes)
    return interpreter.TensorHandle(old, val.dtype.scalar)


cas = interpreter.InterpreterBuilder.create_atomic_cas


def patch(scope: Any) -> None:
    """Puts all of it into the interpreter until the scope is restored."""
    builder = interpreter.InterpreterBuilder
    scope.set_attr(tl.tensor, "__index__", lambda self: int(self.handle.data.reshape(())))
    scope.set_attr(interpreter, "_get_np_dtype", np_dtype)
    for name, function in {
        "cast_impl": cast,
        "create_fp_to_fp": cast,
        "create_dot": dot,
        "create_atomic_rmw": atomic,
        "create_masked_load": load,
        "create_masked_store": store,
    }.items():
        scope.set_attr(builder, name, function)
    libdevice.patch(scope.set_attr)
