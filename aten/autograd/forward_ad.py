"""Forward-mode derivatives by dual tensors (torch.autograd.forward_ad)."""

from __future__ import annotations

from typing import Any, NamedTuple

from aten import _native, dispatch
from aten._native import Tensor


class UnpackedDualTensor(NamedTuple):
    """A value and its tangent (None for zero)."""

    primal: Tensor
    tangent: Tensor | None


_levels: list[Any] = []
_current_level = -1  # the number of the innermost open level


def enter_dual_level() -> int:
    """Open a level in which dual tensors exist; returns its number. Only one at a time, as in PyTorch."""
    from aten.transforms.dual_level import DualLevel  # transforms are above this package

    if _levels:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    level = DualLevel()
    _levels.append(level)
    dispatch.push_level(level)
    _count()
    return _current_level


def _count() -> None:
    global _current_level
    _current_level = len(_levels) - 1


def exit_dual_level(*, level: int | None = None) -> None:
    """Close it. Raises RuntimeError if none is open."""
    if not _levels:
        raise RuntimeError("Trying to exit a forward AD level but no level was entered")
    if level is not None and level != _current_level:
        raise RuntimeError("Trying to exit a forward AD level that was not the last one that was created. This is not supported.")
    _levels.pop().close()
    dispatch.pop_level()
    _count()


class dual_level:
    """The context of a forward-mode computation."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exc: Any) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A tensor that carries a tangent of the same sizes. Raises RuntimeError outside a dual_level."""
    if not _levels:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    from aten.transforms.dual_level import tangent_for
    from aten.transforms.forward_mode import check_tangent

    check_tangent(tensor, tangent)
    if _levels[-1].split(tangent)[1] is not None:
        raise RuntimeError("Trying to set a forward gradient that has a forward gradient at the same level, this is not supported.")
    primal = _levels[-1].split(tensor)[0]
    return _levels[-1].wrap(primal, tangent_for(primal, tangent)) if _enabled else primal.view_as(primal)


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """(primal, tangent) of a tensor: views of their memory; the tangent is None if it carries none."""
    if not _levels:
        return UnpackedDualTensor(_primal_of_closed(tensor), None)
    primal, tangent = _levels[-1].split(_primal_of_closed(tensor))
    return UnpackedDualTensor(primal if tangent is None else primal.view_as(primal), tangent)


def _primal_of_closed(tensor: Tensor) -> Tensor:
    """The value of a dual tensor whose level is closed; any other tensor as it is."""
    level = getattr(tensor, "level", None) if _native.is_tracer(tensor) else None
    return level.split(tensor)[0] if getattr(level, "closed", False) else tensor


# ------------------------------------------------------------------------------- whether tangents are taken at all
_enabled = True


def _is_fwd_grad_enabled() -> bool:
    """Whether `make_dual` gives a tensor its tangent."""
    return _enabled


class _set_fwd_grad_enabled:
    """Switches that at once; as a context manager, restores what was before at the end."""

    def __init__(self, mode: bool) -> None:
        global _enabled
        self.before, _enabled = _enabled, mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: Any) -> None:
        global _enabled
        _enabled = self.before
