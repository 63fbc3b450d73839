"""Products of many matrices at once that lie behind each other in one: the experts of a mixture, each with its rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from aten import dtype as dtypes
from aten.meta import Meta, same_size
from aten.op import composite, op
from aten.ops.matmul import _product_jvp, _same_dtype
from aten.promotion import TYPE_NAMES


def _check(a: Meta, b: Meta, offs: Meta | None) -> None:
    for x, name in ((a, "mat_a"), (b, "mat_b")):
        if x.ndim not in (2, 3):
            raise RuntimeError(f"{name} has to be 2 or 3d")
        if not x.dtype.is_floating_point:
            raise RuntimeError(f"Expected {name} to be Float32, BFloat16 or Float16 matrix, got {TYPE_NAMES[x.dtype.name]}")
    _same_dtype("grouped_mm", a, b)
    if (offs is not None) != (a.ndim == 2 or b.ndim == 2):
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    if not same_size(a.sizes[-1], b.sizes[-2]):
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    if offs is not None and offs.ndim != 1:
        raise RuntimeError("offs has to be 1D")
    if offs is not None and offs.dtype is not dtypes.int32:
        raise RuntimeError("Offsets have to be int32")


@op("grouped_product(Tensor input, Tensor mat2, Tensor? offs=None) -> Tensor", tags=["matmul", "hidden"], compute="float32")
def grouped_product(input: Meta, mat2: Meta, offs: Meta | None) -> Meta:
    """One product for each group. A matrix of two dims is cut at `offs` along its rows (`input`), its columns (`mat2`), or,
    where both have two, along the dim that is summed; one of three dims has a group in each.

    input: (g, m, k) or (m, k). mat2: (g, k, n) or (k, n). offs: (g,) int32, where each group ends.
    Returns (g, m, n), or (m, n) where one of the two is cut; rows and columns after the last group are 0.
    """
    _check(input, mat2, offs)
    rows, columns = input.sizes[-2], mat2.sizes[-1]
    if input.ndim == 3 and mat2.ndim == 3:
        return input.like(sizes=(input.sizes[0], rows, columns))
    if input.ndim == 2 and mat2.ndim == 2 and offs is not None:
        return input.like(sizes=(offs.sizes[0], rows, columns))
    return input.like(sizes=(rows, columns))


@grouped_product.kernel
def _(out, a, b, offs):
    if offs is None:
        np.matmul(a, b, out=out)
        return
    out[...] = 0
    start = 0
    for group, end in enumerate(offs.tolist()):
        if a.ndim == 2 and b.ndim == 2:
            out[group] = a[:, start:end] @ b[start:end]
        elif a.ndim == 2:
            out[start:end] = a[start:end] @ b[group]
        else:
            out[:, start:end] = a[group] @ b[:, start:end]
        start = end


grouped_product.vjp(
    (
        lambda g, mat2, offs: grouped_product(g, mat2.transpose(-2, -1), offs),
        lambda g, input, offs: grouped_product(input.transpose(-2, -1), g, offs),
        None,
    )
)


def _jvp(tangents: Any, input: Any, mat2: Any, offs: Any, out: Any) -> Any:
    return _product_jvp(lambda a, b: grouped_product(a, b, offs))(tangents[:2], input, mat2, out)


grouped_product.jvp(_jvp)


@composite(
    "grouped_mm(Tensor mat_a, Tensor mat_b, *, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None) -> Tensor",
    tags=["function_only"],
)
def grouped_mm(mat_a, mat_b, offs, bias, out_dtype):
    """A product for each group of rows, of columns, or of the summed dim, as `offs` cuts them."""
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if out_dtype is not None and out_dtype is not mat_a.dtype:
        raise RuntimeError("Grouped gemm output dtype must match `mat_a` dtype")
    return grouped_product(mat_a, mat_b, offs)
