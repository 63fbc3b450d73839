"""`assert` on a tensor: a node of the graph that raises AssertionError, instead of a branch."""

from __future__ import annotations

from typing import Any

from aten.fx.targets import assert_async, assert_true
from dynamo.variables.constant import ConstantVariable
from dynamo.variables.tensor import TensorVariable

_MISSING = object()


def is_asserted(frame: Any, value: Any) -> bool:
    """Whether the next instruction jumps over the raise of an `assert` whose condition is this tensor, and a node can do it:
    nobody catches the error, and what the program has changed so far is seen by nobody."""
    if not isinstance(value, TensorVariable) or value.known is not None or value.is_of_subclass:
        return False
    if any(type(s) is not int or s != 1 for s in value.meta.sizes) or _message(frame, frame.pc) is _MISSING:
        return False
    output = frame.output
    changed = output.mutated or any(v.source is not None for v in output.side_effects.dirty)
    return not changed and output.graph is output.frame_graph and not frame.is_caught()


def record(frame: Any, value: TensorVariable, at: int) -> None:
    """The node, for the `assert` whose jump is instruction `at`."""
    output = frame.output
    output.graph.line = output.user_line()
    output.recorded = True
    target = assert_async if output.options.export else assert_true
    output.graph.call_function(target, (value.node, _message(frame, at)), {}, val=None)


def _message(frame: Any, at: int) -> Any:
    """The constant text of the `assert` whose jump is instruction `at`, None for none; _MISSING where it is no such jump."""
    jump, *rest = [i for i in frame.instructions[at : at + 8] if i.name not in ("CACHE", "EXTENDED_ARG", "PRECALL", "NOT_TAKEN")]
    names = [i.name for i in rest]
    if "IF_TRUE" not in jump.name or not (names[:1] == ["LOAD_ASSERTION_ERROR"] or rest[0].value is AssertionError):
        return _MISSING
    if names[1:2] == ["RAISE_VARARGS"]:
        return None
    if names[1:4] == ["LOAD_CONST", "CALL", "RAISE_VARARGS"]:
        text = rest[1].value
    elif names[1:4] == ["LOAD_FAST", "CALL", "RAISE_VARARGS"]:
        known = frame.locals.get(rest[1].value)
        text = known.value if isinstance(known, ConstantVariable) else None
    else:
        return _MISSING
    return text if isinstance(text, str) else _MISSING
