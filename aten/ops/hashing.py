"""Hashes of tensors."""

import numpy as np

from aten import dtype as dtypes
from aten.meta import Meta
from aten.op import op
from aten.promotion import TYPE_NAMES, category
from aten.shapes import reduced_sizes, wrap_dims


@op(
    "hash_tensor(Tensor input, int[1] dim=(), *, bool keepdim=False, int mode=0) -> Tensor",
    tags=["library"],
)
def hash_tensor(input: Meta, dim: list[int], keepdim: bool, mode: int) -> Meta:
    """The bits of the elements, as float64 or int64, combined by exclusive or, as uint64; over all dims if `dim` is empty.

    Raises RuntimeError for another mode than 0, NotImplementedError for complex and wide unsigned dtypes.
    """
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    if category(input.dtype) == 3 or input.dtype in (dtypes.uint16, dtypes.uint32, dtypes.uint64):
        raise NotImplementedError(f'"xor_sum_cpu" not implemented for \'{TYPE_NAMES[input.dtype.name]}\'')
    for d in dim:
        if input.sizes[d] == 0:
            raise IndexError(f"hash_tensor: Expected reduction dim {d} to have non-zero size.")
    return input.like(sizes=reduced_sizes(input.sizes, dim, keepdim), dtype=dtypes.uint64)


@hash_tensor.normal
def _(input, dim, keepdim, mode):
    if not dim and 0 in input.shape:
        raise RuntimeError(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
            "'dim' argument."
        )
    return input, wrap_dims(dim, input.ndim), keepdim, mode


@hash_tensor.kernel
def _(out, x, dim, keepdim, mode):
    wide = x.astype(np.int64 if x.dtype.kind in "biu" else np.float64).view(np.uint64)
    np.bitwise_xor.reduce(wide, axis=tuple(dim), keepdims=keepdim, out=out)
