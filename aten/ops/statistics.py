"""Statistics that a layer keeps: they follow what it sees, and have no history."""

from typing import Any

from aten import _native
from aten.op import composite


@composite("write_statistics(Tensor target, Tensor value) -> Tensor", tags=["function_only", "hidden"])
def write_statistics(target, value):
    """Write the value into `target`, without history. `target` may come from outside of a function that is differentiated: no
    derivative is lost."""
    return target.copy_(_seen_from(target, value.detach()))


def _seen_from(target: Any, value: Any) -> Any:
    """A value without history, below those levels that `target` is not of."""
    while _native.is_tracer(value) and not value.level.own(target):
        below = value.level.constant(value)
        if below is None:
            break
        value = below
    return value


__all__ = ["write_statistics"]
