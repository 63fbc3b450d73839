"""Opcodes of with statements."""

from __future__ import annotations

from dynamo.graph_break import Raised
from dynamo.interpreter.rules import opcode
from dynamo.variables.constant import NONE, literal
from dynamo.variables.exception import raise_exception


@opcode("BEFORE_WITH")
def before_with(frame, inst):
    context = frame.pop()
    try:
        enter, leave = context.getattr(frame, "__enter__"), context.getattr(frame, "__exit__")
    except Raised as r:
        if not issubclass(r.value.cls, AttributeError):
            raise
        name = context.python_type().__name__
        text = f"'{name}' object does not support the context manager protocol"
        raise raise_exception(frame, TypeError, text) from None
    frame.push(leave)
    frame.push(enter.call(frame, [], {}))


@opcode("WITH_EXCEPT_START")
def with_except_start(frame, inst):
    leave, value = frame.peek(4), frame.peek(1)
    frame.push(leave.call(frame, [literal(frame, value.cls), value, NONE], {}))
