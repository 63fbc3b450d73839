"""Linear algebra under PyTorch's names, as composites of the decompositions."""

from typing import Any

from aten import dtype as dtypes
from aten.op import composite, ops, registry
from aten.ops.factorizations import NOT_POSITIVE, NOT_SOLVED, SINGULAR, check
from aten.ops.linalg import (
    adjoint,
    check_driver,
    check_matrix,
    in_columns,
    permutation_of,
    pinv_cut,
    solve_matrix,
    solve_triangular_matrix,
    unpack_lu,
)
from aten.ops.matmul import multi_product
from aten.ops.no_halves import is_half, refuse_halves, refuse_inexact, refuse_low_precision, refuse_pinv, refuse_vander
from aten.ops.vector_norms import vector_norm
from aten.promotion import TYPE_NAMES, category, to_real
from aten.scalar.unpatched import math
from aten.schema import named_result
from aten.shapes import broadcast, is_empty, product, wrap_dim

_EPS = {"float32": 1.1920928955078125e-07, "float64": 2.220446049250313e-16}
_turned = adjoint  # where an argument has that name


def _linalg(parameters: str, returns: str = "Tensor") -> Any:
    return composite(f"linalg_{parameters} -> {returns}", tags=["function_only"])


def _result(made: Any, *values: Any) -> Any:
    return made.schema.result_type(values)


def _expanded(a: Any, b: Any) -> tuple[Any, Any]:
    """Two batches of matrices with equal batch sizes."""
    batch = broadcast(tuple(a.shape[:-2]), tuple(b.shape[:-2]))
    return a.expand([*batch, *a.shape[-2:]]), b.expand([*batch, *b.shape[-2:]])


# ------------------------------------------------------------------------------------------------ inverse, systems
@_linalg("solve(Tensor A, Tensor B, *, bool left=True)")
def linalg_solve(A, B, left):
    """X of A @ X = B (or X @ A = B); B may be a batch of vectors."""
    check_matrix("linalg.solve", A, square=True, kernel="lu_cpu")
    vector = B.ndim == 1 or (A.ndim - 1 == B.ndim and tuple(B.shape) == tuple(A.shape[:-1]))
    if vector:
        return linalg_solve(A, B.unsqueeze(-1), left=True).squeeze([-1])
    if not left:
        return ops.transpose(linalg_solve(ops.transpose(A, -2, -1), ops.transpose(B, -2, -1)), -2, -1)
    return solve_matrix(*_expanded(A, B))


@_linalg("solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False)", "(Tensor result, Tensor info)")
def linalg_solve_ex(A, B, left, check_errors):
    """`solve`, and of each matrix 0 or which pivot of its LU decomposition is 0, where the result is not finite."""
    check_matrix("linalg.solve", A, square=True, kernel="lu_cpu")
    if B.ndim == 1 or (A.ndim - 1 == B.ndim and tuple(B.shape) == tuple(A.shape[:-1])):
        x, info = ops.solve_info(*_expanded(A, B.unsqueeze(-1)))
        x = x.squeeze(-1)
    elif left:
        x, info = ops.solve_info(*_expanded(A, B))
    else:
        x, info = ops.solve_info(*_expanded(ops.transpose(A, -2, -1), ops.transpose(B, -2, -1)))
        x = ops.transpose(x, -2, -1)
    return _result(linalg_solve_ex, x, _checked("torch.linalg.solve_ex", info, NOT_SOLVED, check_errors))


def _checked(name: str, info: Any, says: str, check_errors: bool) -> Any:
    """`info`. With check_errors LinAlgError where one is not 0."""
    if check_errors:
        check(name, info.numpy(force=True), says)
    return info


@_linalg("inv_ex(Tensor A, *, bool check_errors=False)", "(Tensor inverse, Tensor info)")
def linalg_inv_ex(A, check_errors):
    """`inv`, and of each matrix 0 or which pivot of its LU decomposition is 0, where the result is not finite."""
    check_matrix("linalg.inv", A, square=True)
    refuse_low_precision("linalg.inv", A)
    inverse, info = ops.solve_info(A, ops.eye(A.shape[-1], dtype=A.dtype, device=A.device).expand(list(A.shape)))
    return _result(linalg_inv_ex, inverse, _checked("linalg.inv_ex", info, SINGULAR, check_errors))


@_linalg("cholesky(Tensor A, *, bool upper=False)")
def linalg_cholesky(A, upper):
    """L with L @ L^H = A (or U with U^H @ U = A)."""
    lower = ops.cholesky_lower(A, upper)
    return in_columns(adjoint(lower)) if upper else lower


@_linalg("cholesky_ex(Tensor A, *, bool upper=False, bool check_errors=False)", "(Tensor L, Tensor info)")
def linalg_cholesky_ex(A, upper, check_errors):
    """`cholesky`, and of each matrix 0 or the order of the first minor that is not positive; L holds what was done by then."""
    lower, info = ops.cholesky_info(A, upper)
    made = in_columns(adjoint(lower)) if upper else lower
    return _result(linalg_cholesky_ex, made, _checked("linalg.cholesky_ex", info, NOT_POSITIVE, check_errors))


@composite("cholesky(Tensor input, bool upper=False) -> Tensor")
def cholesky(input, upper):
    """`linalg.cholesky`."""
    return linalg_cholesky(input, upper=upper)


@composite("cholesky_solve(Tensor input, Tensor L, bool upper=False) -> Tensor")
def cholesky_solve(input, L, upper):
    """X of A @ X = input, A given by its Cholesky factor."""
    if input.ndim < 2 or L.ndim < 2:
        short, x = ("b", input) if input.ndim < 2 else ("u", L)
        raise RuntimeError(f"{short} should have at least 2 dimensions, but has {x.ndim} dimensions instead")
    b, factor = _expanded(input, L)
    return ops.solve_factored(b, factor, upper)


@composite("cholesky_inverse(Tensor input, bool upper=False) -> Tensor")
def cholesky_inverse(input, upper):
    """The inverse of a matrix given by its Cholesky factor."""
    check_matrix("cholesky_inverse", input, square=True, kernel="cholesky_inverse_out_cpu")
    return ops.solve_factored(ops.eye(input.shape[-1], dtype=input.dtype).expand(list(input.shape)), input, upper)


@_linalg("solve_triangular(Tensor A, Tensor B, *, bool upper, bool left=True, bool unitriangular=False)")
def linalg_solve_triangular(A, B, upper, left, unitriangular):
    """X of A @ X = B (or X @ A = B) for a triangle of A."""
    check_matrix("linalg.solve_triangular", A, kernel="triangular_solve_cpu")
    check_matrix("linalg.solve_triangular", B)
    if not left:
        x = linalg_solve_triangular(
            ops.transpose(A, -2, -1), ops.transpose(B, -2, -1), upper=not upper, unitriangular=unitriangular
        )
        return ops.transpose(x, -2, -1)
    return solve_triangular_matrix(*_expanded(A, B), upper, unitriangular)


@composite(
    "triangular_solve(Tensor input, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> "
    "(Tensor solution, Tensor cloned_coefficient)"
)
def triangular_solve(input, A, upper, transpose, unitriangular):
    """X of A @ X = input for a triangle of A (or of its transpose), and A."""
    if A.shape[-1] != input.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for triangular_solve: each A matrix is {A.shape[-2]} by {A.shape[-1]} but each b matrix is "
            f"{input.shape[-2]} by {input.shape[-1]}"
        )
    a, b = _expanded(A, input)
    x = solve_triangular_matrix(ops.transpose(a, -2, -1) if transpose else a, b, upper != transpose, unitriangular)
    return _result(triangular_solve, x, in_columns(ops.row_major(a)))


_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


@_linalg(
    "lstsq(Tensor input, Tensor b, Any rcond=None, *, str? driver=None)",
    "(Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)",
)
def linalg_lstsq(input, b, rcond, driver):
    """X that minimises |A @ X - B|."""
    if input.ndim < 2:
        raise RuntimeError("torch.linalg.lstsq: input must have at least 2 dimensions.")
    if b.ndim < 1:
        raise RuntimeError("torch.linalg.lstsq: other must have at least 1 dimension.")
    if driver not in (None, *_DRIVERS):
        raise RuntimeError(f"torch.linalg.lstsq: parameter `driver` should be one of ({', '.join(_DRIVERS)})")
    refuse_inexact(input)
    m, n = input.shape[-2:]
    vector = b.ndim == 1 or (input.ndim - 1 == b.ndim and tuple(b.shape) == tuple(input.shape[:-1]))
    rhs = b.unsqueeze(-1) if vector else b
    solution = in_columns(linalg_pinv(input, rtol=rcond) @ rhs)
    driver = driver or "gelsy"
    nothing = ops.narrow(solution.reshape([-1]), 0, 0, 0)  # no elements, but differentiable like the rest
    if nothing.dtype.is_complex:
        nothing = ops.real(nothing)
    residuals, rank, values = nothing, ops.zeros(0, dtype=dtypes.int64), nothing
    if driver != "gels":
        rank = linalg_matrix_rank(input.detach())
    if driver in ("gelss", "gelsd"):
        values = ops.linalg_svd(input.detach(), False)[1]
    if m > n and (driver == "gels" or (driver != "gelsy" and bool(ops._is_all_true(rank == n)))):
        error = input @ solution - rhs
        residuals = ops.sum((error * ops.conj(error)).abs() if error.dtype.is_complex else error * error, [-2])
    if vector:
        solution = solution.squeeze([-1])
    return _result(linalg_lstsq, solution, residuals, rank, values)


def _cut(values: Any, sizes: Any, atol: Any, rtol: Any, dtype: Any) -> Any:
    """Up to where singular values count as 0, one number a matrix."""
    top = ops.amax(values.abs(), [-1]) if values.shape[-1] else ops.sum(values, [-1])
    if rtol is None:
        none = atol is None or (not hasattr(atol, "dtype") and atol == 0)
        rtol = max(sizes) * _EPS.get(to_real(dtype).name, 1e-3) if none else 0.0
    limit = top * (rtol.to(top.dtype) if hasattr(rtol, "dtype") else rtol)
    if atol is not None:
        limit = ops.maximum(limit, atol.to(top.dtype)) if hasattr(atol, "dtype") else ops.clamp_min(limit, atol)
    return limit


@_linalg("pinv(Tensor A, *, Any atol=None, Any rtol=None, bool hermitian=False, Any rcond=None)")
def linalg_pinv(A, atol, rtol, hermitian, rcond):
    """The Moore-Penrose pseudo-inverse."""
    if rcond is not None and (rtol is not None or atol is not None):
        raise TypeError("linalg_pinv() received an invalid combination of arguments: rcond is the older name of rtol")
    check_matrix("linalg.pinv", A, square=hermitian)
    refuse_pinv(A)
    rtol = rcond if rtol is None else rtol
    if 0 in A.shape:
        return adjoint(A)
    fixed = A.detach()
    values = ops.linalg_eigh(fixed)[0] if hermitian else ops.linalg_svd(fixed, False)[1]
    return pinv_cut(A, _cut(values, A.shape[-2:], atol, rtol, A.dtype).detach(), hermitian)


@composite("pinverse(Tensor input, float rcond=1e-15) -> Tensor")
def pinverse(input, rcond):
    """`linalg.pinv`."""
    return linalg_pinv(input, rtol=rcond)


@_linalg("matrix_rank(Tensor A, Any tol=None, bool hermitian=False, *, Any atol=None, Any rtol=None)")
def linalg_matrix_rank(A, tol, hermitian, atol, rtol):
    """The number of singular values above a tolerance."""
    check_matrix("linalg.matrix_rank", A)
    refuse_inexact(A)
    atol = tol if tol is not None else atol
    values = ops.linalg_eigh(A)[0].abs() if hermitian else ops.linalg_svd(A, False)[1]
    if values.shape[-1] == 0:
        return ops.zeros(list(A.shape[:-2]), dtype=dtypes.int64)
    return ops.sum(values > _cut(values, A.shape[-2:], atol, rtol, A.dtype).unsqueeze(-1), [-1])


# --------------------------------------------------------------------------------------------------- decompositions
registry["linalg_slogdet"] = registry["slogdet"]


@composite("det(Tensor input) -> Tensor")
def det(input):
    """The determinant."""
    return ops.linalg_det(input)


@composite("logdet(Tensor input) -> Tensor")
def logdet(input):
    """The log of the determinant; NaN below 0."""
    refuse_low_precision("logdet", input)
    sign, log = ops.slogdet(input)
    if input.dtype.is_complex:
        return sign.log() + log
    return ops.where(ops.eq(sign, -1), float("nan"), log)


@composite("inverse(Tensor input) -> Tensor")
def inverse(input):
    """`linalg.inv`."""
    return ops.linalg_inv(input)


@_linalg("eigvalsh(Tensor A, str UPLO='L')")
def linalg_eigvalsh(A, UPLO):
    """Eigenvalues of a symmetric matrix."""
    return ops.hermitian_values(A, UPLO)


@_linalg("eigvals(Tensor A)")
def linalg_eigvals(A):
    """Eigenvalues of a square matrix."""
    return ops.linalg_eig(A)[0]


@_linalg("svdvals(Tensor A, *, str? driver=None)")
def linalg_svdvals(A, driver):
    """Singular values."""
    check_driver(A, driver)
    return ops.singular_values(A)


@composite("svd(Tensor input, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)")
def svd(input, some, compute_uv):
    """input = U @ diag(S) @ V^H."""
    u, s, vh = ops.linalg_svd(input, not some)
    if not compute_uv:
        m, n = input.shape[-2:]
        return _result(svd, input.new_zeros([*input.shape[:-2], m, m]), s, input.new_zeros([*input.shape[:-2], n, n]))
    return _result(svd, u, s, adjoint(vh))


@composite("qr(Tensor input, bool some=True) -> (Tensor Q, Tensor R)")
def qr(input, some):
    """`linalg.qr`."""
    return _result(qr, *ops.linalg_qr(input, "reduced" if some else "complete"))


@_linalg("lu_factor(Tensor A, *, bool pivot=True)", "(Tensor LU, Tensor pivots)")
def linalg_lu_factor(A, pivot):
    """L and U in one matrix, and the row exchanges. Raises RuntimeError for a zero pivot."""
    lu, pivots, _ = ops.linalg_lu_factor_ex(A, pivot=pivot, check_errors=True)
    return _result(linalg_lu_factor, lu, pivots)


@_linalg("lu(Tensor A, *, bool pivot=True)", "(Tensor P, Tensor L, Tensor U)")
def linalg_lu(A, pivot):
    """A = P @ L @ U."""
    lu, pivots, _ = ops.linalg_lu_factor_ex(A, pivot=pivot)
    p = permutation_of(pivots, A.shape[-2], A.dtype) if pivot else A.new_zeros([0])
    return _result(linalg_lu, p, *unpack_lu(lu))


@composite("lu(Tensor input, bool pivot=True, bool get_infos=False) -> Any")
def lu(input, pivot, get_infos):
    """L and U in one matrix, the row exchanges, and 0 for success if asked."""
    found = ops.linalg_lu_factor_ex(input, pivot=pivot)
    return named_result("lu", "LU pivots info" if get_infos else "LU pivots")(found if get_infos else found[:2])


def _check_pivots(name: str, pivots: Any) -> None:
    """Raises RuntimeError for row exchanges of another dtype than the factorizations give."""
    if pivots.dtype is not dtypes.int32:
        raise RuntimeError(f"{name}: pivots should be a Tensor of scalar type torch.int32, got {TYPE_NAMES[pivots.dtype.name]}")


@composite(
    "lu_unpack(Tensor LU_data, LongTensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor "
    "P, Tensor L, Tensor U)",
    tags=["function_only"],
)
def lu_unpack(LU_data, LU_pivots, unpack_data, unpack_pivots):
    """P, L and U of what `lu_factor` gives."""
    _check_pivots("torch.lu_unpack", LU_pivots)
    nothing = LU_data.new_zeros([0])
    p = permutation_of(LU_pivots, LU_data.shape[-2], LU_data.dtype) if unpack_pivots else nothing
    return _result(lu_unpack, p, *(unpack_lu(LU_data) if unpack_data else (nothing, nothing)))


@_linalg("lu_solve(Tensor LU, LongTensor pivots, Tensor B, *, bool left=True, bool adjoint=False)")
def linalg_lu_solve(LU, pivots, B, left, adjoint):
    """X of A @ X = B (or X @ A = B), A given by `lu_factor`."""
    check_matrix("linalg.lu_solve", LU, kernel="linalg.lu_solve_cpu")
    check_matrix("linalg.lu_solve", B)
    _check_pivots("linalg.lu_solve", pivots)
    if pivots.shape[-1] != LU.shape[-1]:
        raise RuntimeError("linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix")
    if not left:
        return _turned(linalg_lu_solve(LU, pivots, _turned(B), adjoint=not adjoint))
    batch = list(broadcast(tuple(LU.shape[:-2]), tuple(B.shape[:-2])))
    lu, exchanges = LU.expand([*batch, *LU.shape[-2:]]), pivots.expand([*batch, pivots.shape[-1]])
    return ops.lu_solve_matrix(lu, exchanges, B.expand([*batch, *B.shape[-2:]]), adjoint)


@composite("lu_solve(Tensor input, Tensor LU_data, LongTensor LU_pivots) -> Tensor")
def lu_solve(input, LU_data, LU_pivots):
    """X of A @ X = input, A given by `lu`."""
    return linalg_lu_solve(LU_data, LU_pivots, input)


@_linalg("householder_product(Tensor A, Tensor tau)")
def linalg_householder_product(A, tau):
    """The first columns of the product of reflections I - tau * v @ v^H, v below the diagonal of A."""
    check_matrix("linalg.householder_product", A, kernel="orgqr_cpu")
    m, n = A.shape[-2:]
    if m < n:
        raise RuntimeError("torch.linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if tau.shape[-1] > n:
        raise RuntimeError("torch.linalg.householder_product: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if A.dtype is not tau.dtype:
        tau_name, name = TYPE_NAMES[tau.dtype.name], TYPE_NAMES[A.dtype.name]
        raise RuntimeError(f"torch.linalg.householder_product: tau dtype {tau_name} does not match input dtype {name}")
    if tuple(A.shape[:-2]) == tuple(tau.shape[:-1]):
        return ops.product_of_reflections(A, tau)
    return in_columns(registry["product_of_reflections"].decompose_fn(A, tau))


@composite("orgqr(Tensor input, Tensor tau) -> Tensor")
def orgqr(input, tau):
    """`linalg.householder_product`."""
    return linalg_householder_product(input, tau)


@composite("ormqr(Tensor input, Tensor tau, Tensor other, bool left=True, bool transpose=False) -> Tensor")
def ormqr(input, tau, other, left, transpose):
    """The product of reflections times a matrix (from the left or right, transposed if asked)."""
    for name, x, least in (("input", input, 2), ("tau", tau, 1), ("other", other, 2)):
        if x.ndim < least:
            raise RuntimeError(f"torch.ormqr: {name} must have at least {least} dimension{'s' if least > 1 else ''}.")
    for name, x in (("tau", tau), ("other", other)):
        if x.dtype is not input.dtype:
            own = TYPE_NAMES[input.dtype.name]
            raise RuntimeError(
                f"torch.ormqr: Expected input and {name} to have the same dtype, but input has dtype{own} and {name} has dtype "
                f"{TYPE_NAMES[x.dtype.name]}"
            )
    refuse_halves("ormqr_cpu", input)
    fit = input.shape[-2] == other.shape[-2 if left else -1] and tau.shape[-1] <= min(input.shape[-2:])
    if fit and input.shape[:-2] == other.shape[:-2] == tau.shape[:-1]:
        return ops.reflected(input, tau, other, left, transpose)
    return in_columns(registry["reflected"].decompose_fn(input, tau, other, left, transpose))


def _greatest(x: Any, dim: int, keepdim: bool = False) -> Any:
    """The greatest of numbers that are not negative; 0 of none."""
    return (ops.sum if is_empty(x.shape[dim]) else ops.amax)(x, [dim], keepdim)


# ------------------------------------------------------------------------------------------------------------ norms
@_linalg("matrix_norm(Tensor A, Any ord='fro', int[] dim=(-2, -1), bool keepdim=False, *, ScalarType? dtype=None)")
def linalg_matrix_norm(A, ord, dim, keepdim, dtype):
    """A norm of matrices: fro, nuc, inf, -inf, 1, -1, 2, -2."""
    x = A if dtype is None else A.to(dtype)
    if len(dim) != 2:
        raise RuntimeError("linalg.matrix_norm: dim must be a 2-tuple")
    if x.ndim < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    a, b = (wrap_dim(d, x.ndim) for d in dim)
    if ord == "fro":
        return vector_norm(x, 2, [a, b], keepdim)
    if ord in ("nuc", 2, -2):
        refuse_low_precision("linalg.matrix_norm", x)
        s = ops.linalg_svd(ops.movedim(x, [a, b], [-2, -1]), False)[1]
        found = ops.sum(s, [-1]) if ord == "nuc" else _greatest(s, -1) if ord == 2 else ops.amin(s, [-1])
        if keepdim:
            for d in sorted((a, b)):
                found = found.unsqueeze(d)
        return found
    if ord not in (1, -1, math.inf, -math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    first, second = (a, b) if abs(ord) == 1 else (b, a)
    sums = ops.sum(x.abs(), [first], True)
    found = _greatest(sums, second, True) if ord > 0 else ops.amin(sums, [second], True)
    return found if keepdim else found.squeeze([a, b])


@_linalg("norm(Tensor A, Any ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)")
def linalg_norm(A, ord, dim, keepdim, dtype):
    """A vector norm along one dimension, a matrix norm along two; without ord and dim of all elements."""
    if category(A.dtype) < 2 and dtype is None:
        raise RuntimeError(f"linalg.norm: Expected a floating point or complex tensor as input. Got {TYPE_NAMES[A.dtype.name]}")
    if ord is None and dim is None:
        return ops.linalg_vector_norm(A, 2, None, keepdim, dtype=dtype)
    if dim is None:
        if A.ndim not in (1, 2):
            raise RuntimeError(f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A.ndim}D.")
        dim = list(range(A.ndim))
    if len(dim) not in (1, 2) and ord is not None:
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}")
    if len(dim) == 1:
        if isinstance(ord, str):
            raise RuntimeError(f"linalg.norm: order {ord!r} is one of matrices")
        return ops.linalg_vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype=dtype)
    if ord is None:
        return ops.linalg_vector_norm(A, 2, dim, keepdim, dtype=dtype)
    return linalg_matrix_norm(A, ord, dim, keepdim, dtype=dtype)


# --------------------------------------------------------------------------------------------------------- products
@_linalg("matrix_power(Tensor A, int n)")
def linalg_matrix_power(A, n):
    """A @ A @ … (n times), by squaring; of the inverse for negative n."""
    n = int(n)  # a symbol is fixed: which products there are depends on it
    if n < 0:
        inverse = ops.linalg_inv(A.float() if is_half(A) else A)  # halves are what autocast made of it: it keeps inverses wide
        return linalg_matrix_power(inverse.to(A.dtype), -n)
    if n == 0:
        return ops.copy(A, ops.eye(A.shape[-1], dtype=A.dtype))
    times = ops.mul if tuple(A.shape[-2:]) == (1, 1) else ops.matmul
    result, square = None, A
    while n:
        if n & 1:
            result = square if result is None else times(result, square)
        n >>= 1
        if n:
            square = times(square, square)
    return result


@composite("matrix_power(Tensor input, int n) -> Tensor")
def matrix_power(input, n):
    """`linalg.matrix_power`."""
    return linalg_matrix_power(input, n)


@_linalg("multi_dot(Tensor[] tensors)")
def linalg_multi_dot(tensors):
    """The product of several matrices in the cheapest order; the first and last may be vectors."""
    if len(tensors) < 2:
        raise RuntimeError("multi_dot(): expected at least 2 tensors but got " + str(len(tensors)))
    xs = list(tensors)
    row, column = xs[0].ndim == 1, xs[-1].ndim == 1
    xs[0] = xs[0].unsqueeze(0) if row else xs[0]
    xs[-1] = xs[-1].unsqueeze(1) if column else xs[-1]
    return multi_product(xs).squeeze(([0] if row else []) + ([1] if column else []))


@_linalg("vander(Tensor x, *, int? N=None)")
def linalg_vander(x, N):
    """Powers 0 … N-1 of the elements of the last dimension."""
    refuse_vander(x)
    x = x.unsqueeze(0) if x.ndim == 0 else x
    n = x.shape[-1] if N is None else N
    if n < 2:
        raise RuntimeError("N must be greater than 1.")
    wide = x.unsqueeze(-1).expand([*x.shape, n - 1])
    one = ops.ones([*x.shape, 1], dtype=wide.dtype)
    return ops.cat([one, ops.cumprod(wide, -1)], -1)


@_linalg("vecdot(Tensor x, Tensor y, *, int dim=-1)")
def linalg_vecdot(x, y, dim):
    """Sums of products along a dimension, the first conjugated."""
    if x.ndim == y.ndim == 1 and dim in (0, -1) and x.dtype is y.dtype and category(x.dtype) >= 2 and x.shape == y.shape:
        return ops.vdot(x, y)
    both = ops.conj(x) * y
    return ops.sum(both, [dim]) if category(both.dtype) >= 2 else ops.sum(both, [dim], dtype=both.dtype)


@_linalg("diagonal(Tensor A, *, int offset=0, int dim1=-2, int dim2=-1)")
def linalg_diagonal(A, offset, dim1, dim2):
    """The diagonal of matrices."""
    return ops.diagonal(A, offset, dim1, dim2)


@_linalg("matmul(Tensor input, Tensor other)")
def linalg_matmul(input, other):
    """`matmul`."""
    return ops.matmul(input, other)


@_linalg("tensorinv(Tensor A, int ind=2)")
def linalg_tensorinv(A, ind):
    """The inverse of a tensor as the matrix of its first `ind` and its other dimensions."""
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    first, second = list(A.shape[:ind]), list(A.shape[ind:])
    if product(first) != product(second):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{product(second)} != {product(first)}"
        )
    return ops.linalg_inv(A.reshape([product(first), product(second)])).reshape([*second, *first])


@_linalg("tensorsolve(Tensor A, Tensor B, Any dims=None)")
def linalg_tensorsolve(A, B, dims):
    """X of tensordot(A, X, X.ndim) = B."""
    if dims is not None:
        A = ops.movedim(A, list(dims), list(range(A.ndim - len(dims), A.ndim)))
    rest = list(A.shape[B.ndim :])
    n = product(rest)
    if n != product(B.shape):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            "prod(self.shape[:other.ndim]), but got "
            f"{n} != {product(B.shape)}"
        )
    return linalg_solve(A.reshape([n, n]), B.reshape([n])).reshape(rest)


# ----------------------------------------------------------------------------------------------- low rank by sampling
@composite(
    "svd_lowrank(Tensor A, int? q=6, int? niter=2, Tensor? M=None) -> (Tensor U, Tensor S, Tensor V)",
    tags=["function_only"],
)
def svd_lowrank(A, q, niter, M):
    """The q largest singular values and their vectors, by sampling the range (Halko et al. 2009)."""
    x = A if M is None else A - M.expand(list(A.shape))
    *batch, m, n = x.shape
    q = min(6 if q is None else q, m, n)
    y = x @ ops.randn([*batch, n, q], dtype=x.dtype)
    basis = ops.linalg_qr(y)[0]
    for _ in range(niter or 0):
        basis = ops.linalg_qr(x @ ops.linalg_qr(adjoint(x) @ basis)[0])[0]
    u, s, vh = ops.linalg_svd(adjoint(basis) @ x, False)
    return basis @ u, s, adjoint(vh)


@composite(
    "pca_lowrank(Tensor A, int? q=None, bool center=True, int niter=2) -> (Tensor U, Tensor S, Tensor V)",
    tags=["function_only"],
)
def pca_lowrank(A, q, center, niter):
    """`svd_lowrank` of a matrix whose columns have mean 0."""
    q = min(6, *A.shape[-2:]) if q is None else q
    return svd_lowrank(A - ops.mean(A, [-2], True) if center else A, q, niter)
