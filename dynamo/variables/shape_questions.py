"""Questions about symbols of sizes (`fx.experimental.symbolic_shapes`), answered while tracing."""

from __future__ import annotations

from typing import Any

from aten.fx.experimental import symbolic_shapes
from dynamo import trace_rules
from dynamo.variables.base import Variable
from dynamo.variables.constant import ConstantVariable, boolean
from dynamo.variables.symint import SymbolicVariable, symbolic


def of(value: Variable) -> Any:
    """What a question is about: symbols, also of truths."""
    return value.value if isinstance(value, SymbolicVariable) else value.as_meta()


def _answered(question, answer):
    @trace_rules.handle(question)
    def rule(frame, args, kwargs):
        return answer(question(of(args[0])))


for _question in (symbolic_shapes.guard_size_oblivious, symbolic_shapes.guard_or_false, symbolic_shapes.guard_or_true,
                  symbolic_shapes.guard_bool, symbolic_shapes.is_concrete_bool):  # fmt: skip
    _answered(_question, boolean)
_answered(symbolic_shapes.guard_int, ConstantVariable)


@trace_rules.handle(symbolic_shapes.statically_known_true)
def _known(frame, args, kwargs):
    return boolean(symbolic_shapes.statically_known_true(of(args[0])))


@trace_rules.handle(symbolic_shapes.is_concrete_int)
def _concrete(frame, args, kwargs):
    return boolean(symbolic_shapes.is_concrete_int(of(args[0])))


@trace_rules.handle(symbolic_shapes.sym_eq)
def _equal(frame, args, kwargs):
    same = symbolic_shapes.sym_eq(*[of(a) for a in args])
    return boolean(same) if isinstance(same, bool) else symbolic(frame, same)
