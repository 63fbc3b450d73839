"""Questions about symbols of sizes (`fx.experimental.symbolic_shapes`), answered while tracing."""

from __future__ import annotations

from aten.fx.experimental import symbolic_shapes
from dynamo import trace_rules
from dynamo.variables.constant import boolean
from dynamo.variables.symint import symbolic


@trace_rules.handle(symbolic_shapes.guard_size_oblivious)
def _guarded(frame, args, kwargs):
    return boolean(bool(args[0].as_meta()))


@trace_rules.handle(symbolic_shapes.statically_known_true)
def _known(frame, args, kwargs):
    return boolean(symbolic_shapes.statically_known_true(args[0].as_meta()))


@trace_rules.handle(symbolic_shapes.is_concrete_int)
def _concrete(frame, args, kwargs):
    return boolean(symbolic_shapes.is_concrete_int(args[0].as_meta()))


@trace_rules.handle(symbolic_shapes.sym_eq)
def _equal(frame, args, kwargs):
    same = symbolic_shapes.sym_eq(*[a.as_meta() for a in args])
    return boolean(same) if isinstance(same, bool) else symbolic(frame, same)
