"""Sparse tensors of dense ones, of places and values, and of sparse ones of another layout."""

from __future__ import annotations

from typing import Any

from aten import dtype as dtypes
from aten import layout
from aten._native import DType, Tensor
from aten.op import ops
from aten.sparse.tensor import CompressedTensor, CooTensor, SparseTensor
from aten.tensor import as_tensor

_BLOCKED = (layout.sparse_bsr, layout.sparse_bsc)
_COMPRESSED = (layout.sparse_csr, layout.sparse_csc, *_BLOCKED)


def _values(values: Any, dtype: DType | None, device: Any) -> Tensor:
    return as_tensor(values, dtype, device)


def _finished(made: Any, requires_grad: bool) -> Any:
    return made.detach().requires_grad_() if requires_grad else made


def sparse_coo_tensor(
    indices: Any = None, values: Any = None, size: Any = None, *, dtype: DType | None = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None, is_coalesced: bool | None = None,
) -> CooTensor:  # fmt: skip
    """values[k] at indices[:, k] of a tensor of `size` (else the smallest that holds them); sparse_coo_tensor(size) is empty.

    Raises RuntimeError for places outside of `size` or parts that do not fit each other.
    """
    if values is None:
        size = tuple(size if indices is None else indices)
        made = CooTensor(ops.zeros(len(size), 0, dtype=dtypes.int64), ops.zeros(0, dtype=dtype, device=device), size, True)
        return _finished(made, requires_grad)
    values = _values(values, dtype, device)
    indices = as_tensor(indices, dtypes.int64, values.device)
    if indices.ndim != 2:
        if indices.numel():
            raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
        indices = indices.reshape(len(size) - max(values.ndim - 1, 0) if size is not None else 1, 0)
    if values.ndim == 0:
        values = values.expand(indices.shape[1])
    if values.shape[0] != indices.shape[1]:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {indices.shape[1]}, "
            f"nnz from values: {values.shape[0]}"
        )
    size = _size_of(indices, values, size)
    return _finished(CooTensor(indices, values, size, bool(is_coalesced)), requires_grad)


def _size_of(indices: Tensor, values: Tensor, size: Any) -> tuple[int, ...]:
    n = indices.shape[0]
    if indices.numel() and int(indices.min()) < 0:
        raise RuntimeError("found negative index in indices")
    most = indices.amax(1).tolist() if indices.numel() else [-1] * n
    if size is None:
        return (*[m + 1 for m in most], *values.shape[1:])
    size = tuple(size)
    if len(size) != n + values.ndim - 1:
        raise RuntimeError(f"number of dimensions must be sparse_dim ({n}) + dense_dim ({values.ndim - 1}), but got {len(size)}")
    if size[n:] != tuple(values.shape[1:]):
        raise RuntimeError(f"values has incorrect size, expected {list(size[n:])}, got {list(values.shape[1:])}")
    for dim, m in enumerate(most):
        if m >= size[dim]:
            raise RuntimeError(f"size is inconsistent with indices: for dim {dim}, size is {size[dim]} but found index {m}")
    return size


def _compressed(
    kind: Any, lines: Any, places: Any, values: Any, size: Any, dtype: DType | None, device: Any, requires_grad: bool
) -> CompressedTensor:
    values = _values(values, dtype, device)
    lines, places = (as_tensor(part, device=values.device) for part in (lines, places))
    by_row = kind in (layout.sparse_csr, layout.sparse_bsr)
    if lines.ndim != 1 or places.ndim != 1 or values.ndim != (3 if kind in _BLOCKED else 1):
        parts = "1-d indices and values of blocks, 3-d" if kind in _BLOCKED else "1-d parts"
        raise RuntimeError(f"batches of compressed matrices are not supported: a matrix of layout {kind} has {parts}")
    block = tuple(values.shape[1:]) or (1, 1)
    if 0 in block:
        raise RuntimeError(f"the blocks of a matrix have elements, but got values of sizes {list(values.shape)}")
    if size is None:
        found = (lines.shape[0] - 1, int(places.max()) + 1 if places.numel() else 0)
        size = [n * b for n, b in zip(found if by_row else found[::-1], block)]
    size = tuple(size)
    if len(size) != 2 or any(n % b for n, b in zip(size, block)):
        raise RuntimeError(f"size {list(size)} must be that of a matrix, and a multiple of the blocks' {list(block)}")
    outer, inner = [n // b for n, b in zip(size, block)][:: 1 if by_row else -1]
    names = ("crow_indices", "col_indices") if by_row else ("ccol_indices", "row_indices")
    if lines.shape[0] != outer + 1:
        raise RuntimeError(f"{names[0]}.shape[-1] must be equal to the number of lines + 1 = {outer + 1}, but got {lines.shape[0]}")
    if places.shape[0] != values.shape[0] or int(lines[-1]) != places.shape[0] or int(lines[0]) != 0:
        raise RuntimeError(f"{names[0]} must go from 0 to the number of values, which is that of {names[1]}")
    if bool((lines.diff() < 0).any()) or (places.numel() and not (0 <= int(places.min()) and int(places.max()) < inner)):
        raise RuntimeError(f"{names[0]} must not fall, and {names[1]} must be within [0, {inner})")
    return _finished(CompressedTensor(lines, places, values, size, kind), requires_grad)


def sparse_csr_tensor(
    crow_indices: Any, col_indices: Any, values: Any, size: Any = None, *, dtype: DType | None = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
) -> CompressedTensor:  # fmt: skip
    """A matrix by rows: the values of row r are those from crow_indices[r] to crow_indices[r + 1], in columns col_indices."""
    return _compressed(layout.sparse_csr, crow_indices, col_indices, values, size, dtype, device, requires_grad)


def sparse_csc_tensor(
    ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, *, dtype: DType | None = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
) -> CompressedTensor:  # fmt: skip
    """A matrix by columns, as sparse_csr_tensor is by rows."""
    return _compressed(layout.sparse_csc, ccol_indices, row_indices, values, size, dtype, device, requires_grad)


def sparse_bsr_tensor(
    crow_indices: Any, col_indices: Any, values: Any, size: Any = None, *, dtype: DType | None = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
) -> CompressedTensor:  # fmt: skip
    """A matrix by rows of blocks, all of the sizes of values[0], as sparse_csr_tensor is by rows."""
    return _compressed(layout.sparse_bsr, crow_indices, col_indices, values, size, dtype, device, requires_grad)


def sparse_bsc_tensor(
    ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, *, dtype: DType | None = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
) -> CompressedTensor:  # fmt: skip
    """A matrix by columns of blocks, as sparse_bsr_tensor is by rows."""
    return _compressed(layout.sparse_bsc, ccol_indices, row_indices, values, size, dtype, device, requires_grad)


def sparse_compressed_tensor(
    compressed_indices: Any, plain_indices: Any, values: Any, size: Any = None, *, layout: Any, dtype: DType | None = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
) -> CompressedTensor:  # fmt: skip
    """sparse_csr_tensor, sparse_csc_tensor, sparse_bsr_tensor or sparse_bsc_tensor, as `layout` says."""
    if layout not in _COMPRESSED:
        raise RuntimeError(f"sparse_compressed_tensor: layout {layout} is not supported, use sparse_csr, _csc, _bsr or _bsc")
    return _compressed(layout, compressed_indices, plain_indices, values, size, dtype, device, requires_grad)


# --------------------------------------------------------------------------------------------------- of tensors
def _of_dense(dense: Tensor, sparse_dim: int | None) -> CooTensor:
    n = dense.ndim if sparse_dim is None else sparse_dim
    if not 0 <= n <= dense.ndim:
        raise RuntimeError(f"sparse_dim must be within [0, {dense.ndim}], but got {n}")
    seen = dense.detach() != 0
    if n < dense.ndim:
        seen = seen.flatten(n).any(-1)
    at = seen.nonzero(as_tuple=True)
    return CooTensor(ops.stack(at), dense[at], tuple(dense.shape), True)


def to_layout(input: Tensor, kind: Any = None, sparse_dim: int | None = None, blocksize: Any = None) -> Any:
    """The tensor in a sparse layout, in coordinates unless another is named; `blocksize` is for layouts of blocks."""
    if kind is layout.strided:
        return input.to_dense()  # type: ignore[attr-defined]
    kind = layout.sparse_coo if kind is None else kind
    if kind is not layout.sparse_coo and kind not in _COMPRESSED:
        raise RuntimeError(f"to_sparse: layout {kind} is not supported, use sparse_coo, _csr, _csc, _bsr or _bsc")
    had = getattr(input, "_blocksize", None)
    if input.layout is kind and blocksize in (None, had):  # type: ignore[attr-defined]
        return input
    if kind in _BLOCKED and blocksize is None and had is None:
        raise RuntimeError(f"to_sparse: conversion from {input.layout} to {kind} requires blocksize argument")
    if kind not in _BLOCKED and blocksize is not None:
        raise RuntimeError(f"to_sparse: conversion to {kind} does not use specified blocksize")
    if kind is not layout.sparse_coo and input.ndim != 2:
        raise RuntimeError("to_sparse: batches of compressed matrices are not supported: give a matrix")
    coo = input._coo() if isinstance(input, SparseTensor) else _of_dense(input, sparse_dim)
    if kind in _BLOCKED:
        return _in_blocks(coo, kind, had if blocksize is None else tuple(blocksize))
    return coo if kind is layout.sparse_coo else _compress(coo, kind)


def _compress(coo: CooTensor, kind: Any) -> CompressedTensor:
    if coo.dense_dim():
        raise RuntimeError("to_sparse: a compressed matrix of blocks is not supported: its values must be numbers")
    coo = coo.coalesce()
    by_row = kind is layout.sparse_csr
    lines, places, values = coo._idx[0 if by_row else 1], coo._idx[1 if by_row else 0], coo._val
    if not by_row:
        order = lines.argsort(stable=True)
        lines, places, values = lines[order], places[order], values[order]
    counts = ops.bincount(lines, minlength=coo.shape[0 if by_row else 1])
    return CompressedTensor(ops.cat([counts.new_zeros(1), counts.cumsum(0)]), places, values, tuple(coo.shape), kind)


def _in_blocks(coo: CooTensor, kind: Any, block: tuple[int, ...]) -> CompressedTensor:
    """The blocks that have an element, in order. Raises RuntimeError for sizes that are no multiples of the blocks'."""
    if len(block) != 2 or any(b < 1 or n % b for n, b in zip(coo.shape, block)):
        raise RuntimeError(f"tensor sparse size ({list(coo.shape)}) must be divisible by given blocksize ({list(block)})")
    coo = coo.coalesce()
    by_row = kind is layout.sparse_bsr
    of_block = [p.div(b, rounding_mode="floor") for p, b in zip(coo._idx.unbind(0), block)]
    lines, places = of_block if by_row else of_block[::-1]
    outer, inner = [n // b for n, b in zip(coo.shape, block)][:: 1 if by_row else -1]
    blocks, of = ops.unique(lines * inner + places, return_inverse=True)
    within = [p % b for p, b in zip(coo._idx.unbind(0), block)]
    values = coo._val.new_zeros((blocks.shape[0], *block)).index_put((of, *within), coo._val)
    counts = ops.bincount(blocks.div(inner, rounding_mode="floor"), minlength=outer)
    starts = ops.cat([counts.new_zeros(1), counts.cumsum(0)])
    return CompressedTensor(starts, blocks % inner, values, tuple(coo.shape), kind)


def to_sparse(
    self: Tensor, sparse_dim: int | None = None, *, layout: Any = None, blocksize: Any = None, dense_dim: Any = None
) -> Any:
    """The elements that are not zero, with their places; over the first `sparse_dim` dims alone, if given."""
    return to_layout(self, layout, sparse_dim, blocksize)


def to_sparse_coo(self: Tensor) -> Any:
    """The elements that are not zero, with their places."""
    return to_layout(self, layout.sparse_coo)


def to_sparse_csr(self: Tensor, dense_dim: Any = None) -> Any:
    """The elements of a matrix that are not zero, by rows."""
    return to_layout(self, layout.sparse_csr)


def to_sparse_csc(self: Tensor, dense_dim: Any = None) -> Any:
    """The elements of a matrix that are not zero, by columns."""
    return to_layout(self, layout.sparse_csc)


def to_sparse_bsr(self: Tensor, blocksize: Any, dense_dim: Any = None) -> Any:
    """The blocks of a matrix that have an element that is not zero, by rows."""
    return to_layout(self, layout.sparse_bsr, None, blocksize)


def to_sparse_bsc(self: Tensor, blocksize: Any, dense_dim: Any = None) -> Any:
    """The blocks of a matrix that have an element that is not zero, by columns."""
    return to_layout(self, layout.sparse_bsc, None, blocksize)


def sparse_mask(self: Tensor, mask: Any) -> Any:
    """The elements at the places of the sparse `mask`."""
    if not isinstance(mask, SparseTensor):
        raise RuntimeError("sparse_mask(): the mask must be a sparse tensor")
    coo = mask._coo().coalesce()
    dense = self.to_dense()  # type: ignore[attr-defined]
    made = coo._with(dense[tuple(coo._idx.unbind(0))])
    return made if mask.layout is layout.sparse_coo else to_layout(made, mask.layout, None, mask._blocksize)
