"""In-place writes and history: a written tensor takes the history of what was written; a written view gives its
base one.
"""

from __future__ import annotations

from typing import Any

from aten import _native
from aten._native import Tensor
from aten.autograd.engine import move_retained
from aten.autograd.grad_mode import no_grad
from aten.meta import Meta
from aten.op import ops


class Path:
    """How a view is made from its root: by replaying view ops, and back by their `put` rules."""

    def __init__(self, steps: list[tuple[Any, tuple[Any, ...]]]):
        self.steps = steps

    def view(self, root: Tensor) -> Tensor:
        """The view, of the root itself."""
        for op, args in self.steps:
            root = op(root, *args)
        return root

    inside = view  # the part of a gradient of the root that belongs to the view

    def outside(self, grad: Tensor) -> Tensor:
        """A gradient of the root with zeros where the view was written."""
        stages = [grad]
        for op, args in self.steps:
            stages.append(op(stages[-1], *args))
        value = stages[-1] * 0 if stages[-1].requires_grad else stages[-1].new_zeros(stages[-1].shape)
        for (op, args), stage in zip(reversed(self.steps), reversed(stages[:-1])):
            value = op.put_fn(stage, value, *args)
        return value


class _Places:
    """How a view lies in the memory of its root, where view ops do not tell: `as_strided`, elements that share memory, and
    views of a tensor whose layout has changed in place since."""

    def __init__(self, root: Tensor, view: Tensor):
        self.root, self.shown = Meta.of(root), Meta.of(view)
        if root.dtype is not view.dtype:  # places are counted in items
            both = f"{view.dtype.name} that as_strided made of a tensor of {root.dtype.name}"
            raise NotImplementedError(f"a write through a view of {both}")
        self.start = min(self.root.offset, self.shown.offset)
        self.span = max(map(self._end, (self.root, self.shown))) - self.start

    @staticmethod
    def _end(meta: Meta) -> int:
        return meta.offset + (0 if 0 in meta.sizes else 1 + sum((n - 1) * s for n, s in zip(meta.sizes, meta.strides)))

    def _layout(self, meta: Meta) -> tuple[list[int], list[int], int]:
        return list(meta.sizes), list(meta.strides), meta.offset - self.start

    def view(self, root: Tensor) -> Tensor:
        """The view, of the root itself."""
        return ops.as_strided(root, list(self.shown.sizes), list(self.shown.strides), self.shown.offset)

    def _memory(self, grad: Tensor) -> Tensor:
        """A gradient of the root as it would lie in the root's memory."""
        return ops.as_strided_put(grad.new_zeros([self.span]), grad, *self._layout(self.root))

    def inside(self, grad: Tensor) -> Tensor:
        """The part of a gradient of the root that belongs to the view."""
        return ops.as_strided(self._memory(grad), *self._layout(self.shown))

    def outside(self, grad: Tensor) -> Tensor:
        """A gradient of the root with zeros where the view was written."""
        nothing = grad.new_zeros(list(self.shown.sizes))
        left = ops.as_strided_put(self._memory(grad), nothing, *self._layout(self.shown))
        return ops.as_strided(left, *self._layout(self.root))


def _follows(root: Tensor, steps: list[tuple[Any, tuple[Any, ...]]], view: Tensor) -> bool:
    """Whether the steps still lead to the memory of the view."""
    meta = Meta.of(root)
    try:
        for op, args in steps:
            meta = op.function(meta, *args)
    except (RuntimeError, IndexError):
        return False
    return meta == Meta.of(view)


def shows_again(op: Any, args: tuple[Any, ...]) -> bool:
    """Whether a view op may show an element more than once."""
    return op.name in ("as_strided", "expand") or (op.name == "unfold" and args[1] > args[2])


def _path(view: Tensor, top: Tensor | None = None) -> tuple[Tensor, Path | _Places]:
    """The root of a view, or what is called the top on the way to it, and how the view is made from it."""
    steps: list[tuple[Any, tuple[Any, ...]]] = []
    root, relaid, plain = view, False, True
    while root is not top and root._view_of is not None:
        root, op, args = root._view_of
        steps.append((op, args))
        relaid = relaid or _native.is_relaid(root)
        plain = plain and op.put_fn is not None and not shows_again(op, args)
    steps.reverse()
    if not plain or (relaid and not _follows(root, steps, view)):
        return root, _Places(root, view)
    return root, Path(steps)


def _assign(target: Tensor, result: Tensor) -> None:
    """Copy the elements, also into ones that share memory (of `fill_`: they are equal)."""
    with no_grad():
        if 0 in target.stride() and target.device.type == "cpu":
            target.numpy(force=True)[...] = result.numpy(force=True)
            target._bump_version()
        else:
            target.detach().copy_(result.detach())


def record_inplace(target: Tensor, result: Tensor) -> None:
    """Make `target` hold the values of `result` and have its history. `result` has the target's sizes.

    Of a view, the base gets a node of two inputs: what it was, outside the view, and `result`, inside.
    """
    if result.dtype is not target.dtype:
        result = result.to(target.dtype)
    _assign(target, result)
    rewrite(target, result)


def _take_history(tensor: Tensor, result: Tensor) -> None:
    """Give a tensor the history of another; a gradient that it keeps in `.grad` is that of what it now is."""
    before = tensor._grad_fn if tensor.retains_grad else None
    tensor._grad_fn = (result.grad_fn, result.output_nr) if result.grad_fn is not None else None
    if before is not None:
        move_retained(tensor, before)


def rewrite(target: Tensor, result: Tensor) -> None:
    """Give `target`, which was written, the history of `result`, what it holds now; of a view, to its base too."""
    if target._view_of is None:
        _take_history(target, result)
        return
    root, path = _path(target)

    layout = Meta.of(root)

    def copy_slices(node: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        needs, g = node.needs, grads[0]
        if lies_otherwise(g, layout):
            g = ops.copy(_native.empty(list(layout.sizes), g.dtype, g.device, list(layout.strides)), g)
        return (path.outside(g) if needs[0] else None, path.inside(g) if needs[1] else None)

    before = root._grad_fn if root.retains_grad else None
    _native.record("CopySlices", copy_slices, (root, result), (root,), ())
    if before is not None:
        move_retained(root, before)
    refresh(target)
    view = target._view_of[0]
    while view is not root:  # the views on the way: those with history find out by themselves
        if not view.requires_grad:
            refresh(view)
        view = view._view_of[0]


def lies_otherwise(g: Any, layout: Meta) -> bool:
    """Whether a gradient of the root of views is to be copied first: the views on the way are views of this layout alone."""
    return g.stride() != layout.strides and 0 not in layout.strides


def _leaf_above(view: Tensor) -> Tensor | None:
    """What a view is made of that is a leaf and requires grad though its root does not: a view of a tensor without history that
    was made one. Writes to the root have no history then, and the leaf is what it was."""
    found = None
    while view._view_of is not None:
        view = view._view_of[0]
        if found is None and view.requires_grad and view._grad_fn is None:
            found = view
    return None if view.requires_grad else found


def refresh(view: Tensor) -> None:
    """Give a view whose memory was written through another tensor the history it now has: that of its root or a leaf between."""
    root, path = _path(view, _leaf_above(view))
    before = _native.set_grad_enabled(True)
    try:
        fresh = path.view(root)
    finally:
        _native.set_grad_enabled(before)
    _take_history(view, fresh)


_native.set_view_refresher(refresh)
_native.set_rewriter(rewrite)

__all__ = ["Path", "lies_otherwise", "record_inplace", "refresh", "rewrite", "shows_again"]
