"""Opcodes of loops and unpacking."""

from __future__ import annotations

from dynamo.breaks import Raised
from dynamo.interpreter.rules import VERSION, opcode
from dynamo.variables.base import Exhausted, Variable
from dynamo.variables.exception import raise_exception

# Where an exhausted FOR_ITER goes on: behind END_FOR (3.12) or END_FOR and POP_TOP (3.13) or POP_ITER, which the target names.
AFTER_LOOP = {(3, 11): 0, (3, 12): 1}.get(VERSION, 2)


TELLS_LENGTH = VERSION >= (3, 14)  # of a list, tuple or dict that has too many items for `a, b = …`


@opcode("GET_ITER")
def get_iter(frame, inst):
    frame.push(frame.pop().iterate(frame))


@opcode("FOR_ITER")
def for_iter(frame, inst):
    try:
        frame.push(frame.peek(1).next(frame))
    except Exhausted:
        frame.pop()
        frame.pc = inst.target + AFTER_LOOP
    except Raised as r:
        if not issubclass(r.value.cls, StopIteration):
            raise
        frame.pop()
        frame.pc = inst.target + AFTER_LOOP


def first_items(frame, value, most: int) -> tuple[list, Variable]:
    """The first items of what stands on the right of `a, b = …`, at most so many, and the iterator that gave them."""
    cls = value.python_type()
    if not frame.world.can_be_iterated(cls):
        raise frame.ops.refused(frame, unpack_two, value)
    iterator, items = value.iterate(frame), []
    while len(items) < most:
        try:
            items.append(iterator.next(frame))
        except Exhausted:
            break
    return items, iterator


def unpack_two(value) -> None:
    _, _ = value


@opcode("UNPACK_SEQUENCE")
def unpack_sequence(frame, inst):
    n = inst.arg
    given = frame.pop()
    values, _ = first_items(frame, given, n + 1)
    if len(values) < n:
        text = f"not enough values to unpack (expected {n}, got {len(values)})"
        raise raise_exception(frame, ValueError, text)
    if len(values) > n:
        known = TELLS_LENGTH and given.python_type() in (list, tuple, dict)
        got = f", got {len(values)}" if known else ""
        raise raise_exception(frame, ValueError, f"too many values to unpack (expected {n}{got})")
    frame.stack.extend(reversed(values))


@opcode("UNPACK_EX")
def unpack_ex(frame, inst):
    from dynamo.variables.sequence import ListVariable

    before, after = inst.arg & 0xFF, inst.arg >> 8
    values, iterator = first_items(frame, frame.pop(), before)
    if len(values) == before:
        values += iterator.unpack(frame)  # list(iterator), which asks for an iterator once more
    if len(values) < before + after:
        text = f"not enough values to unpack (expected at least {before + after}, got {len(values)})"
        raise raise_exception(frame, ValueError, text)
    middle = ListVariable(values[before : len(values) - after])
    frame.stack.extend(reversed([*values[:before], middle, *values[len(values) - after :]]))
