"""Solvers that say of each matrix of a batch whether they succeeded instead of raising: the core of `linalg.*_ex`."""

import numpy as np

from aten import dtype as dtypes
from aten.meta import Meta
from aten.op import op
from aten.ops import factorizations
from aten.ops.linalg import by_columns, check_matrix, cholesky_gradient, solve_gradients, solve_matrix


def _info(A: Meta) -> Meta:
    return A.like(sizes=A.sizes[:-2], dtype=dtypes.int32)


@op("cholesky_info(Tensor A, bool upper=False) -> (Tensor L, Tensor info)", tags=["library", "hidden"])
def cholesky_info(A: Meta, upper: bool) -> tuple[Meta, Meta]:
    """`cholesky_lower`, and of each matrix 0 or the order of the first minor that is not positive; L then holds what was done."""
    check_matrix("linalg.cholesky", A, square=True, kernel="cholesky_cpu")
    return by_columns(A, A.sizes), _info(A)


@cholesky_info.kernel
def _(out, a, upper):
    out[0][...], out[1][...] = factorizations.cholesky(np.swapaxes(a, -1, -2).conj() if upper else a)


@cholesky_info.vjp
def _(g, out):
    return None if g[0] is None else cholesky_gradient(g[0], out[0])


@op("solve_info(Tensor A, Tensor B) -> (Tensor result, Tensor info)", tags=["library", "hidden"])
def solve_info(A: Meta, B: Meta) -> tuple[Meta, Meta]:
    """`solve_matrix`, and of each matrix 0 or which pivot of its LU decomposition is 0."""
    return solve_matrix.meta(A, B), _info(A)


@solve_info.kernel
def _(out, a, b):
    try:
        out[0][...], out[1][...] = np.linalg.solve(a, b), 0
    except np.linalg.LinAlgError:
        out[0][...], out[1][...] = factorizations.solve(a, b)


@solve_info.vjp
def _(g, needs, A, out):
    return (None, None) if g[0] is None else solve_gradients(g[0], needs, A, out[0], lambda a, b: solve_info(a, b)[0])


__all__ = ["cholesky_info", "solve_info"]
