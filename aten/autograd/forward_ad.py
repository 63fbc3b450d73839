"""Forward-mode derivatives by dual tensors (torch.autograd.forward_ad)."""

from __future__ import annotations

from typing import Any, NamedTuple

from aten import dispatch
from aten._native import Tensor


class UnpackedDualTensor(NamedTuple):
    """A value and its tangent (None for zero)."""

    primal: Tensor
    tangent: Tensor | None


_levels: list[Any] = []
_current_level = -1  # the number of the innermost open level


def enter_dual_level() -> int:
    """Open a level in which dual tensors exist; returns its number. Only one at a time, as in PyTorch."""
    from aten.transforms.forward_mode import JvpLevel

    if _levels:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    level = JvpLevel(takes_all=False)
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
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    _levels.pop()
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
    if not tensor.dtype.is_floating_point and not tensor.dtype.is_complex:
        raise ValueError(f"Expected primal to be floating point or complex, but got: {tensor.dtype}")
    if tuple(tensor.shape) != tuple(tangent.shape):
        raise RuntimeError(f"Expected tangent to have sizes {list(tensor.shape)}, but got {list(tangent.shape)}")
    return _levels[-1].wrap(tensor, tangent)


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """(primal, tangent) of a tensor; the tangent is None if it carries none."""
    if not _levels or not _levels[-1].own(tensor):
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(*_levels[-1].split(tensor))
