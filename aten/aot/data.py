"""What aot makes of a captured graph: plain data that prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aten.fx.graph_module import GraphModule
from aten.meta import Meta
from aten.records import field, record
from aten.symbolic.nodes import Expr


@record(frozen=True)
class Fresh:
    """The forward graph's output `index`: memory of its own."""

    index: int


@record(frozen=True)
class InputAlias:
    """The input itself."""

    input: int


@record(frozen=True)
class ViewOf:
    """A view of an input: these sizes and strides, `offset` elements from where the input starts.

    `chain` are the view ops (op, arguments after the tensor) that lead there, for autograd; requires_grad is False
    where the view was taken without gradients.
    """

    input: int
    sizes: tuple
    strides: tuple
    offset: Any
    chain: tuple = field(repr=False)
    requires_grad: bool = True


@record(frozen=True)
class OutputView:
    """A view of the forward graph's output `index`, which shares its memory with another output; else as ViewOf."""

    index: int
    sizes: tuple
    strides: tuple
    offset: Any
    chain: tuple = field(repr=False)
    requires_grad: bool = True


@record(frozen=True)
class Size:
    """A number computed from sizes."""

    expr: Expr


@record(frozen=True)
class Constant:
    """A value that does not depend on the call."""

    value: Any


Output = Fresh | InputAlias | ViewOf | OutputView | Size | Constant


@record
class AotGraphs:
    """A captured graph, functional and in core ops.

    forward: the captured placeholders (then `seed` and `offset` if it draws random numbers) → `n_fresh` fresh outputs,
        the new values of the mutated inputs, and what backward needs.
    backward: [what forward saved, tangents] → one gradient (or None) for each of `grad_inputs`; None without one.
    outputs: what the captured graph returns, in terms of the forward's.
    mutations: (input, index of the forward output that is its new value); writes: how often eager would write.
    differentiable: forward outputs (fresh ones and new values) that require grad; one tangent each, in this order.
    saved: forward outputs from here to the end are what backward needs.
    rng_counters: how many Philox counters a call takes; 0 if it draws nothing, and then there is no seed and offset.
    joint: the gradients from the forward's placeholders and the tangents, nothing saved; what double backward
        differentiates. own_derivatives: it does not, as an autograd.Function gave gradients that are not its operations'.
    refused: the program writes what its gradients need, or some of these do not exist: only its ops, run one by one, say which of
        them eager refuses.
    """

    forward: GraphModule
    backward: GraphModule | None
    outputs: tuple[Output, ...]
    mutations: tuple[tuple[int, int], ...]
    n_fresh: int
    saved: int
    grad_inputs: tuple[int, ...] = ()
    differentiable: tuple[int, ...] = ()
    rng_counters: Expr | int = 0
    joint: GraphModule | None = None
    writes: tuple[int, ...] = ()
    own_derivatives: bool = False
    refused: bool = False

    @property
    def requires_grad(self) -> tuple[bool, ...]:
        """For each output of the captured graph whether it requires grad (an input as it is: as the input does)."""
        flags = []
        for o in self.outputs:
            if isinstance(o, Fresh):
                flags.append(o.index in self.differentiable)
            else:
                flags.append(isinstance(o, (ViewOf, OutputView)) and o.requires_grad)
        return tuple(flags)

    def __str__(self) -> str:
        from aten.fx.printer import text

        parts = [text(self.forward.graph, "forward")]
        if self.backward is not None:
            parts.append(text(self.backward.graph, "backward"))
        parts.append(f"outputs: {', '.join(map(str, self.outputs))}")
        if self.mutations:
            parts.append("mutations: " + ", ".join(f"input {i} = forward output {o}" for i, o in self.mutations))
        if self.rng_counters != 0:
            parts.append(f"random counters: {self.rng_counters}")
        return "\n".join(parts)


def tangent_strides(meta: Meta, sizes: Sequence[Any]) -> tuple[Any, ...]:
    """The strides of an output's gradient: the output's where those are numbers, else without gaps in the output's order."""
    if all(type(s) is int for s in meta.strides):
        return meta.strides
    hints = [s if type(s) is int else s.hint for s in meta.strides]
    strides, step = [0] * len(sizes), 1
    for d in sorted(range(len(sizes)), key=lambda d: (hints[d], -d)):
        strides[d] = step
        step *= sizes[d]
    return tuple(strides)
