"""Opcodes of with statements."""

from __future__ import annotations

from dynamo.breaks import Raised
from dynamo.interpreter.rules import VERSION, opcode
from dynamo.variables.base import NULL
from dynamo.variables.constant import literal
from dynamo.variables.exception import raise_exception
from dynamo.variables.traceback import TracebackVariable


@opcode("BEFORE_WITH", until=(3, 13))
def before_with(frame, inst):
    context = frame.pop()
    enter = _special(frame, context, "__enter__", "")
    leave = _special(frame, context, "__exit__", " (missed __exit__ method)")
    frame.push(leave)
    frame.push(enter.call(frame, [], {}))


@opcode("LOAD_SPECIAL", since=(3, 14))
def load_special(frame, inst):
    frame.push(_special(frame, frame.pop(), inst.value, f" (missed {inst.value} method)"))
    frame.push(NULL)  # it is bound


def _special(frame, context, name: str, hint: str):
    """A method of the context's class: what the object itself holds does not count."""
    if isinstance(context, frame.values.ObjectVariable):
        found = context.special(frame, name)
        if found is not None:
            return found
    else:
        try:
            return context.getattr(frame, name)
        except Raised as r:
            if not issubclass(r.value.cls, AttributeError):
                raise
    of = context.type_name()
    if VERSION >= (3, 14):
        of = context.full_type_name()
        if not any(frame.world.lacks(context.python_type(), method) for method in ("__aenter__", "__aexit__")):
            hint += " but it supports the asynchronous context manager protocol. Did you mean to use 'async with'?"
    text = f"'{of}' object does not support the context manager protocol{hint}"
    raise raise_exception(frame, TypeError, text)


@opcode("WITH_EXCEPT_START")
def with_except_start(frame, inst):
    leave, value = frame.peek(4 if VERSION < (3, 14) else 5), frame.peek(1)
    frame.push(leave.call(frame, [literal(frame, value.cls), value, TracebackVariable(value)], {}))
