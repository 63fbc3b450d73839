"""swap_tensors: two tensors exchange everything but their identities."""

from __future__ import annotations

import weakref
from typing import Any

import aten
from aten import Tensor

__all__ = ["swap_tensors"]


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchanges class, attributes, memory, layout, gradient and requires_grad of two leaves.

    Raises RuntimeError if either has weak references, or a history of ops: those would refer to the other then.
    """
    for name, t in (("t1", t1), ("t2", t2)):
        if weakref.getweakrefcount(t):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
        if t.grad_fn is not None:
            raise RuntimeError(f"Cannot swap {name}, which is not a leaf")
    if _slots(t1) != _slots(t2):
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    with aten.no_grad():
        first, second = _contents(t1), _contents(t2)
        _fill(t1, second)
        _fill(t2, first)


def _slots(t: Tensor) -> list[str]:
    """The names of slots that the classes of a tensor have of their own, in order of name: what two classes with the same lay
    out alike."""
    named = [vars(cls).get("__slots__", ()) for cls in type(t).__mro__ if issubclass(cls, Tensor) and cls is not Tensor]
    names = {name for own in named for name in ((own,) if isinstance(own, str) else own)}
    return sorted(names - {"__dict__", "__weakref__"})


def _contents(t: Tensor) -> tuple[Any, ...]:
    slots = {name: getattr(t, name) for name in _slots(t) if hasattr(t, name)}
    return t.__class__, getattr(t, "__dict__", None), slots, t.data, t.grad, t.requires_grad


def _fill(t: Tensor, contents: tuple[Any, ...]) -> None:
    cls, attributes, slots, data, grad, requires_grad = contents
    for name in _slots(t):
        if hasattr(t, name):
            delattr(t, name)
    t.grad = None
    t.requires_grad_(False)
    t.data = data
    if t.__class__ is not cls:
        t.__class__ = cls
    if attributes is not None:  # the very dict: others may hold it
        t.__dict__ = attributes
    for name, value in slots.items():
        setattr(t, name, value)
    t.requires_grad_(requires_grad)
    t.grad = grad
