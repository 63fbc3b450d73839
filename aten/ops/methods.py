"""What tensors have besides the ops' methods: iteration, `in`, and the properties that name a view."""

import sys
from collections.abc import Iterator
from typing import Any

from aten import dtype as dtypes
from aten._native import Tensor
from aten.errors import warn_caller
from aten.info import iinfo
from aten.op import ops
from aten.ops.batching import differs_by_element
from aten.out_dtypes import not_cast
from aten.promotion import can_cast
from aten.shapes import product
from aten.tensor import attach


def _iterate(self: Any) -> Iterator[Any]:
    if self.ndim == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(ops.unbind(self, 0))


def _reversed(self: Any) -> Any:
    return self if self.ndim == 0 else ops.flip(self, [0])


def _contains(self: Any, item: Any) -> bool:
    if hasattr(item, "dtype") or isinstance(item, (bool, int, float, complex)):
        return bool(ops.any(ops.eq(self, item)))
    raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(item)}.")


def _reflected_div(self: Any, other: Any) -> Any:
    """other / self under the name it had in Python 2."""
    if not hasattr(other, "dtype") and not isinstance(other, (bool, int, float, complex)):
        return NotImplemented
    return ops.mul(ops.reciprocal(self), other)


grown_memory_is_filled = False  # where deterministic algorithms are asked for: with NaN, or the greatest number
_native_resize = Tensor.resize_


def _resize(self: Any, *sizes: Any, size: Any = None, memory_format: Any = None) -> Any:
    """New sizes, row-major, keeping what fits; the storage grows when it must."""
    if size is not None:
        if sizes:
            raise TypeError("resize_() got multiple values for argument 'size'")
        sizes = (size,)
    if memory_format is not None and memory_format.name not in ("contiguous_format", "preserve_format"):
        size = sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
        made = ops.empty(list(size), memory_format=memory_format)
        _resize(self, tuple(made.shape))
        return self.set_(self.untyped_storage(), self.storage_offset(), tuple(made.shape), made.stride())
    if differs_by_element(self):
        flat = ops.reshape(self, [-1])
        wanted = list(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else list(sizes)
        if product(wanted) <= flat.numel():  # of each element what fits
            self.level.relayout(self, ops.reshape(ops.narrow(flat, 0, 0, product(wanted)), wanted))
            return self
    if not grown_memory_is_filled:
        return _native_resize(self, *sizes)
    before = self.untyped_storage().nbytes()
    _native_resize(self, *sizes)
    now, size = self.untyped_storage().nbytes(), self.dtype.itemsize
    if now > before and fills_memory():
        new = ops.as_strided(self.detach(), [(now - before) // size], [1], before // size)
        floats = self.dtype.is_floating_point or self.dtype.is_complex
        new.fill_(float("nan") if floats else True if self.dtype is dtypes.bool else iinfo(self.dtype).max)
    return self


def fills_memory() -> bool:
    """What `utils.deterministic.fill_uninitialized_memory` says."""
    switch = sys.modules.get("weft.utils.deterministic")
    return switch is None or switch.fill_uninitialized_memory


def _resize_as(self: Any, the_template: Any, memory_format: Any = None) -> Any:
    """`resize_` to the sizes of another tensor."""
    if not hasattr(the_template, "shape"):
        raise TypeError(f"resize_as_(): argument 'the_template' must be Tensor, not {type(the_template).__name__}")
    return self.resize_(tuple(the_template.shape), memory_format=memory_format)


def _module_load(self: Any, other: Any, assign: bool = False) -> Any:
    """What `load_state_dict` puts in the place of `self`, made of `other`."""
    if assign:
        return other.detach()
    return self.copy_(other).detach()


def _reverse_dims(self: Any) -> Any:
    if self.ndim not in (0, 2):
        warn_caller(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an error "
            "in a future release. Consider `x.mT` to transpose batches of matrices or "
            "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor.",
            once=True,
        )
    return ops.permute(self, list(reversed(range(self.ndim))))


def _transposed(self: Any) -> Any:
    if self.ndim == 0:
        return ops.alias(self)
    if self.ndim < 2:
        raise RuntimeError(f"tensor.mT is only supported on matrices or batches of matrices. Got {self.ndim}-D tensor.")
    return ops.transpose(self, -2, -1)


def _adjoint(self: Any) -> Any:
    if self.ndim == 0:
        return ops.conj(self)
    if self.ndim < 2:
        raise RuntimeError(f"tensor.mH is only supported on matrices or batches of matrices. Got {self.ndim}-D tensor.")
    return ops.conj(ops.transpose(self, -2, -1))


def _matrix_adjoint(self: Any) -> Any:
    if self.ndim not in (0, 2):
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor.")
    return ops.conj(self if self.ndim == 0 else ops.transpose(self, 0, 1))


def _complex(self: Any) -> complex:
    return complex(self.item())


def _old_resize(self: Any, *sizes: Any) -> Any:
    """A view of other sizes, under the name that `view` had."""
    warn_caller("non-inplace resize is deprecated")
    return ops.view(self, list(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else list(sizes))


def _old_resize_as(self: Any, tensor: Any) -> Any:
    warn_caller("non-inplace resize_as is deprecated")
    return ops.view(self, list(tensor.shape))


def _volatile(self: Any) -> bool:
    warn_caller("volatile was removed (Variable.volatile is always False)")
    return False


def _reinforce(self: Any, reward: Any) -> Any:
    raise RuntimeError(
        "reinforce() was removed. Use torch.distributions instead: the loss is -log_prob(action) * reward, where the action was "
        "drawn by sample()."
    )


def _polygamma_(self: Tensor, n: int) -> Tensor:
    result = ops.polygamma(n, self)
    if not can_cast(result.dtype, self.dtype):
        raise not_cast(ops.polygamma, result.dtype, self.dtype)
    return self.copy_(result)


def attach_properties() -> None:
    """Make these methods and properties of Tensor."""
    attach("__iter__", _iterate)
    attach("__reversed__", _reversed)
    attach("__contains__", _contains)
    attach("__rdiv__", _reflected_div)
    attach("slogdet", lambda self: ops.slogdet(self))
    attach("polygamma", lambda self, n: ops.polygamma(n, self))  # whose function takes the number first
    attach("polygamma_", _polygamma_)
    attach("const_data_ptr", lambda self: self.data_ptr())
    attach("module_load", _module_load)
    attach("resize_as_", _resize_as)
    attach("resize_", _resize)
    attach("resize", _old_resize)
    attach("resize_as", _old_resize_as)
    attach("__complex__", _complex)
    attach("volatile", property(_volatile))
    attach("__nonzero__", Tensor.__bool__)
    attach("__long__", Tensor.__int__)
    attach("reinforce", _reinforce)
    attach("name", property(lambda self: None))
    attach("_grad", property(lambda self: self.grad, lambda self, value: setattr(self, "grad", value)))
    for name, getter in (("T", _reverse_dims), ("mT", _transposed), ("mH", _adjoint), ("H", _matrix_adjoint)):
        attach(name, property(getter))
