"""An autograd.Function on the tape of a level."""

from __future__ import annotations

from typing import Any

from aten.autograd import function
from aten.op import registry


class FunctionCall:
    """An autograd.Function in the place of an op on the tape."""

    def __init__(self, cls: Any, ctx: Any, metas: tuple):
        self.cls, self.ctx, self.metas = cls, ctx, metas
        self.name = cls.__name__

    def plan(self, needs: tuple) -> FunctionPlan:
        return FunctionPlan(self, needs)


class FunctionPlan:
    """As aten.derivative.Plan: its `backward` gives the gradients."""

    def __init__(self, call: FunctionCall, needs: tuple):
        self.call, self.needs, self.slots = call, needs, list(range(len(needs)))

    def save(self, args: Any, out: Any) -> tuple:
        return ()

    def run(self, g: tuple, saved: tuple) -> list[Any]:
        metas = self.call.metas
        zeros = lambda i: registry["zeros"](list(metas[i].sizes), dtype=metas[i].dtype, device=metas[i].device)
        return list(function.gradients(self.call.cls, self.call.ctx, g, zeros))
