"""Sparse tensors: in coordinates (COO) and matrices by rows or columns of numbers (CSR, CSC) or of blocks (BSR, BSC)."""

from __future__ import annotations

from typing import Any

from aten import dtype as dtypes
from aten._native import Tensor
from aten.layout import sparse_csr, strided
from aten.op import ops
from aten.sparse import rules as _rules
from aten.sparse.conversion import to_layout
from aten.sparse.old_types import (
    BFloat16Tensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
)
from aten.sparse.tensor import CooTensor, SparseTensor, run

__all__ = [
    "BFloat16Tensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor", "LongTensor",
    "ShortTensor", "addmm", "as_sparse_gradient", "check_sparse_tensor_invariants", "log_softmax", "mm",
    "sampled_addmm", "softmax", "spdiags", "sum",
]  # fmt: skip


_REDUCTIONS = {"sum": "sum", "mean": "mean", "amax": "amax", "amin": "amin", "max": "amax", "min": "amin"}


def mm(mat1: Tensor, mat2: Tensor, reduce: str | None = None) -> Tensor:
    """The product of a sparse matrix with a dense or sparse one.

    reduce: what the products of a row are made one by: "sum", "mean", "amax" or "amin", of a CSR matrix with a dense one; rows that
    have no value are 0.
    """
    if reduce is not None:
        if reduce not in _REDUCTIONS:
            raise RuntimeError(f"reduce argument must be one of {', '.join(_REDUCTIONS)}, got {reduce}")
        if getattr(mat1, "layout", None) is not sparse_csr or mat2.layout is not strided:
            raise RuntimeError("sparse.mm with a reduction takes a matrix of layout sparse_csr and a dense one")
        coo = mat1._coo()
        rows, columns = coo._idx.unbind(0)
        products = coo._val.unsqueeze(1) * mat2[columns]
        found = products.new_zeros([mat1.shape[0], mat2.shape[1]])
        kind = _REDUCTIONS[reduce]
        return found.scatter_reduce(0, rows.unsqueeze(1).expand_as(products), products, kind, include_self=False)
    if not isinstance(mat1, SparseTensor) and not isinstance(mat2, SparseTensor):
        return ops.mm(mat1, mat2)
    return run("mm", (mat1, mat2), {})


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * mat + alpha * (mat1 @ mat2), where mat1 is sparse."""
    return _rules.addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


def sampled_addmm(input: Any, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """alpha * (mat1 @ mat2) at the places of the sparse `input`, plus beta times its values."""
    coo = input._coo().coalesce()
    rows, columns = coo._idx.unbind(0)
    found = (mat1[rows] * mat2.t()[columns]).sum(1) * alpha + coo._val * beta
    return to_layout(coo._with(found), input.layout, None, getattr(input, "_blocksize", None))


def sum(input: Any, dim: Any = None, dtype: Any = None) -> Tensor:
    """The sum of a sparse tensor over all elements, or over dims."""
    if not hasattr(input, "_coo"):
        raise RuntimeError(f"sparse.sum expected a sparse tensor, but got layout {getattr(input, 'layout', type(input).__name__)}")
    return run("sum", (input._coo(), dim), {"dtype": dtype})


def softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """The softmax over the values that are there, along `dim`."""
    return run("softmax", (input, dim, dtype), {})


def log_softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """The logarithm of `softmax`."""
    return run("log_softmax", (input, dim, dtype), {})


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Any, layout: Any = None) -> Any:
    """A sparse matrix whose diagonals are the rows of `diagonals`, as offsets say."""
    rows_of, values, (height, width) = [], [], shape
    diagonals, offsets = ops.atleast_2d(diagonals), ops.atleast_1d(offsets)
    for line, offset in zip(diagonals, offsets.tolist()):
        columns = ops.arange(max(0, offset), min(width, height + offset, line.shape[0]))
        rows_of.append(ops.stack([columns - offset, columns]))
        values.append(line[columns])
    return to_layout(CooTensor(ops.cat(rows_of, 1), ops.cat(values), tuple(shape)), layout)


def as_sparse_gradient(rows: Tensor, values: Tensor, size: Any) -> CooTensor:
    """The gradient of a table of which these rows were read."""
    return CooTensor(rows.reshape(1, -1).to(dtypes.int64), values, tuple(size))


class check_sparse_tensor_invariants:
    """Parts are always checked; this says so in PyTorch's words, as switch, context and decorator."""

    def __init__(self, enable: bool = True) -> None:
        self.on = enable

    @staticmethod
    def is_enabled() -> bool:
        return True

    @staticmethod
    def enable() -> None:
        """Nothing to do: the checks are on."""

    @staticmethod
    def disable() -> None:
        """The checks stay on: places outside of the memory are never read."""

    def __enter__(self) -> check_sparse_tensor_invariants:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def __call__(self, function: Any) -> Any:
        return function
