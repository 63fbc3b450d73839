"""Functions whose results are constants of the graph (assume_constant_result): they are called while their caller is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aten._native import Tensor
from aten.fx.node import map_arg
from dynamo import breaks, trace_rules
from dynamo.breaks import NotConstant, Unsupported


def rule_of(function: Any) -> Callable | None:
    """The rule of a function that says so itself, by PyTorch's attribute."""
    return constant_result(function) if function.__dict__.get(trace_rules.CONSTANT) else None


def constant_result(fn: Callable) -> Callable:
    """The rule for calls of a function of which assume_constant_result was said."""

    def rule(frame: Any, args: list, kwargs: dict) -> Any:
        try:
            given = [known(frame, a) for a in args], {k: known(frame, v) for k, v in kwargs.items()}
        except NotConstant as e:
            raise Unsupported(breaks.NOT_CONSTANT, f"{trace_rules.name_of(fn)} of {e.args[0].describe()}") from None
        result = fn(*given[0], **given[1])
        if isinstance(result, Tensor) and id(result) in frame.output.by_id:
            result = result.detach()  # a constant, also where it is an input
        return frame.values.literal(frame, result)

    return rule


def known(frame: Any, variable: Any) -> Any:
    """The object that a value is in this call; of a tensor made while tracing, what the graph so far gives for the inputs
    of this call. Raises NotConstant for other things made while tracing."""
    variable = variable.realize(frame)
    value = getattr(variable, "value", None)
    if value is not None and variable.source is not None:
        return value
    node = getattr(variable, "node", None)
    if node is None:
        return variable.as_python()
    values = {i.node: i.value for i in frame.output.inputs}

    def run(n: Any) -> Any:
        if n not in values:
            values[n] = n.target(*map_arg(n.args, run), **map_arg(n.kwargs, run))
        return values[n]

    return run(node)
