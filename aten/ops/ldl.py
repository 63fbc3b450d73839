"""Symmetric indefinite systems: A = L D L^T (L^H) with blocks of one and two rows in D.

The pivoting is that of Bunch and Kaufman (1977), in the form of LAPACK's `sytf2` and `hetf2` for the lower triangle, so that
LD and pivots can be exchanged with it.
"""

from typing import Any

import numpy as np

from aten import dtype as dtypes
from aten.derivative import Missing
from aten.errors import LinAlgError
from aten.meta import Meta, known_equal
from aten.op import composite, op, ops
from aten.ops.linalg import by_columns, check_matrix
from aten.promotion import TYPE_NAMES, category
from aten.shapes import broadcast, show, wrap_dim

_ALPHA = (1 + 17**0.5) / 8


@op(
    "linalg_ldl_factor_ex(Tensor A, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, Tensor pivots, Tensor info)",
    tags=["library", "function_only"],
)
def linalg_ldl_factor_ex(A: Meta, hermitian: bool, check_errors: bool) -> tuple[Meta, Meta, Meta]:
    """L and D of symmetric (Hermitian) matrices in one, 1-based row exchanges (negative twice for a block of two rows), and
    the number of the first zero pivot (0 if there is none). Only the lower triangle of A is read.
    """
    check_matrix("torch.linalg.ldl_factor_ex", A, square=True)
    if A.dtype.itemsize == 2:
        raise NotImplementedError(f'"ldl_factor_kernel_cpu" not implemented for \'{TYPE_NAMES[A.dtype.name]}\'')
    return (
        by_columns(A, A.sizes),
        A.like(sizes=A.sizes[:-1], dtype=dtypes.int32),
        A.like(sizes=A.sizes[:-2], dtype=dtypes.int32),
    )


@linalg_ldl_factor_ex.kernel
def _(out, a, hermitian, check_errors):
    ld, pivots, info = out
    ld[...] = np.tril(a)
    for at in np.ndindex(a.shape[:-2]):
        info[at] = _factor(ld[at], pivots[at], hermitian and a.dtype.kind == "c")
        if check_errors and info[at]:
            raise LinAlgError(f"torch.linalg.ldl_factor_ex: The diagonal element {info[at]} of D is zero")


@linalg_ldl_factor_ex.vjp
def _(g, A_meta):
    Missing("linalg_ldl_factor_ex")()


def _magnitude(x: Any) -> Any:
    return np.abs(x.real) + np.abs(x.imag) if np.iscomplexobj(x) else np.abs(x)


def _choose(a: np.ndarray, k: int, hermitian: bool) -> tuple[int, int]:
    """The row to exchange, and whether the block has one or two rows; (-1, 1) if the column is zero."""
    n = len(a)
    here, largest, where = _magnitude(a[k, k].real if hermitian else a[k, k]), 0.0, k
    if k + 1 < n:
        column = _magnitude(a[k + 1 :, k])
        where = k + 1 + int(column.argmax())
        largest = column.max()
    if max(here, largest) == 0 or np.isnan(here):
        return -1, 1
    if here >= _ALPHA * largest:
        return k, 1
    row = _magnitude(a[where, k:where]).max()
    if where + 1 < n:
        row = max(row, _magnitude(a[where + 1 :, where]).max())
    if here >= _ALPHA * largest * (largest / row):
        return k, 1
    diagonal = a[where, where].real if hermitian else a[where, where]
    return where, 1 if _magnitude(diagonal) >= _ALPHA * row else 2


def _exchange(a: np.ndarray, k: int, kp: int, step: int, hermitian: bool) -> None:
    """Rows and columns k + step - 1 and kp of the part not yet factored exchanged, in the lower triangle."""
    kk = k + step - 1
    if kp != kk:
        below, swapped = a[kp + 1 :, kk].copy(), a[kk + 1 : kp, kk].copy()
        a[kp + 1 :, kk], a[kp + 1 :, kp] = a[kp + 1 :, kp].copy(), below
        between = a[kp, kk + 1 : kp].copy()
        a[kk + 1 : kp, kk] = between.conj() if hermitian else between
        a[kp, kk + 1 : kp] = swapped.conj() if hermitian else swapped
        a[kk, kk], a[kp, kp] = a[kp, kp], a[kk, kk]
        if hermitian:
            a[kp, kk] = a[kp, kk].conj()
        if step == 2:
            a[k + 1, k], a[kp, k] = a[kp, k], a[k + 1, k]


def _eliminate(a: np.ndarray, k: int, step: int, hermitian: bool) -> None:
    """The block at k taken out of what follows; its columns become those of L."""
    turned = np.conj if hermitian else np.asarray
    x = a[k + step :, k : k + step].copy()
    if step == 1:
        factors = x / (a[k, k].real if hermitian else a[k, k])
    else:
        block = np.array([[a[k, k], turned(a[k + 1, k])], [a[k + 1, k], a[k + 1, k + 1]]])
        factors = np.linalg.solve(block.T, x.T).T
    a[k + step :, k + step :] -= np.tril(factors @ turned(x).T)
    a[k + step :, k : k + step] = factors
    if hermitian:
        diagonal = np.arange(k, len(a))
        a[diagonal, diagonal] = a[diagonal, diagonal].real


def _factor(a: np.ndarray, pivots: np.ndarray, hermitian: bool) -> int:
    """Factor one matrix in place; returns the number of its first zero pivot."""
    k = info = 0
    while k < len(a):
        kp, step = _choose(a, k, hermitian)
        if kp < 0:
            kp, info = k, info or (0 if np.isnan(a[k, k]) else k + 1)
        else:
            _exchange(a, k, kp, step, hermitian)
            if k + step < len(a):
                _eliminate(a, k, step, hermitian)
        pivots[k : k + step] = kp + 1 if step == 1 else -(kp + 1)
        k += step
    return info


@composite(
    "linalg_ldl_factor(Tensor A, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)",
    tags=["function_only"],
)
def linalg_ldl_factor(A, hermitian):
    """L and D in one matrix, and the row exchanges. Raises LinAlgError for a zero pivot."""
    found = ops.linalg_ldl_factor_ex(A, hermitian=hermitian, check_errors=True)
    return linalg_ldl_factor.schema.result_type(found[:2])


# ------------------------------------------------------------------------------------------------------- systems
@op(
    "ldl_solve_matrix(Tensor LD, LongTensor pivots, Tensor B, bool hermitian) -> Tensor",
    tags=["library", "function_only"],
)
def ldl_solve_matrix(LD: Meta, pivots: Meta, B: Meta, hermitian: bool) -> Meta:
    """X of A @ X = B, A given by `ldl_factor`; batches equal."""
    return by_columns(B, B.sizes)


@ldl_solve_matrix.kernel
def _(out, ld, pivots, b, hermitian):
    out[...] = b
    for at in np.ndindex(ld.shape[:-2]):
        _solve(ld[at], pivots[at], out[at], hermitian and ld.dtype.kind == "c")


def _swap(b: np.ndarray, i: int, j: int) -> None:
    if i != j:
        b[[i, j]] = b[[j, i]]


def _solve(ld: np.ndarray, pivots: np.ndarray, b: np.ndarray, hermitian: bool) -> None:
    """Solve in place: rows exchanged, L taken out, D divided out, then L^T taken out and rows exchanged back."""
    turned = np.conj if hermitian else np.asarray
    n, starts, k = len(ld), [], 0
    while k < n:
        step = 1 if pivots[k] > 0 else 2
        starts.append((k, step))
        last = k + step - 1
        _swap(b, last, abs(int(pivots[k])) - 1)
        b[k + step :] -= ld[k + step :, k : k + step] @ b[k : k + step]
        if step == 1:
            b[k] /= ld[k, k].real if hermitian else ld[k, k]
        else:
            block = np.array([[ld[k, k], turned(ld[last, k])], [ld[last, k], ld[last, last]]])
            b[k : last + 1] = np.linalg.solve(block, b[k : last + 1])
        k += step
    for k, step in reversed(starts):
        last = k + step - 1
        b[k : last + 1] -= turned(ld[last + 1 :, k : last + 1]).T @ b[last + 1 :]
        _swap(b, last, abs(int(pivots[k])) - 1)


@ldl_solve_matrix.vjp
def _(g, needs, LD, pivots, hermitian):
    if needs[0]:
        Missing("linalg_ldl_solve")()
    if hermitian:
        return None, ldl_solve_matrix(LD, pivots, g, hermitian)
    return None, ops.conj(ldl_solve_matrix(LD, pivots, ops.conj(g), hermitian))


@composite(
    "linalg_ldl_solve(Tensor LD, LongTensor pivots, Tensor B, *, bool hermitian=False) -> Tensor",
    tags=["function_only"],
)
def linalg_ldl_solve(LD, pivots, B, hermitian):
    """X of A @ X = B, A given by `ldl_factor`. Differentiable in B.

    LD: (*, n, n), pivots: (*, n) integers, B: (*, n, k). Raises RuntimeError for sizes or dtypes that do not fit.
    """
    name = "torch.linalg.ldl_solve"
    check_matrix(name, LD, square=True, kernel="ldl_solve_kernel_cpu")
    if B.ndim < 2:
        wrap_dim(-2, B.ndim)
    if not known_equal(LD.shape[-1], B.shape[-2]) and LD.shape[-1] != B.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {LD.shape[-2]} by {LD.shape[-1]} but each b matrix is "
            f"{B.shape[-2]} by {B.shape[-1]}"
        )
    if tuple(LD.shape[:-1]) != tuple(pivots.shape):
        raise RuntimeError(
            f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{show(pivots.shape)} instead"
        )
    if category(pivots.dtype) != 1:
        raise RuntimeError(f"{name}: Expected pivots to be integers. Got {TYPE_NAMES[pivots.dtype.name]}")
    if B.dtype is not LD.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {TYPE_NAMES[B.dtype.name]} and A of type "
            f"{TYPE_NAMES[LD.dtype.name]} instead."
        )
    batch = list(broadcast(tuple(LD.shape[:-2]), tuple(B.shape[:-2])))
    return ldl_solve_matrix(
        LD.expand([*batch, *LD.shape[-2:]]), pivots.expand([*batch, pivots.shape[-1]]), B.expand([*batch, *B.shape[-2:]]), hermitian
    )
