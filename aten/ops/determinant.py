"""Determinants, their logarithms and what differentiates them."""

from typing import Any

import numpy as np

from aten import _native
from aten.meta import Meta
from aten.op import op, ops
from aten.ops.linalg import adjoint, check_matrix, linalg_inv
from aten.ops.no_halves import refuse_low_precision
from aten.promotion import to_real


@op("slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)", tags=["library", "function_only"])
def slogdet(A: Meta) -> tuple[Meta, Meta]:
    """Sign and log of the absolute value of the determinant."""
    check_matrix("linalg.slogdet", A, square=True)
    refuse_low_precision("linalg.slogdet", A)
    return A.like(sizes=A.sizes[:-2]), A.like(sizes=A.sizes[:-2], dtype=to_real(A.dtype))


@slogdet.kernel
def _(out, a):
    out[0][...], out[1][...] = np.linalg.slogdet(a)


@slogdet.vjp
def _(g, A, out):
    """The log has the derivative A^-H; the sign of complex matrices turns with the imaginary part of trace(A^-1 dA)."""
    total = g[1]
    if A.dtype.is_complex and g[0] is not None:
        turn = ops.imag(ops.conj(g[0]) * out[0]) * -1j
        total = turn if total is None else total + turn
    if total is None:
        return None
    eye = ops.eye(A.shape[-1], dtype=A.dtype, device=A.device).expand(list(A.shape))
    return total.unsqueeze(-1).unsqueeze(-1) * adjoint(ops.solve_info(A, eye)[0])  # (of singular matrices not finite, and no error)


@op("linalg_det(Tensor A) -> Tensor", tags=["library", "function_only"])
def linalg_det(A: Meta) -> Meta:
    """The determinant."""
    check_matrix("linalg.det", A, square=True, kernel="lu_cpu")
    return A.like(sizes=A.sizes[:-2])


linalg_det.kernel(lambda out, a: np.copyto(out, np.linalg.det(a)))
linalg_det.vjp(lambda g, A: g.unsqueeze(-1).unsqueeze(-1) * adjoint(adjugate(A)))


@op("adjugate(Tensor A) -> Tensor", tags=["library", "function_only"])
def adjugate(A: Meta) -> Meta:
    """det(A) * A^-1, of singular matrices as well."""
    return A.like(sizes=A.sizes)


@adjugate.kernel
def _(out, a):
    """det(A) times the inverse where a third of its digits or more are right, else from the singular values."""
    n = a.shape[-1]
    if not a.size:
        return
    stack, result = a.reshape(-1, n, n), out.reshape(-1, n, n)  # (a new result is row-major)
    with np.errstate(all="ignore"):
        determinant = np.linalg.det(stack)
        try:
            inverse = np.linalg.inv(stack)
            condition = np.linalg.norm(stack, axis=(-2, -1)) * np.linalg.norm(inverse, axis=(-2, -1))  # at least
            poor = (determinant == 0) | (condition >= np.finfo(a.dtype).eps ** (-2 / 3))
            result[...] = determinant[:, None, None] * inverse
        except np.linalg.LinAlgError:  # one is singular
            poor = np.isfinite(stack).all((-2, -1))
            result[~poor] = np.nan
    if poor.any():
        result[poor] = _by_singular_values(stack[poor])


def _by_singular_values(a: np.ndarray) -> np.ndarray:
    u, s, vh = np.linalg.svd(a)
    n = s.shape[-1]
    rest = np.stack([np.prod(np.delete(s, i, -1), -1) for i in range(n)], -1) if n else s
    turn = np.linalg.det(u) * np.linalg.det(vh)
    found: np.ndarray = (
        turn[..., None, None] * (np.conj(np.swapaxes(vh, -1, -2)) * rest[..., None, :]) @ np.conj(np.swapaxes(u, -1, -2))
    )
    return found


_SMALL = 8  # sizes up to which the polynomial is exact enough, and cheap


def _is_singular(A: Any) -> bool:
    """Whether a matrix has no inverse to its precision: then det(A) * A^-1 is noise."""
    values = np.linalg.svd(A.numpy(force=True), compute_uv=False)
    return bool((values[..., -1] <= np.finfo(values.dtype).eps * A.shape[-1] * values[..., 0]).any())


@adjugate.decompose
def _(A):
    """For derivatives of its own: of small and of singular matrices a polynomial in A (Faddeev & LeVerrier), else det(A) * A^-1."""
    n = A.shape[-1]
    if n == 0:
        return A
    if not (type(n) is int and n <= _SMALL) and (_native.is_tracer(A) or not _is_singular(A)):
        return linalg_det(A).unsqueeze(-1).unsqueeze(-1) * linalg_inv(A)
    eye = ops.eye(n, dtype=A.dtype, device=A.device)
    power = eye.expand(A.shape)
    for k in range(1, n):
        product = A @ power
        trace = ops.diagonal(product, 0, -2, -1).sum(-1).unsqueeze(-1).unsqueeze(-1)
        power = product - eye * (trace / k)
    return power if n % 2 else -power
