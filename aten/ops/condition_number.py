"""The condition number of matrices: the norm times that of the inverse."""

from aten.op import composite, ops
from aten.ops.linalg import check_matrix
from aten.promotion import to_real
from aten.scalar.unpatched import math
from aten.shapes import is_empty, product


@composite("linalg_cond(Tensor A, Any p=None) -> Tensor", tags=["function_only"])
def linalg_cond(A, p):
    """The condition number: inf of singular matrices, 0 of those without elements."""
    check_matrix("linalg.cond", A, square=isinstance(p, str))
    if is_empty(product(A.shape)):
        return ops.zeros(list(A.shape[:-2]), dtype=to_real(A.dtype), device=A.device)
    if p in (None, 2, -2):
        s = ops.linalg_svd(A, False)[1]
        top, low = ops.select(s, -1, 0), ops.select(s, -1, -1)
        return low / top if p == -2 else top / low
    inverse, info = ops.linalg_inv_ex(A)
    singular, size = info > 0, ops.linalg_matrix_norm(A, p)
    if p == "nuc":  # the norm of an inverse of infinities: that of zeros is NaN then; a library does not find such singular values
        inverse = ops.where(singular[..., None, None], 0, inverse)
    return ops.where(singular, size * math.inf if p == "nuc" else math.inf, size * ops.linalg_matrix_norm(inverse, p))


__all__ = ["linalg_cond"]
