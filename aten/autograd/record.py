"""Recording an op: its Node keeps what the op's vjp asked for, and runs that vjp."""

from collections.abc import Sequence
from typing import Any

from aten import _native


def _run_plan(node: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    """Backward of a recorded op. `g` is a tuple where the op has several results."""
    plan, several, *values = node.saved
    return tuple(plan.gradients(grads if several else grads[0], values))


def _run_stateless(plan: Any, several: bool) -> Any:
    """Backward of an op whose vjp needs no saved value, so that it may run again."""
    def run(node: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(plan.gradients(grads if several else grads[0], ()))
    return run


def node_name(op_name: str) -> str:
    """'add' → 'AddBackward', 'log_softmax' → 'LogSoftmaxBackward'."""
    return "".join(part.capitalize() for part in op_name.strip("_").split("_")) + "Backward"


def record(op: Any, args: Sequence[Any], result: Any, needs: tuple[Any, ...]) -> None:
    """Make a Node for `result = op(*args)` (core arguments), where `needs` says which arguments want a gradient."""
    plan = op.plan(needs)
    several = isinstance(result, (tuple, list))
    outputs = tuple(result) if several else (result,)
    inputs = tuple(plan.inputs(args))
    name = node_name(op.name)
    if plan.names:
        _native.record(name, _run_plan, inputs, outputs, (plan, several, *plan.save(args, result)))
    else:
        _native.record(name, _run_stateless(plan, several), inputs, outputs, ())


__all__ = ["node_name", "record"]
