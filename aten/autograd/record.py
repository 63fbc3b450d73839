"""Recording an op: its Node keeps what the op's vjp asked for, and runs that vjp."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aten import _native
from aten.autograd.fused import fused, without_gaps
from aten.meta import Meta
from aten.op import node_name


class Backward:
    """The backward of a recorded op: its vjp on what the Node has saved. `several`: `g` is a tuple of gradients.

    The native walk replays the program of a backward that it knows (`replays`) without a call of this (aten/native/replay.cpp).
    """

    __slots__ = ("plan", "several", "fused", "parts", "replays", "saves")

    def __init__(self, plan: Any, several: bool):
        self.plan, self.several, self.saves = plan, several, bool(plan.names)
        self.fused = fused.get(plan.op.name)
        self.replays = self.fused is None and bool(plan.op.own)
        self.parts: dict[int, Backward] = {}  # by the edges that a walk asks for

    def __call__(self, node: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        # A vjp without saved values may run again: its Node has nothing that could have been freed.
        saved = node.saved if self.saves else ()
        asked = _native.edges_asked()
        if asked is None:
            return self.derive(grads if self.several else grads[0], saved)
        part = self.parts.get(asked)
        if part is None:
            part = self.parts[asked] = Backward(self.plan.narrowed(asked), self.several)
        known = dict(zip(self.plan.names, saved))
        return part.derive(grads if self.several else grads[0], tuple([known[name] for name in part.plan.names]))

    def derive(self, g: Any, saved: tuple[Any, ...], tried: bool = False) -> tuple[Any, ...]:
        """The gradients: in one native pass or by a program that was made of the vjp, if nobody differentiates them. `tried`: there
        is no program yet."""
        plan = self.plan
        if not _native.is_grad_enabled():
            if self.fused is not None:
                if not g.is_contiguous():
                    g = without_gaps(g)
                found = self.fused(plan.needs, g, dict(zip(plan.names, saved)))
                if found is not NotImplemented:
                    return tuple(found)
            if plan.op.own and not tried:
                found = _native.replay(plan, (g, *saved))
                if found is not NotImplemented:
                    return found
        return tuple(plan.gradients(g, saved))

    def shown(self, node: Any) -> tuple[Any, ...]:
        """What is saved, for who looks at the Node."""
        return node.saved

    def __repr__(self) -> str:
        return f"<backward of {self.plan.op}>"


def record(op: Any, args: Sequence[Any], result: Any, needs: tuple[Any, ...]) -> None:
    """Make a Node for `result = op(*args)` (core arguments), where `needs` says which arguments want a gradient."""
    plan = op.plan(needs)
    several = isinstance(result, (tuple, list))
    outputs = tuple(result) if several else (result,)
    _native.record(node_name(op.name), Backward(plan, several), tuple(plan.inputs(args)), outputs, plan.save(args, result))


def native_plan(op: Any, mask: int) -> tuple[Backward, tuple[Any, ...], tuple[int, ...]]:
    """What the native recording of `op` does where bit i of `mask` says that core argument i wants a gradient.

    Returns the backward, what to save as (kind, core argument), and the core arguments that get gradients.
    """
    needs = tuple(bool(mask >> i & 1) for i in range(len(op.core)))
    plan = op.plan(needs)
    return Backward(plan, len(op.schema.returns) > 1), plan.sources(), tuple(plan.slots)


_native.set_plan_maker(native_plan)
_native.set_meta_factory(Meta)
_native.set_backward_class(Backward)

__all__ = ["Backward", "native_plan", "record"]
