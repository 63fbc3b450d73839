"""Derivatives of a compiled backward: the captured graph is differentiated again, by differentiable ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def differentiable(gm: Any, results: Sequence[int], gradients: Sequence[int], random: bool = False) -> Callable:
    """backward(node, grads) -> tuple for `inductor._runner.Training`, whose result can be differentiated itself.

    results: which outputs of the captured graph `gm` have a gradient; gradients: which inputs get one. It runs the
    graph on the arguments of the forward call, which the node keeps, and differentiates that. A `random` graph finds
    the generator as the forward call found it: the node keeps (seed, next counter) too.
    """

    def backward(node: Any, grads: tuple) -> tuple:
        from aten import autograd
        from aten.random import fork_rng, set_rng_state

        (kept,) = node.saved
        inputs = list(kept.inputs())
        mutated = _mutated(gm)
        with autograd.enable_grad(), fork_rng():
            if random:
                set_rng_state(tuple(bits & 2**64 - 1 for bits in kept.values()[-2:]))
            outputs = gm(*(x.clone() if i in mutated else x for i, x in enumerate(inputs)))
            pairs = [(outputs[r], g) for r, g in zip(results, grads) if g is not None and outputs[r].requires_grad]
            wanted = [i for i in gradients if inputs[i].requires_grad]
            found: Sequence[Any] = [None] * len(wanted)
            if pairs and wanted:
                found = autograd.grad(
                    [y for y, _ in pairs],
                    [inputs[i] for i in wanted],
                    [g for _, g in pairs],
                    create_graph=True,
                    allow_unused=True,
                )
        out: list[Any] = [None] * len(inputs)
        for i, g in zip(wanted, found):
            out[i] = g
        return tuple(out)

    return backward


def _mutated(gm: Any) -> set[int]:
    """The inputs that in-place ops of the graph write, directly or through a view."""
    from aten.fx.targets import is_op

    position = {node: i for i, node in enumerate(gm.graph.placeholders)}
    written = set()
    for node in gm.graph.nodes:
        if node.op != "call_function" or not is_op(node.target):
            continue
        first = node.args[0] if node.args else None
        if node.target.kind == "view" and first in position:
            position[node] = position[first]
        elif node.target.kind == "inplace" and first in position:
            written.add(position[first])
            position[node] = position[first]
    return written
