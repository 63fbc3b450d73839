"""What a tensor says of itself in PyTorch's words: layout, kind of memory, view, sameness. Every tensor here is strided, dense and
without lazily applied conjugation, so many answers are constant."""

from typing import Any

from aten import _native, layout
from aten._native import DType, Tensor
from aten.info import is_nonzero
from aten.later import later
from aten.layout import MemoryFormat
from aten.tensor import attach


def _always(value: Any) -> Any:
    return lambda self: value


def _refused(name: str) -> Any:
    def refuse(self: Tensor, *args: Any) -> Any:
        wanted = "sparse row compressed" if name in ("crow_indices", "col_indices") else "sparse coordinate"
        raise RuntimeError(f"{name} expected {wanted} tensor layout but got Strided")

    return refuse


def _is_view(self: Tensor) -> bool:
    return self._base is not None


def is_same_size(self: Tensor, other: Tensor) -> bool:
    """Whether both have the same sizes."""
    return tuple(self.shape) == tuple(other.shape)


def _is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both show the same memory in the same way."""
    return (
        self.untyped_storage() == tensor.untyped_storage()
        and self.storage_offset() == tensor.storage_offset()
        and self.shape == tensor.shape
        and self.stride() == tensor.stride()
    )


def _dim_order(self: Tensor, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The dims from the slowest to the fastest in memory.

    ambiguity_check: True for RuntimeError where other orders say as much, a list of memory formats for RuntimeError unless just one
    of them is the tensor's. Raises TypeError for anything else.
    """
    formats = ambiguity_check if isinstance(ambiguity_check, list) else []
    if not isinstance(ambiguity_check, (bool, list)) or not all(isinstance(f, MemoryFormat) for f in formats):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    steps = self.stride()
    several = any(n == 1 for n in self.shape) or any(a == b for a, b in zip(steps, steps[1:]))
    if ambiguity_check is not False and several and sum(self.is_contiguous(memory_format=f) for f in formats) != 1:
        raise RuntimeError("The tensor does not have unique dim order, or cannot map to exact one of the given memory formats.")
    return tuple(sorted(range(self.ndim), key=lambda d: (-self.stride(d), d)))


def _names(self: Tensor) -> tuple[None, ...]:
    return (None,) * self.ndim


def _grad_dtype(self: Tensor) -> DType:
    """The dtype of the gradient: the tensor's own. Raises RuntimeError for a tensor that has a history."""
    if not self.is_leaf:
        raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
    return self.dtype


def _set_grad_dtype(self: Tensor, dtype: Any) -> None:
    """Raises RuntimeError for another dtype than the tensor's: a gradient always has that one."""
    if _grad_dtype(self) is not dtype:
        raise RuntimeError(
            f"grad_dtype of a tensor of {self.dtype} cannot be {dtype}: a gradient has the dtype of its tensor. Keep the tensor "
            "in the dtype that its gradient is to have, and cast it where it is used (autocast does)"
        )


def is_signed(input: Tensor) -> bool:
    """Whether the dtype holds negative numbers."""
    return input.dtype.is_signed


def is_inference(input: Tensor) -> bool:
    """Whether the tensor was made under inference_mode."""
    return input.is_inference()


def is_conj(input: Tensor) -> bool:
    """False: conjugation is never left to later."""
    return False


def is_neg(input: Tensor) -> bool:
    """False: negation is never left to later."""
    return False


for _name in (
    "is_sparse",
    "is_sparse_csr",
    "is_quantized",
    "is_mkldnn",
    "is_nested",
    "is_mps",
    "is_xpu",
    "is_hpu",
    "is_ipu",
    "is_xla",
    "is_vulkan",
    "is_ort",
    "is_mtia",
    "is_maia",
):
    attach(_name, property(_always(False)))
for _name, _fn in {
    "is_conj": is_conj,
    "is_neg": is_neg,
    "is_distributed": _always(False),
    "has_names": _always(False),
    "names": property(_names),
    "layout": property(_always(layout.strided)),
    "_is_view": _is_view,
    "_is_zerotensor": _always(False),
    "is_same_size": is_same_size,
    "is_set_to": _is_set_to,
    "is_nonzero": is_nonzero,
    "_grad": property(lambda self: self.grad, lambda self, grad: setattr(self, "grad", grad)),
    "dim_order": _dim_order,
    "grad_dtype": property(_grad_dtype, _set_grad_dtype),
    "_fix_weakref": _always(None),
    "sparse_dim": _always(0),
    "dense_dim": lambda self: self.ndim,
    "to_dense": lambda self, dtype=None, *, masked_grad=True: self if dtype is None else self.to(dtype),
}.items():
    attach(_name, _fn)
for _name in ("to_sparse", "to_sparse_coo", "to_sparse_csr", "to_sparse_csc", "to_sparse_bsr", "to_sparse_bsc", "sparse_mask"):
    attach(_name, later("aten.sparse.conversion", _name))
for _name in (
    "indices", "values", "_indices", "_values", "_nnz", "coalesce", "is_coalesced", "crow_indices", "col_indices", "ccol_indices",
    "row_indices",
):  # fmt: skip
    attach(_name, _refused(_name))

_native.DType.__module__ = _native.Device.__module__ = "weft"  # as users know them
_native.DType.__name__ = _native.DType.__qualname__ = "dtype"
_native.Device.__name__ = _native.Device.__qualname__ = "device"

__all__ = ["is_conj", "is_inference", "is_neg", "is_nonzero", "is_same_size", "is_signed"]
