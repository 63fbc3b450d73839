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
    with aten.no_grad():
        first, second = _contents(t1), _contents(t2)
        _fill(t1, second)
        _fill(t2, first)


def _contents(t: Tensor) -> tuple[Any, ...]:
    return t.__class__, dict(getattr(t, "__dict__", {})), t.data, t.grad, t.requires_grad


def _fill(t: Tensor, contents: tuple[Any, ...]) -> None:
    cls, attributes, data, grad, requires_grad = contents
    t.grad = None
    t.requires_grad_(False)
    t.data = data
    if t.__class__ is not cls:
        t.__class__ = cls
    if attributes or getattr(t, "__dict__", None):
        t.__dict__.clear()
        t.__dict__.update(attributes)
    t.requires_grad_(requires_grad)
    t.grad = grad
