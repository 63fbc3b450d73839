"""The level of `autograd.forward_ad`: values and tangents lie in memory, where in-place ops write both.

A dual tensor shows the memory of its value and of its tangent, and its views show the same memory. A tensor that was no dual
becomes one when something with a tangent is written into it, or into a view of it.
"""

from __future__ import annotations

import weakref
from typing import Any

from aten import _native, dispatch
from aten._native import Tensor
from aten.op import Op, registry
from aten.transforms.forward_mode import JvpLevel, JvpTracer
from aten.transforms.tracer import Tracer, opened


class DualTracer(JvpTracer):
    """A dual tensor."""

    __slots__ = ()
    transform = "a dual_level"

    def __repr__(self) -> str:
        dual = self.level.read(self)
        return repr(dual.primal) if dual.tangent is None else f"{repr(dual.primal)[:-1]}, tangent={dual.tangent!r})"


def _root_of(tensor: Tensor) -> Tensor:
    return tensor if tensor._base is None else tensor._base


def _laid_out_as(primal: Tensor, tangent: Tensor) -> bool:
    if primal.numel() == 0:
        return True
    same_memory = primal.untyped_storage().nbytes() * tangent.dtype.itemsize == (
        tangent.untyped_storage().nbytes() * primal.dtype.itemsize
    )
    return same_memory and primal.stride() == tangent.stride() and primal.storage_offset() == tangent.storage_offset()


def _shares_elements(tensor: Tensor) -> bool:
    return any(stride == 0 and size != 1 for size, stride in zip(tensor.shape, tensor.stride()))


def _zeros_as(root: Tensor) -> Tensor:
    """Zeros whose memory is laid out as the root's: what is a view of the one has its counterpart in the other."""
    count = root.untyped_storage().nbytes() // root.dtype.itemsize
    zeros = registry["zeros"]([count], dtype=root.dtype, device=root.device)
    return zeros.as_strided(root.shape, root.stride(), root.storage_offset())


def tangent_for(primal: Tensor, tangent: Tensor) -> Tensor:
    """The tangent, or a copy of it that lies in memory as the primal does."""
    apart = isinstance(primal, Tracer) or isinstance(tangent, Tracer) or primal.is_meta or tangent.is_meta
    if apart or _laid_out_as(primal, tangent):
        return tangent
    return tangent.clone() if _shares_elements(primal) else _zeros_as(primal).to(tangent.dtype).copy_(tangent)


class DualLevel(JvpLevel):
    """Takes what has a tangent, and what tangents were written into."""

    tracer_type = DualTracer
    transforms = False

    def __init__(self) -> None:
        super().__init__(takes_all=False)
        self.closed = False
        self.written: dict[int, tuple[weakref.ref[Tensor], Tensor]] = {}  # roots that are no duals of their own: their tangents

    def close(self) -> None:
        """Forget the tangents of tensors that are no duals. A dual tensor is its value alone from now on."""
        self.closed = True
        self.written.clear()

    def wants(self, args: tuple) -> bool:
        return (
            super().wants(args)
            or bool(self.written)
            and any(self._written(x) is not None for a in args for x in (a if type(a) in (list, tuple) else (a,)))
        )

    def _written(self, value: Any) -> Tensor | None:
        """The tangent of a tensor that is no dual, if one was written into its memory."""
        if not self.written or not isinstance(value, Tensor) or isinstance(value, Tracer):
            return None
        root = _root_of(value)
        found = self.written.get(id(root))
        if found is None or found[0]() is not root:
            return None
        tangent = found[1]
        if value is root:
            return tangent
        return tangent.as_strided(value.shape, value.stride(), value.storage_offset())

    def split(self, a: Any) -> tuple[Any, Any]:
        tangent = self._written(a)
        return (a, tangent) if tangent is not None else super().split(a)

    def write_op(self, op: Op, args: tuple) -> Any:
        target = args[0]
        base: Any = op.base
        if self.own(target):
            self.check_write(op, target)
        else:
            _native.check_inplace(target)
        with opened(self):
            positional, keywords = op.split(args)
            result = base(*positional, **keywords)
            dispatch._check_result(target, result.dtype, result.shape, result.device)
            if result.dtype is not target.dtype:
                result = result.to(target.dtype)
        value, tangent = self.split(result)
        dual = self.read(target) if self.own(target) else None
        if dual is not None and dual.tangent is None and tangent is not None and target.chain:
            self.assign(target, result if self.own(result) else self.lift(result))
            return target
        into = target if dual is None else dual.primal
        known = self._written(target) if dual is None else dual.tangent
        into.copy_(value)
        if known is not None and not _shares_elements(known):
            known.zero_() if tangent is None else known.copy_(tangent)
        elif dual is not None:
            dual.tangent = None if tangent is None else tangent_for(dual.primal, tangent.clone())
        elif tangent is not None:
            root = _root_of(target)
            self.written[id(root)] = weakref.ref(root), _zeros_as(root)
            self._written(target).copy_(tangent)  # type: ignore[union-attr]
        return target
