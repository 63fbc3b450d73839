"""Questions about symbols of sizes (`fx.experimental.symbolic_shapes`), answered while tracing."""

from __future__ import annotations

from aten.fx.experimental import symbolic_shapes
from dynamo import trace_rules
from dynamo.variables.constant import ConstantVariable, boolean
from dynamo.variables.symint import symbolic


def _answered(question, answer):
    @trace_rules.handle(question)
    def rule(frame, args, kwargs):
        return answer(question(args[0].as_meta()))


for _question in (symbolic_shapes.guard_size_oblivious, symbolic_shapes.guard_or_false, symbolic_shapes.guard_or_true,
                  symbolic_shapes.guard_bool, symbolic_shapes.is_concrete_bool):  # fmt: skip
    _answered(_question, boolean)
_answered(symbolic_shapes.guard_int, ConstantVariable)


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
