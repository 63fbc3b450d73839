"""TorchDispatchMode: sees every core op below autograd."""

from __future__ import annotations

from typing import Any

from aten import Tensor, dispatch
from aten.overrides import state

__all__ = ["TorchDispatchMode", "is_traceable_wrapper_subclass", "return_and_correct_aliasing"]


class _Watch:
    """A mode that takes nothing: while one is open, calls go the general way, where dispatch modes are asked."""

    def handle(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Nothing."""
        return NotImplemented


class TorchDispatchMode:
    """Within `with mode:` every core op goes to `mode.__torch_dispatch__(func, types, args, kwargs)`, which may call func."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        dispatch.push_mode(_Watch())
        state.modes.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        state.modes.pop()
        dispatch.pop_mode()


def _get_current_dispatch_mode() -> Any:
    """The innermost open mode, or None."""
    return state.modes[-1] if state.modes else None


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Whether it is a tensor of a subclass that says which tensors it is made of, and can be made of them again."""
    ours = isinstance(t, Tensor) and type(t) is not Tensor
    return ours and hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """What a `__torch_dispatch__` returns for `out`, its result of func(*args, **kwargs).

    An op that writes in place returns the tensor written (with `out=`, that one), as its callers rely on; other results are
    `out` itself.
    """
    if getattr(func, "kind", "") == "inplace":
        return args[0]
    written = (kwargs or {}).get("out")
    return out if written is None else written
