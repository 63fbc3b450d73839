"""Regular expressions and what they find: immutable, so constants. The functions of `re` are called while tracing."""

from __future__ import annotations

import re

from dynamo import breaks, trace_rules
from dynamo.breaks import Unsupported
from dynamo.variables.base import Variable
from dynamo.variables.constant import ConstantVariable
from dynamo.variables.raising import run_python
from dynamo.variables.track import kind

FOUND_LATER = ("finditer", "scanner")  # what they give has a state
SEARCHING = (re.compile, re.match, re.search, re.fullmatch, re.split, re.findall, re.sub, re.subn, re.escape)


class PatternVariable(ConstantVariable):
    """A compiled expression or a match."""

    def asked(self, frame, name, args, kwargs, loaded=None):
        if name in FOUND_LATER:
            raise Unsupported(breaks.UNKNOWN_CALL, f"{name}() of a regular expression")
        given, named = [frame.ops.real(frame, a) for a in args], {k: frame.ops.real(frame, v) for k, v in kwargs.items()}
        return constant(frame, run_python(frame, run_python(frame, getattr, self.value, name), *given, **named))

    def getattr(self, frame, name):
        if name == "groupindex":  # a mapping of the match itself
            raise self.unsupported("attribute groupindex")
        return super().getattr(frame, name)

    def is_same(self, other):
        return isinstance(other, PatternVariable) and self.value is other.value


def constant(frame, value) -> Variable:
    """A result of a search."""
    return PatternVariable(value) if isinstance(value, (re.Pattern, re.Match)) else frame.values.literal(frame, value)


@kind(re.Pattern, re.Match)
def _pattern(frame, value, source):
    frame.world.same(source, value)
    return PatternVariable(value, source)


def _searches(function):
    def rule(frame, args, kwargs):
        given, named = [frame.ops.real(frame, a) for a in args], {k: frame.ops.real(frame, v) for k, v in kwargs.items()}
        return constant(frame, run_python(frame, function, *given, **named))

    return rule


for _function in SEARCHING:
    trace_rules.handle(_function)(_searches(_function))
