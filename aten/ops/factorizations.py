"""Factorizations of NumPy arrays that say of each matrix whether they succeeded, as LAPACK counts: what NumPy has no word for."""

import numpy as np

from aten.errors import LinAlgError

NOT_POSITIVE = (
    "The factorization could not be completed because the input is not positive-definite (the leading minor of order {} is not "
    "positive-definite)."
)
SINGULAR = "The diagonal element {} is zero, the inversion could not be completed because the input matrix is singular."
NO_PIVOT = "U[{0},{0}] is zero, so that solving with these factors would divide by it; lu_factor_ex gives them without this error."
NOT_SOLVED = "The solver failed because the input matrix is singular."


def check(name: str, info: np.ndarray, says: str) -> None:
    """Raises LinAlgError for the first matrix whose `info` is not 0; `says` has it in braces."""
    failed = np.flatnonzero(info)
    if failed.size:
        batch = f": (Batch element {failed[0]})" if info.ndim else ""
        raise LinAlgError(f"{name}{batch}: {says.format(info.reshape(-1)[failed[0]])}")


def cholesky(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(L, info): of each matrix its lower factor and 0, or what was done up to a pivot that is not positive, and its number."""
    low, info = np.empty_like(a), np.zeros(a.shape[:-2], np.int32)
    for at in np.ndindex(*a.shape[:-2]):
        try:
            low[at] = np.linalg.cholesky(a[at])
            done = not np.isnan(np.diagonal(low[at])).any()  # a library may not look
        except np.linalg.LinAlgError:
            done = False
        if not done:
            low[at] = np.tril(a[at])
            info[at] = _columns(low[at])
    return low, info


def _columns(low: np.ndarray) -> int:
    """LAPACK's potf2, in place on the lower triangle: column by column; where it stops, counted from 1, or 0."""
    for j in range(len(low)):
        low[j, j] -= (low[j, :j] * low[j, :j].conj()).sum()
        if not low[j, j].real > 0:
            return j + 1
        low[j, j] = np.sqrt(low[j, j].real)
        low[j + 1 :, j] = (low[j + 1 :, j] - low[j + 1 :, :j] @ low[j, :j].conj()) / low[j, j]
    return 0


def solve(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(X, info) of a @ X = b: of each matrix 0, or which pivot of its LU decomposition is 0; what it divides is not finite."""
    batch = a.shape[:-2]
    factors, pivots, info = np.empty_like(a), np.empty(a.shape[:-1], np.int32), np.empty(batch, np.int32)
    lu(factors, pivots, info, a, True)
    rows = np.broadcast_to(b, (*batch, *b.shape[-2:])).copy()
    solve_factored(rows, factors, pivots, rows, False)
    return rows, info


def solve_factored(out: np.ndarray, factors: np.ndarray, pivots: np.ndarray, b: np.ndarray, adjoint: bool) -> None:
    """out = X of A @ X = B, or of A^H @ X = B, by what `lu` gives of A; out may be b."""
    out[...] = b
    turned = np.swapaxes(factors, -1, -2).conj() if adjoint else factors
    if not adjoint:
        _exchange(out, pivots, False)
    with np.errstate(all="ignore"):
        substitute(out, turned, out, upper=False, unitriangular=not adjoint)
        substitute(out, turned, out, upper=True, unitriangular=adjoint)
    if adjoint:
        _exchange(out, pivots, True)


def _exchange(rows: np.ndarray, pivots: np.ndarray, backwards: bool) -> None:
    """The row exchanges of `lu`, counted from 1, in place."""
    for at in np.ndindex(*pivots.shape[:-1]):
        order = list(enumerate(pivots[at] - 1))
        for j, other in reversed(order) if backwards else order:
            rows[at][[j, other]] = rows[at][[other, j]]


def substitute(out: np.ndarray, a: np.ndarray, b: np.ndarray, upper: bool, unitriangular: bool = False) -> None:
    """out = X of A @ X = B for a triangle of A, row by row; out may be b."""
    n = a.shape[-1]
    diagonal = np.ones(a.shape[:-1], a.dtype) if unitriangular else np.diagonal(a, axis1=-2, axis2=-1)
    out[...] = b
    for i in reversed(range(n)) if upper else range(n):
        rest = np.s_[i + 1 :] if upper else np.s_[:i]
        out[..., i, :] -= (a[..., i, None, rest] @ out[..., rest, :])[..., 0, :]
        out[..., i, :] /= diagonal[..., i, None]


def _size(x: np.ndarray) -> np.ndarray:
    """What pivots are chosen by: |x|, of complex numbers |re| + |im|, as LAPACK has it."""
    return np.abs(x.real) + np.abs(x.imag) if x.dtype.kind == "c" else np.abs(x)


def lu(factors: np.ndarray, pivots: np.ndarray, info: np.ndarray, a: np.ndarray, pivot: bool) -> None:
    """L (below the diagonal) and U of a in `factors`, the row exchanges counted from 1, and which pivot is 0, or 0."""
    factors[...] = a
    m, n = a.shape[-2:]
    info[...] = 0
    for at in np.ndindex(*a.shape[:-2]):
        x = factors[at]
        for j in range(min(m, n)):
            best = j + int(np.argmax(_size(x[j:, j]))) if pivot else j
            pivots[at][j] = best + 1
            if best != j:
                x[[j, best]] = x[[best, j]]
            if x[j, j] == 0:
                if info[at] == 0:
                    info[at] = j + 1
                continue
            x[j + 1 :, j] /= x[j, j]
            x[j + 1 :, j + 1 :] -= np.outer(x[j + 1 :, j], x[j, j + 1 :])


__all__ = ["NOT_POSITIVE", "NO_PIVOT", "NOT_SOLVED", "SINGULAR", "check", "cholesky", "lu", "solve", "solve_factored", "substitute"]
