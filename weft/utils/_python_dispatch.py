"""TorchDispatchMode: sees every core op below autograd."""

from __future__ import annotations

from typing import Any

from aten import dispatch
from aten.overrides import state

__all__ = ["TorchDispatchMode"]


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
