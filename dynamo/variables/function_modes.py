"""TorchFunctionModes and default devices while tracing: the traced program asks those that are open, and not its graph."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from aten import default_device, dispatch, on_device, open_levels
from dynamo import breaks, outcome, trace_rules
from dynamo.breaks import Unsupported
from dynamo.source import Attr, Item, Object
from dynamo.variables.base import Variable


def all_are_functions() -> bool:
    """Whether modes are open, and all of them are modes of the user's with a `__torch_function__`, or say a default device."""
    modes = dispatch.stack.modes[: dispatch.stack.mode_top]
    return bool(modes) and all(isinstance(mode, dispatch.On) or hasattr(mode, "__torch_function__") for mode in modes)


def captured_modes() -> Any:
    """What tracing runs in: the shape rules that it asks are no calls of the program."""
    return open_levels.ModesUnasked() if all_are_functions() else contextlib.nullcontext()


def run_unasked(compiled: Callable) -> Callable:
    """The compiled graph, in which the modes were asked already."""
    if not dispatch.stack.unasked:
        return compiled

    def run(*inputs: Any) -> Any:
        with open_levels.ModesUnasked():
            return compiled(*inputs)

    return run


def opened(frame: Any) -> list[Variable]:
    """The open modes, the innermost last."""
    output = frame.output
    if output.modes is None:
        output.modes = []
        if not dispatch.stack.unasked:
            return output.modes
        modes = Attr(Object(dispatch.stack), "modes")
        open_ones = dispatch.stack.modes[: dispatch.stack.unasked]
        output.modes += [frame.world.wrap(mode, Item(modes, i)) for i, mode in enumerate(open_ones)]
    return output.modes


class ModeChange:
    """A mode opened or closed by the program, which is so for real behind the graph."""

    source = None
    comes_from_outside = True

    def __init__(self, function: Callable, mode: Variable | None, *given: Variable):
        self.function, self.mode, self.given = function, mode, given

    def replay(self, emit) -> None:
        args = tuple(emit.value(v) for v in self.given)
        args = args if self.mode is None else (emit.value(self.mode), *args)
        emit.after(outcome.Do(outcome.Call(outcome.Const(self.function), args)))


@trace_rules.handle(dispatch.On.__init__)
def _on(frame, args, kwargs):
    mode, device = args
    mode.setattr(frame, "device", device)
    mode.setattr(frame, "before", frame.values.const(0))
    return frame.values.NONE


@trace_rules.handle(dispatch.push_mode)
def _push(frame, args, kwargs):
    mode = args[0].realize(frame)
    if not says_device(mode) and frame.world.lacks(mode.python_type(), "__torch_function__"):
        raise Unsupported(breaks.SKIPPED_CALL, "a mode that is not a TorchFunctionMode is opened")
    opened(frame).append(mode)
    _tell_device(frame)
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
    mode = modes.pop()
    _tell_device(frame)
    return mode


@trace_rules.handle(on_device.set_lowest)
def _set_lowest(frame, args, kwargs):
    before, mode = [a.realize(frame) for a in args]
    modes = opened(frame)
    if not before.is_same(frame.values.NONE):
        modes[:] = [m for m in modes if not m.is_same(before)]
    if not mode.is_same(frame.values.NONE):
        modes.insert(0, mode)
    _tell_device(frame)
    _note(frame, ModeChange(on_device.set_lowest, None, before, mode))
    return frame.values.NONE


def says_device(mode: Variable) -> bool:
    """Whether a mode says the default device."""
    return mode.python_type() is dispatch.On


def _tell_device(frame: Any) -> None:
    """Have the ambient word say what the innermost mode says."""
    found = [mode for mode in opened(frame) if says_device(mode)]
    if found:
        word = default_device.word_of(found[-1].getattr(frame, "device").as_python())
    else:
        word = 0 if dispatch.stack.unasked else frame.output.entry_ambient & default_device.BITS
    frame.output.set_ambient_bits(default_device.BITS, word)


def _note(frame: Any, change: ModeChange) -> None:
    frame.output.mode_changes.append(change)
    frame.output.side_effects.dirty[change] = None
