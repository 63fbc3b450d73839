"""TorchFunctionModes while tracing: those open as the frame starts are asked in the traced program, and so not by its graph."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from aten import dispatch
from dynamo import breaks, outcome, trace_rules
from dynamo.breaks import Unsupported
from dynamo.source import Attr, Item, Object
from dynamo.variables.base import Variable


def all_are_functions() -> bool:
    """Whether modes are open, and all of them are modes of the user's with a `__torch_function__`."""
    stack = dispatch.stack
    return stack.mode_top > 0 and all(hasattr(mode, "__torch_function__") for mode in stack.modes[: stack.mode_top])


def captured_modes() -> Any:
    """What tracing runs in: the shape rules that it asks are no calls of the program."""
    return dispatch.ModesUnasked() if all_are_functions() else contextlib.nullcontext()


def run_unasked(compiled: Callable) -> Callable:
    """The compiled graph, in which the modes were asked already."""
    if not dispatch.stack.unasked:
        return compiled

    def run(*inputs: Any) -> Any:
        with dispatch.ModesUnasked():
            return compiled(*inputs)

    return run


def opened(frame: Any) -> list[Variable]:
    """The open modes, the innermost last."""
    output = frame.output
    if output.modes is None:
        output.modes = []
        modes = Attr(Object(dispatch.stack), "modes")
        open_ones = dispatch.stack.modes[: dispatch.stack.unasked]
        output.modes += [frame.world.wrap(mode, Item(modes, i)) for i, mode in enumerate(open_ones)]
    return output.modes


class ModeChange:
    """A mode opened or closed by the program, which is so for real behind the graph."""

    source = None
    comes_from_outside = True

    def __init__(self, function: Callable, mode: Variable | None):
        self.function, self.mode = function, mode

    def replay(self, emit) -> None:
        args = () if self.mode is None else (emit.value(self.mode),)
        emit.after(outcome.Do(outcome.Call(outcome.Const(self.function), args)))


@trace_rules.handle(dispatch.push_mode)
def _push(frame, args, kwargs):
    mode = args[0].realize(frame)
    if frame.world.lacks(mode.python_type(), "__torch_function__"):
        raise Unsupported(breaks.SKIPPED_CALL, "a mode that is not a TorchFunctionMode is opened")
    opened(frame).append(mode)
    _note(frame, ModeChange(dispatch.push_mode, mode))
    return frame.values.NONE


@trace_rules.handle(dispatch.pop_mode)
def _pop(frame, args, kwargs):
    modes = opened(frame)
    if not modes:
        raise Unsupported(breaks.SKIPPED_CALL, "a mode is closed that the program did not open")
    changes = frame.output.mode_changes
    if changes and changes[-1].mode is not None:  # the last thing that was done
        frame.output.side_effects.dirty.pop(changes.pop())
    else:
        _note(frame, ModeChange(dispatch.pop_mode, None))
    return modes.pop()


def _note(frame: Any, change: ModeChange) -> None:
    frame.output.mode_changes.append(change)
    frame.output.side_effects.dirty[change] = None
