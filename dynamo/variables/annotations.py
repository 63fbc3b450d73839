"""What nodes of captured code keep: `fx.traceback.annotate` within a compiled function."""

from __future__ import annotations

from aten.fx import traceback
from dynamo import trace_rules
from dynamo.variables.constant import NONE


@trace_rules.handle(traceback.carry)
def _carry(frame, args, kwargs):
    frame.output.graph.kept = traceback.kept_of(frame.ops.real(frame, args[0]))
    return NONE
