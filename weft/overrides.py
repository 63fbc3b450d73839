"""torch.overrides: for libraries whose functions take objects with `__torch_function__`, and modes that see every call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import aten
from aten import dispatch
from aten.overrides import DisableTorchFunctionSubclass, any_overrides, as_called, disabled_torch_function, hand_over, overriding
from weft.utils._device import DeviceContext

__all__ = [
    "BaseTorchFunctionMode", "DisableTorchFunctionSubclass", "TorchFunctionMode", "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function", "has_torch_function", "is_tensor_like", "is_tensor_method_or_property", "resolve_name",
    "wrap_torch_function",
]  # fmt: skip

_disabled_torch_function_impl = disabled_torch_function


class TorchFunctionMode:
    """Within `with mode:` every op goes to `mode.__torch_function__(func, types, args, kwargs)` first, which may call func."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def handle(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call, as dispatch hands it to a mode."""
        types = tuple(type(v) for v in overriding((*args, *kwargs.values())))
        return self.__torch_function__(as_called.get(op, op), types, args, kwargs)

    def __enter__(self) -> Any:
        dispatch.push_mode(self)
        return self

    def __exit__(self, *exc: object) -> None:
        dispatch.pop_mode()


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that calls the op: for others to override."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether some argument has a `__torch_function__` of its own that is not disabled."""
    return any_overrides(relevant_args)


def has_torch_function_unary(arg: Any) -> bool:
    """`has_torch_function` of one argument."""
    return has_torch_function((arg,))


def has_torch_function_variadic(*args: Any) -> bool:
    """`has_torch_function` of the arguments."""
    return has_torch_function(args)


def handle_torch_function(public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """What the `__torch_function__` of the relevant arguments make of the call. Raises TypeError if none takes it."""
    return hand_over(relevant_args, public_api, args, kwargs)


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: the function asks `__torch_function__` of what `dispatcher(*args)` gives first."""

    def inner(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return func(*args, **kwargs)

        return wrapped

    return inner


def is_tensor_like(inp: Any) -> bool:
    """Whether it is a tensor, or has `__torch_function__`."""
    return isinstance(inp, aten.Tensor) or hasattr(inp, "__torch_function__")


@functools.cache
def get_overridable_functions() -> dict[Any, list[Any]]:
    """The functions that go to `__torch_function__`, by where they are found."""
    import weft

    functions = [op for name, op in aten.registry.items() if not name.startswith("_") and op.kind != "inplace"]
    methods = [op for name, op in aten.registry.items() if hasattr(aten.Tensor, name)]
    return {weft: functions, aten.Tensor: methods}


def get_ignored_functions() -> set[Any]:
    """Functions that make tensors from nothing, and so ask nobody."""
    return {op for op in aten.registry.values() if op.kind == "factory"} | {aten.tensor, aten.as_tensor, aten.from_numpy}


def get_testing_overrides() -> dict[Any, Callable[..., Any]]:
    """For each overridable function one of the same signature that returns -1."""
    return {op: (lambda *args, **kwargs: -1) for ops in get_overridable_functions().values() for op in ops}


def is_tensor_method_or_property(func: Any) -> bool:
    """Whether it is a method or property of Tensor."""
    return func in get_overridable_functions()[aten.Tensor] or getattr(func, "__name__", "") == "__get__"


def resolve_name(f: Any) -> str | None:
    """The name of an overridable function: torch.add, torch.Tensor.shape.__get__."""
    name = getattr(f, "__name__", None)
    owner = getattr(f, "__self__", None)
    if name in ("__get__", "__set__") and owner is not None:
        return f"torch.Tensor.{_properties().get(owner, '?')}.{name}"
    if name is not None and getattr(f, "__objclass__", None) is not None or str(name).startswith("__"):
        return f"torch.Tensor.{name}"
    return None if name is None else f"torch.{name}"


@functools.cache
def _properties() -> dict[Any, str]:
    """The properties of tensors: their names."""
    members = vars(aten.Tensor).items()
    return {value: name for name, value in members if hasattr(value, "__get__") and not callable(value) and value.__hash__}


def _get_current_function_mode_stack() -> list[Any]:
    """The open modes that see functions, the outermost first; a default device stands there as a DeviceContext."""
    modes = dispatch.stack.modes[: dispatch.stack.mode_top]
    return [DeviceContext(m.device) if isinstance(m, dispatch.On) else m for m in modes if _sees_functions(m)]


def _sees_functions(mode: Any) -> bool:
    return isinstance(mode, dispatch.On) or hasattr(mode, "__torch_function__")
