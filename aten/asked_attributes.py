"""Attributes and native methods of Tensor on classes with a `__torch_function__` of their own, which is asked about them.

A plain Tensor's are C fields that nobody is asked about. On a class that overrides, each is a descriptor that hands
`__torch_function__` what it stands for: `Tensor.shape.__get__`, `Tensor.requires_grad.__set__`, `Tensor.size`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from aten import overrides
from aten._native import Tensor
from aten.tensor import Parameter

_NAMES = (
    "T H mT mH real imag layout is_sparse is_sparse_csr is_quantized is_nested is_mkldnn is_mps is_xpu is_cpu is_cuda is_meta "
    "shape dtype device ndim itemsize nbytes requires_grad is_leaf grad grad_fn data output_nr retains_grad _version _base"
).split()
_METHODS = (
    "size stride dim ndimension numel nelement element_size is_contiguous storage_offset data_ptr untyped_storage storage "
    "is_floating_point is_complex is_signed is_inference get_device requires_grad_ item tolist numpy detach detach_ type "
    "retain_grad register_hook backward is_pinned pin_memory is_shared share_memory_ is_set_to resize_ set_ storage_type "
    "__len__ __bool__ __int__ __float__ __index__ __contains__ __repr__ __format__ __array__ __dlpack__ "
    "__deepcopy__ __reduce_ex__"
).split()
_SAME = {"ndimension": "dim", "nelement": "numel"}


class AskedAttribute(property):
    """The attribute `of` of Tensor, about which the class of the tensor is asked."""

    def __init__(self, of: Any, name: str):
        self.of, self.name = of, name
        settable = getattr(of, "fset", None) is not None if isinstance(of, property) else True
        super().__init__(self._read, self._write if settable else None, None, getattr(of, "__doc__", None))

    def _read(self, tensor: Tensor) -> Any:
        return _asked(self.of.__get__, (tensor,), {})

    def _write(self, tensor: Tensor, value: Any) -> None:
        _asked(self.of.__set__, (tensor, value), {})


def _asked(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    found = [] if overrides.state.off else overrides.overriding((*args, *kwargs.values()))
    return overrides.ask(found, function, args, kwargs) if found else function(*args, **kwargs)


def _asked_method(of: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(of, assigned=("__name__", "__qualname__", "__doc__"))
    def method(*args: Any, **kwargs: Any) -> Any:
        return _asked(of, args, kwargs)

    return method


attributes: dict[str, AskedAttribute] = {}
methods: dict[str, Callable[..., Any]] = {}


def install(cls: type) -> None:
    """Have the class, which has a `__torch_function__` of its own, asked. What it defines itself stays."""
    for name, asked in {**attributes, **methods}.items():
        mine = getattr(cls, name, None)
        if mine is getattr(Tensor, name) or mine is getattr(Parameter, name):
            setattr(cls, name, asked)


def is_asked(name: str, found: Any) -> bool:
    """Whether what a class has under this name asks its `__torch_function__`."""
    return found is not None and (found is attributes.get(name) or found is methods.get(name))


def declare(registry: dict[str, Any]) -> None:
    """Once Tensor has all that it has: classes that are made from here on are asked."""
    attributes.update((name, AskedAttribute(Tensor.__dict__[name], name)) for name in _NAMES)
    methods.update((name, _asked_method(getattr(Tensor, _SAME.get(name, name)))) for name in _METHODS)
    overrides.as_called.update({registry["getitem"]: Tensor.__getitem__, registry["setitem"]: Tensor.__setitem__})
    overrides.set_install(install)


__all__ = ["AskedAttribute", "attributes", "declare", "install", "is_asked", "methods"]
