"""Functions that PyTorch writes in Python, under the name of their part: they are the ops of the same names."""

from typing import Any

import aten

_NAMES = (
    "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors",
    "cartesian_prod", "cdist", "chain_matmul", "einsum", "istft", "lu", "meshgrid", "norm", "split", "stft", "tensordot",
    "pca_lowrank", "svd_lowrank", "unique", "unique_consecutive", "unravel_index",
)  # fmt: skip
Tensor = aten.Tensor


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(aten, name)
    raise AttributeError(f"module 'weft.functional' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_NAMES)
