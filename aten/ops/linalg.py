"""Linear algebra, the decompositions: whole ops with LAPACK kernels (through NumPy) and closed derivatives."""

from typing import Any

import numpy as np

from aten import dtype as dtypes
from aten.errors import LinAlgError
from aten.meta import Meta, contiguous_strides, exceeds
from aten.op import op, ops
from aten.ops import factorizations
from aten.ops.factorizations import NOT_POSITIVE, NOT_SOLVED, SINGULAR
from aten.ops.no_halves import refuse_halves, refuse_low_precision
from aten.promotion import TYPE_NAMES, category, to_complex, to_real


def adjoint(x: Any) -> Any:
    """Matrices transposed and conjugated."""
    return ops.conj(ops.transpose(x, -2, -1))


def check_matrix(name: str, x: Any, square: bool = False, kernel: str | None = None) -> None:
    """Raises RuntimeError unless x is a batch of (square) floating matrices; of no halves if a kernel of LAPACK is named."""
    sizes = x.sizes if isinstance(x, Meta) else x.shape
    if len(sizes) < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if square and (exceeds(sizes[-1], sizes[-2]) or exceeds(sizes[-2], sizes[-1])):
        raise RuntimeError(f"{name}: A must be batches of square matrices, but they are {sizes[-2]} by {sizes[-1]} matrices")
    if category(x.dtype) < 2:
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {TYPE_NAMES[x.dtype.name]}")
    if kernel is not None:
        refuse_halves(kernel, x)


def _lapack(name: str, function: Any, *args: Any, **kwargs: Any) -> Any:
    try:
        return function(*args, **kwargs)
    except np.linalg.LinAlgError as error:
        raise LinAlgError(f"{name}: {error}. The input matrix is singular or does not converge.") from None


def tril_half(x: Any) -> Any:
    """The lower triangle with half the diagonal."""
    low = ops.tril(x)
    return low - ops.diag_embed(ops.diagonal(x, 0, -2, -1)) * 0.5


def by_columns(meta: Meta, sizes: Any, dtype: Any = None) -> Meta:
    """Matrices whose columns lie side by side in memory, as LAPACK has them."""
    *batch, m, n = sizes
    *steps, column, row = contiguous_strides((*batch, n, m))
    return meta.like(sizes=tuple(sizes), dtype=dtype, strides=(*steps, row, column))


def in_columns(x: Any) -> Any:
    """x, copied if its columns do not lie side by side."""
    return ops.transpose(ops.contiguous(ops.transpose(x, -2, -1)), -2, -1)


# ------------------------------------------------------------------------------------------------- inverse, systems
@op("linalg_inv(Tensor A) -> Tensor", tags=["library", "function_only", "raises"])
def linalg_inv(A: Meta) -> Meta:
    """The inverse of square matrices. Raises LinAlgError for a singular one."""
    check_matrix("linalg.inv", A, square=True)
    refuse_low_precision("linalg.inv", A)
    return by_columns(A, A.sizes)


@linalg_inv.kernel
def _(out, a):
    try:
        out[...] = np.linalg.inv(a)
    except np.linalg.LinAlgError:
        factorizations.check("linalg.inv", factorizations.solve(a, np.eye(a.shape[-1], dtype=a.dtype))[1], SINGULAR)


linalg_inv.vjp(lambda g, out: -(adjoint(out) @ g @ adjoint(out)))


def check_system(name: str, A: Meta, B: Meta) -> None:
    """Raises RuntimeError unless A @ X = B is a system of square matrices of one dtype."""
    check_matrix(name, A, square=True, kernel="lu_cpu")
    if A.dtype is not B.dtype:
        raise RuntimeError(
            f"{name}: Expected A and B to have the same dtype, but found A of type "
            f"{TYPE_NAMES[A.dtype.name]} and B of "
            f"type {TYPE_NAMES[B.dtype.name]} instead"
        )
    if A.sizes[-1] != B.sizes[-2]:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation AX = B ({A.sizes[-2]}x{A.sizes[-1]} and "
            f"{B.sizes[-2]}x{B.sizes[-1]})"
        )


@op("solve_matrix(Tensor A, Tensor B) -> Tensor", tags=["library", "function_only", "raises"])
def solve_matrix(A: Meta, B: Meta) -> Meta:
    """X of A @ X = B, batches equal."""
    check_system("linalg.solve", A, B)
    return by_columns(B, B.sizes)


@solve_matrix.kernel
def _(out, a, b):
    try:
        out[...] = np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        factorizations.check("torch.linalg.solve", factorizations.solve(a, b)[1], NOT_SOLVED)


@solve_matrix.vjp
def _(g, needs, A, out):
    return solve_gradients(g, needs, A, out)


def solve_gradients(g: Any, needs: tuple, A: Any, out: Any, solve: Any = None) -> tuple[Any, Any]:
    """Gradients of A and B for that of out, X of A @ X = B, by `solve` (`solve_matrix`)."""
    gb = (solve or solve_matrix)(adjoint(A), g)
    return -(gb @ adjoint(out)) if needs[0] else None, gb


@op(
    "solve_triangular_matrix(Tensor A, Tensor B, bool upper, bool unitriangular) -> Tensor",
    tags=["library", "function_only"],
)
def solve_triangular_matrix(A: Meta, B: Meta, upper: bool, unitriangular: bool) -> Meta:
    """X of A @ X = B for a triangle of A, with ones on the diagonal if unitriangular; batches equal."""
    check_matrix("linalg.solve_triangular", A, square=True, kernel="triangular_solve_cpu")
    if A.sizes[-1] != B.sizes[-2]:
        raise RuntimeError(
            f"linalg.solve_triangular: Incompatible shapes of A and B for the equation AX = B ({A.sizes[-2]}x{A.sizes[-1]} and "
            f"{B.sizes[-2]}x{B.sizes[-1]})"
        )
    return by_columns(B, B.sizes)


@solve_triangular_matrix.kernel
def _(out, a, b, upper, unitriangular):
    factorizations.substitute(out, a, b, upper, unitriangular)


@solve_triangular_matrix.vjp
def _(g, needs, A, upper, unitriangular, out):
    gb = solve_triangular_matrix(adjoint(A), g, not upper, unitriangular)
    if not needs[0]:
        return None, gb
    ga = -(gb @ adjoint(out))
    offset = 1 if unitriangular else 0
    return (ops.triu(ga, offset) if upper else ops.tril(ga, -offset)), gb


# --------------------------------------------------------------------------------------------------- decompositions
@op("cholesky_lower(Tensor A, bool upper=False) -> Tensor", tags=["library", "function_only", "raises"])
def cholesky_lower(A: Meta, upper: bool) -> Meta:
    """L with L @ L^H = A, of the lower triangle of A or the adjoint of its upper one.

    Raises LinAlgError unless A is positive definite.
    """
    check_matrix("linalg.cholesky", A, square=True, kernel="cholesky_cpu")
    return by_columns(A, A.sizes)


@cholesky_lower.kernel
def _(out, a, upper):
    a = np.swapaxes(a, -1, -2).conj() if upper else a
    out[...], info = factorizations.cholesky(a)
    factorizations.check("linalg.cholesky", info, NOT_POSITIVE)


cholesky_lower.vjp(lambda g, out: cholesky_gradient(g, out))


def cholesky_gradient(g: Any, out: Any) -> Any:
    """L^-H @ phi(L^H @ g) @ L^-1; phi: half of the lower triangle and of the part below the diagonal, transposed."""
    low = ops.tril(adjoint(out) @ ops.tril(g))
    half = (low + adjoint(ops.tril(low, -1))) * 0.5
    left = solve_triangular_matrix(adjoint(out), half, True, False)
    return adjoint(solve_triangular_matrix(adjoint(out), adjoint(left), True, False))


@op("solve_factored(Tensor B, Tensor L, bool upper) -> Tensor", tags=["library", "function_only"])
def solve_factored(B: Meta, L: Meta, upper: bool) -> Meta:
    """X of (L @ L^H) @ X = B, or (L^H @ L) @ X = B if upper, of that triangle of L; batches equal.

    The gradient of L is that of the product with all of L, as PyTorch defines it.
    """
    check_matrix("cholesky_solve", L, square=True, kernel="cholesky_solve_cpu")
    if B.dtype is not L.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {TYPE_NAMES[B.dtype.name]} and A of type "
            f"{TYPE_NAMES[L.dtype.name]} instead."
        )
    if B.sizes[-2] != L.sizes[-1]:
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {L.sizes[-2]} by {L.sizes[-1]} but each b "
            f"matrix is {B.sizes[-2]} by {B.sizes[-1]}"
        )
    return by_columns(B, B.sizes)


@solve_factored.kernel
def _(out, b, factor, upper):
    low = np.swapaxes(factor, -1, -2).conj() if upper else factor
    factorizations.substitute(out, low, b, upper=False)
    factorizations.substitute(out, np.swapaxes(low, -1, -2).conj(), out, upper=True)


@solve_factored.vjp
def _(g, needs, L, upper, out):
    gb = solve_factored(g, L, upper)
    if not needs[1]:
        return gb, None
    both = gb @ adjoint(out)
    both = both + adjoint(both)
    return gb, -(L @ both if upper else both @ L)


@op("linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)", tags=["library", "function_only"])
def linalg_qr(A: Meta, mode: str) -> tuple[Meta, Meta]:
    """A = Q @ R with orthonormal columns and an upper triangle; mode reduced, complete, or r (R alone)."""
    check_matrix("linalg.qr", A, kernel="geqrf_cpu")
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'")
    *batch, m, n = A.sizes
    k = min(m, n)
    wide = m if mode == "complete" else k
    q = A.like(sizes=(0,)) if mode == "r" else by_columns(A, (*batch, m, wide))
    return q, by_columns(A, (*batch, wide, n))


@linalg_qr.kernel
def _(out, a, mode):
    if mode == "r":
        out[1][...] = np.linalg.qr(a, "r")
    else:
        out[0][...], out[1][...] = np.linalg.qr(a, mode)


@linalg_qr.vjp
def _(g, A, mode, out):
    """Square or tall: (gQ + Q @ copy(M)) @ R^-H with M = R gR^H - gQ^H Q; wide: by the square part."""
    if mode == "r":
        raise RuntimeError(
            "linalg_qr_backward: The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
            "torch.linalg.qr(A, mode='reduced') if you are going to require gradients through linalg.qr."
        )
    q, r = out
    m, n = A.shape[-2:]
    if mode == "complete" and m > n:
        raise RuntimeError("linalg_qr_backward: The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
    gq = ops.zeros_like(q) if g[0] is None else g[0]
    gr = ops.zeros_like(r) if g[1] is None else g[1]
    if m >= n:
        middle = r @ adjoint(gr) - adjoint(gq) @ q
        return adjoint(solve_triangular_matrix(r, adjoint(gq + q @ _hermitian_of_lower(middle)), True, False))
    left, right = ops.narrow(r, -1, 0, m), ops.narrow(gr, -1, m, n - m)
    g_left = ops.narrow(gr, -1, 0, m)
    gq = gq + ops.narrow(A, -1, m, n - m) @ adjoint(right)
    middle = left @ adjoint(g_left) - adjoint(gq) @ q
    square = adjoint(solve_triangular_matrix(left, adjoint(gq + q @ _hermitian_of_lower(middle)), True, False))
    return ops.cat([square, q @ right], -1)


def _hermitian_of_lower(x: Any) -> Any:
    low = ops.tril(x, -1)
    return low + adjoint(low) + ops.diag_embed(ops.real(ops.diagonal(x, 0, -2, -1)))


@op(
    "linalg_eigh(Tensor A, str UPLO='L') -> (Tensor eigenvalues, Tensor eigenvectors)",
    tags=["library", "function_only", "raises"],
)
def linalg_eigh(A: Meta, UPLO: str) -> tuple[Meta, Meta]:
    """Eigenvalues in ascending order and orthonormal eigenvectors (columns) of a symmetric matrix."""
    check_matrix("linalg.eigh", A, square=True, kernel="linalg_eigh_cpu")
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return A.like(sizes=A.sizes[:-1], dtype=to_real(A.dtype)), by_columns(A, A.sizes)


@linalg_eigh.kernel
def _(out, a, uplo):
    out[0][...], out[1][...] = _lapack("linalg.eigh", np.linalg.eigh, a, uplo.upper())


def _differences(values: Any) -> Any:
    """values[j] - values[i], with infinity on the diagonal."""
    e = values.unsqueeze(-2) - values.unsqueeze(-1)
    return e + ops.diag_embed(ops.full_like(values, float("inf")))


@linalg_eigh.vjp
def _(g, out):
    values, v = out
    if g[1] is None:
        return (v * g[0].unsqueeze(-2).to(v.dtype)) @ adjoint(v)
    inner = ops.diag_embed(g[0]).to(v.dtype) if g[0] is not None else 0
    inner = inner + (adjoint(v) @ g[1]) / _differences(values)
    found = v @ inner @ adjoint(v)
    return (found + adjoint(found)) * 0.5


@op("hermitian_values(Tensor A, str UPLO) -> Tensor", tags=["library", "function_only", "hidden", "raises"])
def hermitian_values(A: Meta, UPLO: str) -> Meta:
    """The eigenvalues of `linalg_eigh`."""
    return linalg_eigh.function(A, UPLO)[0]


@hermitian_values.kernel
def _(out, a, uplo):
    out[...] = _lapack("linalg.eigh", np.linalg.eigvalsh, a, uplo.upper())


@hermitian_values.vjp
def _(g, A, UPLO):
    v = linalg_eigh(A, UPLO)[1]
    return (v * g.unsqueeze(-2).to(v.dtype)) @ adjoint(v)


hermitian_values.recorded_fn = lambda A, UPLO: linalg_eigh(A, UPLO)[0]  # keeps what the derivative needs


@op(
    "linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)",
    tags=["library", "function_only", "raises"],
)
def linalg_svd(A: Meta, full_matrices: bool) -> tuple[Meta, Meta, Meta]:
    """A = U @ diag(S) @ Vh, singular values in descending order."""
    check_matrix("linalg.svd", A, kernel="linalg_svd_cpu")
    *batch, m, n = A.sizes
    k = min(m, n)
    return (
        by_columns(A, (*batch, m, m if full_matrices else k)),
        A.like(sizes=(*batch, k), dtype=to_real(A.dtype)),
        by_columns(A, (*batch, n if full_matrices else k, n)),
    )


def check_driver(A: Any, driver: str | None) -> None:
    """Raises RuntimeError where a driver is named for matrices that are not on cuda, where alone there are several."""
    if driver is not None and A.device.type != "cuda":
        raise RuntimeError("torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.")


@linalg_svd.special(lambda A, full_matrices, driver: driver is not None)
def _(A, full_matrices, driver):
    check_driver(A, driver)
    return linalg_svd(A, full_matrices)


@linalg_svd.kernel
def _(out, a, full_matrices):
    u, s, vh = _lapack("linalg.svd", np.linalg.svd, a, full_matrices)
    out[0][...], out[1][...], out[2][...] = u, s, vh


@linalg_svd.vjp
def _(g, A, out):
    """With E = S_j^2 - S_i^2: U ((skew(U^H gU) / E) S + S (skew(V^H gV) / E) + diag(gS)) Vh, and what U, V do not
    span.
    """
    k = out[1].shape[-1]
    u, s, vh = ops.narrow(out[0], -1, 0, k), out[1], ops.narrow(out[2], -2, 0, k)
    if g[0] is None and g[2] is None:
        return (u * g[1].unsqueeze(-2).to(u.dtype)) @ vh
    v = adjoint(vh)
    inner = ops.diag_embed(g[1]).to(u.dtype) if g[1] is not None else ops.zeros_like(adjoint(u) @ u)
    e = _differences(s * s)
    result = None
    if g[0] is not None:
        gu = ops.narrow(g[0], -1, 0, k)
        w = adjoint(u) @ gu
        inner = inner + ((w - adjoint(w)) / e) * s.unsqueeze(-2)
        if A.shape[-2] > k:
            outside = (gu - u @ w) / s.unsqueeze(-2)
            result = outside @ vh
    if g[2] is not None:
        gv = adjoint(ops.narrow(g[2], -2, 0, k))
        w = adjoint(v) @ gv
        inner = inner + s.unsqueeze(-1) * ((w - adjoint(w)) / e)
        if A.shape[-1] > k:
            outside = u @ adjoint((gv - v @ w) / s.unsqueeze(-2))
            result = outside if result is None else result + outside
    if A.dtype.is_complex and g[0] is not None:
        w = ops.diagonal(adjoint(u) @ ops.narrow(g[0], -1, 0, k), 0, -2, -1)
        inner = inner + ops.diag_embed(ops.imag(w) / s) * 1j
    total = u @ inner @ vh
    return total if result is None else total + result


@op("singular_values(Tensor A) -> Tensor", tags=["library", "function_only", "hidden", "raises"])
def singular_values(A: Meta) -> Meta:
    """The singular values of `linalg_svd`."""
    return linalg_svd.function(A, False)[1]


@singular_values.kernel
def _(out, a):
    out[...] = _lapack("linalg.svd", np.linalg.svd, a, compute_uv=False)


@singular_values.vjp
def _(g, A):
    u, _, vh = linalg_svd(A, False)
    return (u * g.unsqueeze(-2).to(u.dtype)) @ vh


singular_values.recorded_fn = lambda A: linalg_svd(A, False)[1]


@op("linalg_eig(Tensor A) -> (Tensor eigenvalues, Tensor eigenvectors)", tags=["library", "function_only", "raises"])
def linalg_eig(A: Meta) -> tuple[Meta, Meta]:
    """Complex eigenvalues and eigenvectors (columns of norm 1) of a square matrix."""
    check_matrix("linalg.eig", A, square=True, kernel="linalg_eig_out_cpu")
    kind = to_complex(A.dtype)
    return A.like(sizes=A.sizes[:-1], dtype=kind), by_columns(A, A.sizes, kind)


@linalg_eig.kernel
def _(out, a):
    out[0][...], out[1][...] = _lapack("linalg.eig", np.linalg.eig, a)


@linalg_eig.vjp
def _(g, out, A_meta):
    values, v = out
    inner = ops.diag_embed(g[0]) if g[0] is not None else 0
    if g[1] is not None:
        w = adjoint(v) @ g[1]
        norms = ops.diag_embed(ops.real(ops.diagonal(w, 0, -2, -1)).to(v.dtype))
        gap = ops.conj(values.unsqueeze(-2) - values.unsqueeze(-1))
        eye = ops.eye(v.shape[-1], dtype=dtypes.bool)
        inner = inner + ops.where(eye, 0, (w - (adjoint(v) @ v) @ norms) / ops.where(eye, 1, gap))
    result = solve_matrix(adjoint(v), inner @ adjoint(v))
    return result if A_meta.dtype.is_complex else ops.real(result)


# ------------------------------------------------------------------------------------------------------------------ LU
@op(
    "linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)",
    tags=["library", "function_only", "raises"],
)
def linalg_lu_factor_ex(A: Meta, pivot: bool, check_errors: bool) -> tuple[Meta, Meta, Meta]:
    """L (below the diagonal, ones left out) and U in one matrix, and the row exchanges, counted from 1."""
    check_matrix("linalg.lu_factor", A, kernel="lu_cpu")
    k = min(A.sizes[-2:])
    return (
        by_columns(A, A.sizes),
        A.like(sizes=(*A.sizes[:-2], k), dtype=dtypes.int32),
        A.like(sizes=A.sizes[:-2], dtype=dtypes.int32),
    )


@linalg_lu_factor_ex.kernel
def _(out, a, pivot, check_errors):
    factors, pivots, info = out
    factorizations.lu(factors, pivots, info, a, pivot)
    if check_errors:
        factorizations.check("torch.linalg.lu_factor", info, factorizations.NO_PIVOT)


@linalg_lu_factor_ex.vjp
def _(g, A_meta, pivot, out):
    if g[0] is None:
        return None
    lower, upper = unpack_lu(out[0])
    k = min(A_meta.sizes[-2:])
    g_lower = ops.tril(ops.narrow(g[0], -1, 0, k), -1)
    g_upper = ops.triu(ops.narrow(g[0], -2, 0, k))
    p = permutation_of(out[1], A_meta.sizes[-2], A_meta.dtype)
    return lu_gradient(p, lower, upper, g_lower, g_upper)


def unpack_lu(lu: Any) -> tuple[Any, Any]:
    """L and U of the matrix that holds both."""
    m, n = lu.shape[-2:]
    k = min(m, n)
    low = ops.tril(ops.narrow(lu, -1, 0, k), -1) + ops.eye(m, k, dtype=lu.dtype)
    return low, ops.triu(ops.narrow(lu, -2, 0, k))


@op("permutation_of(LongTensor pivots, int n, ScalarType dtype) -> Tensor", tags=["library", "function_only"])
def permutation_of(pivots: Meta, n: int, dtype: Any) -> Meta:
    """The matrix P of A = P @ L @ U from LAPACK's row exchanges."""
    return pivots.like(sizes=(*pivots.sizes[:-1], n, n), dtype=dtype)


@permutation_of.kernel
def _(out, pivots, n, dtype):
    out[...] = 0
    order = np.broadcast_to(np.arange(n), out.shape[:-1]).copy()
    for i in range(pivots.shape[-1]):  # of all matrices at once
        one, other = order[..., i].copy(), pivots[..., i, None].astype(np.int64) - 1
        order[..., i] = np.take_along_axis(order, other, -1)[..., 0]
        np.put_along_axis(order, other, one[..., None], -1)
    np.put_along_axis(out, order[..., None, :], 1, -2)


def lu_gradient(p: Any, lower: Any, upper: Any, gl: Any, gu: Any) -> Any:
    """The gradient of A = P @ L @ U, for square, wide and tall L, U."""
    m, n = lower.shape[-2], upper.shape[-1]
    k = min(m, n)
    l1, u1 = ops.narrow(lower, -2, 0, k), ops.narrow(upper, -1, 0, k)
    gl1, gu1 = ops.narrow(gl, -2, 0, k), ops.narrow(gu, -1, 0, k)
    by_lower = lambda x: solve_triangular_matrix(adjoint(l1), x, True, True)
    by_upper = lambda x: adjoint(solve_triangular_matrix(u1, adjoint(x), True, False))
    low, high = adjoint(l1) @ gl1, gu1 @ adjoint(u1)
    if m < n:
        u2, gu2 = ops.narrow(upper, -1, k, n - k), ops.narrow(gu, -1, k, n - k)
        phi = ops.tril(low - gu2 @ adjoint(u2), -1) + ops.triu(high)
        return p @ ops.cat([by_lower(by_upper(phi)), by_lower(gu2)], -1)
    if m > n:
        l2, gl2 = ops.narrow(lower, -2, k, m - k), ops.narrow(gl, -2, k, m - k)
        phi = ops.tril(low, -1) + ops.triu(high - adjoint(l2) @ gl2)
        return p @ ops.cat([by_lower(by_upper(phi)), by_upper(gl2)], -2)
    return p @ by_lower(by_upper(ops.tril(low, -1) + ops.triu(high)))


# --------------------------------------------------------------------------------------- pseudo-inverse, exponential


@op("pinv_cut(Tensor A, Tensor cut, bool hermitian) -> Tensor", tags=["library", "function_only"])
def pinv_cut(A: Meta, cut: Meta, hermitian: bool) -> Meta:
    """The pseudo-inverse, without singular values up to `cut` (one a matrix)."""
    return A.like(sizes=(*A.sizes[:-2], A.sizes[-1], A.sizes[-2]))


@pinv_cut.kernel
def _(out, a, cut, hermitian):
    if hermitian:
        values, v = np.linalg.eigh(a)
        u, s, vh = v, values, np.conj(np.swapaxes(v, -1, -2))
    else:
        u, s, vh = np.linalg.svd(a, full_matrices=False)
    # The cut may be one of these values as another routine has it, which is the same but for rounding.
    kept = np.abs(s) > cut[..., None] * (1 + 8 * np.finfo(s.dtype).eps)
    inverse = np.where(kept, 1 / np.where(kept, s, 1), 0)
    out[...] = (np.conj(np.swapaxes(vh, -1, -2)) * inverse[..., None, :]) @ np.conj(np.swapaxes(u, -1, -2))


@pinv_cut.vjp
def _(g, A, out):
    p, ph, gh = out, adjoint(out), adjoint(g)
    if A.shape[-2] <= A.shape[-1]:
        k = gh @ p
        kph = k @ ph
        return -adjoint(p @ k) + kph - (A @ p) @ kph + (ph @ p) @ (gh - k @ A)
    k = p @ gh
    phk = ph @ k
    return -adjoint(k @ p) + (gh - A @ k) @ p @ ph + phk - (phk @ p) @ A


@op("geqrf(Tensor input) -> (Tensor a, Tensor tau)", tags=["library"])
def geqrf(input: Meta) -> tuple[Meta, Meta]:
    """QR as LAPACK keeps it: R above, Householder vectors below the diagonal, and their factors."""
    check_matrix("geqrf", input, kernel="geqrf_cpu")
    return by_columns(input, input.sizes), input.like(sizes=(*input.sizes[:-2], min(input.sizes[-2:])))


@geqrf.kernel
def _(out, a):
    h, tau = np.linalg.qr(a, "raw")
    out[0][...], out[1][...] = np.swapaxes(h, -1, -2), tau


__all__ = [
    "adjoint",
    "by_columns",
    "check_matrix",
    "check_system",
    "in_columns",
    "lu_gradient",
    "permutation_of",
    "pinv_cut",
    "solve_matrix",
    "solve_triangular_matrix",
    "unpack_lu",
]
