"""In-place writes and history: a written tensor takes the history of what was written; a written view gives its
base one.
"""

from typing import Any

from aten import _native
from aten._native import Tensor
from aten.autograd.grad_mode import no_grad


def _chain(view: Tensor) -> tuple[Tensor, list[tuple[Any, tuple[Any, ...]]]]:
    """The root of a view, and the view ops (with their further arguments) that lead from it to the view."""
    steps: list[tuple[Any, tuple[Any, ...]]] = []
    while view._view_of is not None:
        view, op, args = view._view_of
        steps.append((op, args))
    steps.reverse()
    return view, steps


def _replay(base: Tensor, steps: list[tuple[Any, tuple[Any, ...]]]) -> Tensor:
    for op, args in steps:
        base = op(base, *args)
    return base


def _without(grad: Tensor, steps: list[tuple[Any, tuple[Any, ...]]]) -> Tensor:
    """`grad` of the root with zeros where the view was written."""
    stages = [grad]
    for op, args in steps:
        stages.append(op(stages[-1], *args))
    value = stages[-1] * 0 if stages[-1].requires_grad else stages[-1].new_zeros(stages[-1].shape)
    for (op, args), stage in zip(reversed(steps), reversed(stages[:-1])):
        value = op.put_fn(stage, value, *args)
    return value


def record_inplace(target: Tensor, result: Tensor) -> None:
    """Make `target` hold the values of `result` and have its history. `result` has the target's sizes.

    Of a view, the base gets a node of two inputs: what it was, outside the view, and `result`, inside.
    """
    if result.dtype is not target.dtype:
        result = result.to(target.dtype)
    with no_grad():
        target.detach().copy_(result.detach())
    if target._view_of is None:
        target._grad_fn = (result.grad_fn, result.output_nr) if result.grad_fn is not None else None
        return
    root, steps = _chain(target)

    def copy_slices(node: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        needs = node.needs
        return (_without(grads[0], steps) if needs[0] else None, _replay(grads[0], steps) if needs[1] else None)

    _native.record("CopySlices", copy_slices, (root, result), (root,), ())
    refresh(target)


def refresh(view: Tensor) -> None:
    """Give a view whose memory was written through another tensor the history it now has: that of its root."""
    root, steps = _chain(view)
    before = _native.set_grad_enabled(True)
    try:
        fresh = _replay(root, steps)
    finally:
        _native.set_grad_enabled(before)
    view._grad_fn = (fresh.grad_fn, fresh.output_nr) if fresh.grad_fn is not None else None


_native.set_view_refresher(refresh)

__all__ = ["record_inplace", "refresh"]
