"""Parametrizations: a parameter or buffer of a module computed by modules from one or more tensors of its own.

A parametrized module is of a class made for its class and the names that are parametrized, with a property for each.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import types
from collections.abc import Iterator, Sequence
from typing import Any

import aten
from aten import Parameter, Tensor
from weft.nn.containers import ModuleDict, ModuleList
from weft.nn.module import Module

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
    "transfer_parametrizations_and_params", "type_before_parametrizations",
]  # fmt: skip

_caching = {"depth": 0}
_cache: dict[tuple[int, str], Any] = {}


@contextlib.contextmanager
def cached() -> Iterator[None]:
    """Within the block (or the decorated function) each parametrized tensor is computed once."""
    _caching["depth"] += 1
    try:
        yield
    finally:
        _caching["depth"] -= 1
        if not _caching["depth"]:
            _cache.clear()


def _file(module: Module, name: str, tensor: Tensor | None) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _overwrite(target: Tensor, value: Tensor) -> None:
    """`target` stays the object that optimizers know, with the memory of `value`."""
    if value is not target:
        target.data = value.detach()


def _check_like(value: Any, like: Tensor, subject: str, verb: str = "change") -> None:
    """Raises ValueError unless `value` is a tensor of the dtype and sizes of `like`."""
    if not isinstance(value, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(value).__name__}.")
    for what, mine, its in (("dtype", value.dtype, like.dtype), ("shape", value.shape, like.shape)):
        if mine != its:
            raise ValueError(
                f"Registering a parametrization may not change the {what} of the tensor, unless `unsafe` flag is enabled.\n"
                f"{subject} {what}: {its}\nparametrized {what}: {mine}"
            )


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied in order, and what they start from: `original`, or `original0`, `original1` …"""

    unsafe: bool

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        like = original.detach().clone() if not unsafe else original
        with aten.no_grad():
            new: Any = original
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    with contextlib.suppress(NotImplementedError):
                        new = module.right_inverse(new)
        if not isinstance(new, (Tensor, Sequence)):
            raise ValueError(
                f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got {type(new).__name__}"
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            self._start_from(original, new)
        else:
            self._start_from_several(original, new)
        if not unsafe:
            _check_like(self(), like, "unparametrized")

    def _start_from(self, original: Tensor, new: Tensor) -> None:
        for what, mine, its in (("dtype", new.dtype, original.dtype), ("device", new.device, original.device)):
            if mine != its:
                raise ValueError(
                    f"When `right_inverse` outputs one tensor, it may not change the {what}.\n"
                    f"original.{what}: {its}\nright_inverse(original).{what}: {mine}"
                )
        with aten.no_grad():
            _overwrite(original, new)
        _file(self, "original", original)

    def _start_from_several(self, original: Tensor, new: Sequence[Any]) -> None:
        for i, tensor in enumerate(new):
            if not isinstance(tensor, Tensor):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                    f"Got element {i} of the sequence with type {type(tensor).__name__}."
                )
            if isinstance(original, Parameter):
                tensor = Parameter(tensor, original.requires_grad)
            tensor.requires_grad_(original.requires_grad)
            _file(self, f"original{i}", tensor)

    def right_inverse(self, value: Tensor) -> None:
        """Sets the originals so that the parametrized tensor is `value`. Raises RuntimeError where a module cannot say how."""
        with aten.no_grad():
            made: Any = value
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                made = module.right_inverse(made)
            if self.is_tensor:
                if not isinstance(made, Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {type(made).__name__}")
                if made.dtype != self.original.dtype:
                    raise ValueError(
                        f"The tensor returned by `right_inverse` has dtype {made.dtype} while `original` has dtype "
                        f"{self.original.dtype}"
                    )
                _overwrite(self.original, made)
                return
            if not isinstance(made, Sequence):
                raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(made).__name__}.")
            if len(made) != self.ntensors:
                raise ValueError(
                    f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. "
                    f"Got a sequence of length {len(made)}."
                )
            for i, tensor in enumerate(made):
                original = getattr(self, f"original{i}")
                if not isinstance(tensor, Tensor):
                    raise ValueError(
                        f"`right_inverse` must return a sequence of tensors. Got element {i} of type {type(tensor).__name__}"
                    )
                if original.dtype != tensor.dtype:
                    raise ValueError(
                        f"Tensor {i} returned by `right_inverse` has dtype {tensor.dtype} while `original{i}` has dtype "
                        f"{original.dtype}"
                    )
                _overwrite(original, tensor)

    def forward(self) -> Tensor:
        """The parametrized tensor."""
        if self.is_tensor:
            value = self[0](self.original)
        else:
            value = self[0](*(getattr(self, f"original{i}") for i in range(self.ntensors)))
        for i in range(1, len(self)):
            value = self[i](value)
        return value


# ------------------------------------------------------------------------------------- classes with properties
def _property(name: str) -> property:
    def read(self: Any) -> Tensor:
        if not _caching["depth"]:
            return self.parametrizations[name]()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = self.parametrizations[name]()
        return _cache[key]

    def write(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(read, write)


def _deepcopy(self: Any, memo: dict) -> Any:
    made = memo.get(id(self))
    if made is None:
        made = memo[id(self)] = object.__new__(type(self))
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return made


def _getstate(self: Any) -> Any:
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(). See:\n"
        "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
        "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
    )


@functools.cache
def _parametrized_class(cls: Any, names: tuple[str, ...]) -> type:
    """The class of a module of class `cls` of which these are parametrized."""
    members: dict[str, Any] = {name: _property(name) for name in names}
    members.update(__getstate__=_getstate, __module__=cls.__module__, _parametrized_names=names)
    if not hasattr(cls, "__deepcopy__"):
        members["__deepcopy__"] = _deepcopy
    return types.new_class(f"Parametrized{cls.__name__}", (cls,), {}, lambda names: names.update(members))


def _set_class(module: Module, names: tuple[str, ...]) -> None:
    cls = type_before_parametrizations(module)
    object.__setattr__(module, "__class__", _parametrized_class(cls, names) if names else cls)


def type_before_parametrizations(module: Module) -> type:
    """The class that the module had before anything of it was parametrized."""
    return type(module).__bases__[0] if "_parametrized_names" in type(module).__dict__ else type(module)


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether anything of the module, or this tensor, is parametrized."""
    parametrizations = getattr(module, "parametrizations", None)
    if parametrizations is None or not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


# ------------------------------------------------------------------------------------ registering and removing
def register_parametrization(module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False) -> Module:
    """Computes the parameter or buffer `tensor_name` by `parametrization` from now on, after those that it has already.

    With `right_inverse`, its value is kept where that has an inverse. unsafe: dtype and sizes may change, and are not
    checked. Raises ValueError for a name that is none, and for changed dtypes or sizes.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        parametrizations = module.parametrizations[tensor_name]
        if not unsafe:
            _check_next(module, tensor_name, parametrization)
        parametrizations.append(parametrization)
        parametrizations.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        listed = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            module.parametrizations = ModuleDict()
        _set_class(module, (*getattr(type(module), "_parametrized_names", ()), tensor_name))
        module.parametrizations[tensor_name] = listed
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'"
        )
    return module


def _check_next(module: Module, name: str, parametrization: Module) -> None:
    """Raises ValueError unless a further parametrization and its right_inverse keep dtype and sizes."""
    value = getattr(module, name)
    made = parametrization(value)
    _check_like(made, value, f"module.{name}")
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        back = parametrization.right_inverse(made)
    except NotImplementedError:
        return
    if not isinstance(back, Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}")
    for what, mine, its in (("dtype", back.dtype, value.dtype), ("shape", tuple(back.shape), tuple(value.shape))):
        if mine != its:
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {what} as module.{name}, unless the "
                f"`unsafe` flag is enabled.\nmodule.{name}.{what}: {its}\nreturned {what}: {mine}"
            )


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """The tensor becomes a parameter or buffer again: of its value now, or with leave_parametrized=False its original.

    Raises ValueError if it is not parametrized, and for an original that is several tensors.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            with aten.no_grad():
                _overwrite(original, getattr(module, tensor_name))
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence of "
            "tensors."
        )
    del module.parametrizations[tensor_name]
    _set_class(module, tuple(n for n in vars(type(module))["_parametrized_names"] if n != tensor_name))
    _file(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
    return module


def transfer_parametrizations_and_params(from_module: Module, to_module: Module, tensor_name: str | None = None) -> Module:
    """Gives `to_module` the parametrizations of `from_module` (of one name, or all), with their originals, and its parameters."""
    if is_parametrized(from_module):
        wanted = list(from_module.parametrizations) if tensor_name is None else [tensor_name]
        for name in wanted:
            source = from_module.parametrizations[name]
            if not hasattr(to_module, name):
                setattr(to_module, name, Parameter(getattr(from_module, name)))
            for parametrization in source:
                register_parametrization(to_module, name, parametrization)
            target = to_module.parametrizations[name]
            for original in ["original"] if source.is_tensor else [f"original{i}" for i in range(source.ntensors)]:
                setattr(target, original, getattr(source, original))
    return to_module
