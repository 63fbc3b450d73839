"""`no_grad`, `enable_grad` and the like while tracing: what their methods do, without a frame for each."""

from __future__ import annotations

from aten import _native
from aten.autograd import grad_mode
from dynamo import trace_rules
from dynamo.variables.constant import NONE


@trace_rules.handle(grad_mode.no_grad.__new__)
def _new(frame, args, kwargs):
    made = frame.world.known(object.__new__).call(frame, args[:1], {})
    given = [*args[1:], *kwargs.values()]
    if not given or given[0].is_same(NONE):
        return made
    return made.call(frame, given, {})


@trace_rules.handle(grad_mode._AmbientBits.__enter__)
def _enter(frame, args, kwargs):
    mode = args[0].realize(frame)
    bits = [mode.getattr(frame, "mask"), mode.getattr(frame, "value")]
    mode.setattr(frame, "before", frame.world.known(_native.set_ambient_bits).call(frame, bits, {}))
    return NONE


@trace_rules.handle(grad_mode._AmbientBits.__exit__)
def _exit(frame, args, kwargs):
    mode = args[0].realize(frame)
    frame.world.known(_native.set_ambient_bits).call(frame, [mode.getattr(frame, "mask"), mode.getattr(frame, "before")], {})
    return NONE
