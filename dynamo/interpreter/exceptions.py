"""Opcodes of raising and handling exceptions."""

from __future__ import annotations

from dynamo import breaks
from dynamo.breaks import Raised, Unsupported
from dynamo.interpreter.rules import opcode
from dynamo.variables.constant import NONE, boolean, literal
from dynamo.variables.exception import ExceptionVariable, HandledBefore, make_exception, raise_exception


@opcode("RAISE_VARARGS")
def raise_varargs(frame, inst):
    if inst.arg == 0:
        if frame.handling is NONE:
            raise raise_exception(frame, RuntimeError, "No active exception to reraise")
        if not isinstance(frame.handling, ExceptionVariable):
            raise Unsupported(breaks.RUNNING_EXCEPTION, "raise")
        raise Raised(frame.handling)
    cause = frame.pop() if inst.arg == 2 else None
    value = make_exception(frame, frame.pop())
    if cause is not None:
        value.set_cause(frame, cause if cause.is_same(NONE) else make_exception(frame, cause, "exception causes must derive"))
    raise Raised(value)


@opcode("RERAISE")
def reraise(frame, inst):
    raise Raised(frame.pop())


@opcode("PUSH_EXC_INFO")
def push_exc_info(frame, inst):
    value = frame.pop()
    frame.push(HandledBefore(frame.handling))
    frame.push(value)
    frame.handling = value


@opcode("POP_EXCEPT")
def pop_except(frame, inst):
    saved = frame.pop()
    if isinstance(saved, HandledBefore):
        frame.handling = saved.value
    else:  # a resume function was handed it
        frame.handling = NONE if saved.is_same(NONE) else saved


@opcode("CHECK_EXC_MATCH")
def check_exc_match(frame, inst):
    classes = frame.pop().as_python()
    if not all(isinstance(c, type) and issubclass(c, BaseException) for c in _flat(classes)):
        raise raise_exception(frame, TypeError, "catching classes that do not inherit from BaseException is not allowed")
    raised = frame.peek(1).cls
    frame.push(boolean(any(frame.world.inherits(raised, c) for c in _flat(classes))))  # (no metaclass is asked)


def _flat(classes):
    return classes if isinstance(classes, tuple) else (classes,)


@opcode("LOAD_ASSERTION_ERROR")
def load_assertion_error(frame, inst):
    frame.push(literal(frame, AssertionError))
