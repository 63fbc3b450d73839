"""Systems and products by factors as LAPACK packs them: LU in one matrix, reflections below the diagonal of another."""

from typing import Any

import numpy as np

from aten.meta import Meta
from aten.op import op, ops
from aten.ops import factorizations
from aten.ops.linalg import adjoint, by_columns, check_system, permutation_of, unpack_lu


@op(
    "lu_solve_matrix(Tensor LU, LongTensor pivots, Tensor B, bool turned) -> Tensor",
    tags=["library", "function_only", "hidden"],
)
def lu_solve_matrix(LU: Meta, pivots: Meta, B: Meta, turned: bool) -> Meta:
    """X of A @ X = B, or of A^H @ X = B, A given by `lu_factor`; batches equal. Not finite where A is singular."""
    check_system("linalg.lu_solve", LU, B)
    return by_columns(B, B.sizes)


@lu_solve_matrix.kernel
def _(out, lu, pivots, b, turned):
    factorizations.solve_factored(out, lu, pivots, b, turned)


@lu_solve_matrix.vjp
def _(g, needs, LU, pivots, turned, out):
    """With dA = -(A^-H g) X^H: of L it is what lies below the diagonal of P^H dA U^H, of U the triangle of L^H P^H dA."""
    gb = lu_solve_matrix(LU, pivots, g, not turned)
    if not needs[0]:
        return None, gb
    ga = -(out @ adjoint(gb) if turned else gb @ adjoint(out))
    lower, upper = unpack_lu(LU)
    rows = adjoint(permutation_of(pivots, LU.shape[-2], LU.dtype)) @ ga
    return ops.tril(rows @ adjoint(upper), -1) + ops.triu(adjoint(lower) @ rows), gb


# ------------------------------------------------------------------------------------------------------ reflections
@op("product_of_reflections(Tensor A, Tensor tau) -> Tensor", tags=["library", "function_only", "hidden"])
def product_of_reflections(A: Meta, tau: Meta) -> Meta:
    """`linalg.householder_product` of equal batches."""
    return by_columns(A, A.sizes)


@product_of_reflections.kernel
def _(out, a, tau):
    out[...] = np.eye(*a.shape[-2:], dtype=a.dtype)
    for i in reversed(range(tau.shape[-1])):
        _reflect(out, a, tau, i, False)


def _reflect(x: np.ndarray, a: np.ndarray, tau: np.ndarray, i: int, turned: bool) -> None:
    """Reflection i, or its adjoint, of the rows of x, in place."""
    v = np.tril(a[..., i : i + 1], -i - 1)
    v[..., i, 0] = 1
    factor = tau[..., i, None, None]
    x -= (factor.conj() if turned else factor) * (v @ (np.swapaxes(v, -1, -2).conj() @ x))


@product_of_reflections.decompose
def _(A, tau):
    """For derivatives, one reflection after the other."""
    m, n = A.shape[-2:]
    q = ops.eye(m, n, dtype=A.dtype).expand([*A.shape[:-2], m, n])
    for i in reversed(range(tau.shape[-1])):
        v = ops.tril(ops.narrow(A, -1, i, 1), -i - 1) + ops.eye(m, n, dtype=A.dtype)[:, i : i + 1]
        q = q - tau[..., i : i + 1].unsqueeze(-1) * (v @ (adjoint(v) @ q))
    return q if tau.shape[-1] else q + ops.sum(tau) * 0  # a function of A and tau even where there is no reflection


@op(
    "reflected(Tensor input, Tensor tau, Tensor other, bool left, bool transpose) -> Tensor",
    tags=["library", "function_only", "hidden"],
)
def reflected(input: Meta, tau: Meta, other: Meta, left: bool, transpose: bool) -> Meta:
    """`ormqr` of equal batches."""
    return by_columns(other, other.sizes)


@reflected.kernel
def _(out, a, tau, other, left, transpose):
    rows = other.copy() if left else np.swapaxes(other, -1, -2).conj()
    indices = range(tau.shape[-1])
    for i in reversed(indices) if left != transpose else indices:
        _reflect(rows, a, tau, i, transpose == left)
    out[...] = rows if left else np.swapaxes(rows, -1, -2).conj()


@reflected.decompose
def _(input, tau, other, left, transpose):
    """For derivatives, one reflection after the other."""
    m = other.shape[-2] if left else other.shape[-1]
    result = other if left else adjoint(other)
    indices = range(tau.shape[-1])
    for i in reversed(indices) if left != transpose else indices:
        v = ops.tril(ops.narrow(input, -1, i, 1), -i - 1) + ops.eye(m, i + 1, dtype=input.dtype)[:, i:]
        factor: Any = tau[..., i : i + 1].unsqueeze(-1)
        if transpose == left and factor.dtype.is_complex:
            factor = ops.conj(factor)
        result = result - factor * (v @ (adjoint(v) @ result))
    return result if left else adjoint(result)


__all__ = ["lu_solve_matrix", "product_of_reflections", "reflected"]
