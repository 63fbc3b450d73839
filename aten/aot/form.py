"""The form in which a gradient comes: how it is laid out, or that there is none.

A backward walk goes past what gets no gradient, and lays its results out as the gradients lie that it is given; in which
order a sum is taken, and the sign of a zero, depend on both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aten._native import Tensor
from aten.records import record


@record(frozen=True)
class Form:
    """The strides of a gradient: as they are, or for sizes that are not known the dims from the innermost one outwards
    (of those that are not repeated)."""

    exactly: tuple[int, ...] | None
    order: tuple[int, ...] = ()

    def strides(self, sizes: Sequence[Any]) -> tuple[Any, ...]:
        """The strides of a gradient of these sizes."""
        if self.exactly is not None:
            return self.exactly
        strides: list[Any] = [0] * len(sizes)
        step: Any = 1
        for d in self.order:
            strides[d], step = step, step * sizes[d]
        return tuple(strides)


def form_of(grad: Tensor | None, symbolic: bool) -> Form | None:
    """The form of a gradient; where sizes are `symbolic` and no order of dims tells its strides, that of its copy."""
    if grad is None:
        return None
    strides = tuple(grad.stride())
    if not symbolic:
        return Form(strides)
    dims = [d for d in reversed(range(len(strides))) if strides[d] != 0]
    sizes = tuple(grad.shape)
    found = Form(None, tuple(sorted(dims, key=lambda d: (strides[d], sizes[d]))))  # (a dim of one element has that of the next)
    if found.strides(sizes) != strides:
        found = Form(None, tuple(reversed(range(len(strides)))))
    return found


def in_form(grad: Tensor, form: Form) -> Tensor:
    """The gradient, copied if it is laid out otherwise."""
    return grad if form.strides(tuple(grad.shape)) == tuple(grad.stride()) else grad.contiguous()


__all__ = ["Form", "form_of", "in_form"]
