"""Operations on the elements of a tensor where a mask is True."""

from weft.masked.mask import broadcast_mask as _broadcast_mask
from weft.masked.mask import output_mask as _output_mask  # noqa: F401
from weft.masked.mask import reduction_identity as _reduction_identity  # noqa: F401
from weft.masked.normalizations import cumprod, cumsum, log_softmax, normalize, softmax, softmin
from weft.masked.reductions import (
    amax,
    amin,
    argmax,
    argmin,
    logaddexp,
    logsumexp,
    mean,
    median,
    norm,
    prod,
    std,
    sum,
    var,
)

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean", "median", "norm",
    "normalize", "prod", "softmax", "softmin", "std", "sum", "var",
]  # fmt: skip


def _input_mask(input, *args, mask=None, **kwargs):
    """`mask` as booleans of the sizes of `input`."""
    return _broadcast_mask(input, mask)
