"""Opcodes that choose: jumps, comparisons, operators, truth."""

from __future__ import annotations

import _operator as operator
import dis

from dynamo.interpreter import asserts, operators
from dynamo.interpreter.rules import VERSION, opcode
from dynamo.operators import COMPARE, binary_by_symbol
from dynamo.variables.constant import NONE, boolean

BINARY = [binary_by_symbol(symbol) for _, symbol in dis._nb_ops if symbol != "[]"]  # type: ignore[attr-defined]  # the order of the arguments of BINARY_OP
SUBSCRIPT = len(BINARY)  # BINARY_SUBSCR before 3.14
COMPARE_TO_BOOL = VERSION >= (3, 13)
UNARY = {
    "UNARY_POSITIVE": operator.pos, "UNARY_NEGATIVE": operator.neg, "UNARY_INVERT": operator.invert,
    "UNARY_NOT": operator.not_,
}  # fmt: skip


@opcode(*UNARY)
def unary(frame, inst):
    frame.push(operators.unary(frame, UNARY[inst.name], frame.pop()))


@opcode("BINARY_OP")
def binary_op(frame, inst):
    b = frame.pop()
    if inst.arg == SUBSCRIPT:
        frame.push(frame.pop().getitem(frame, b))
    else:
        frame.push(operators.binary(frame, BINARY[inst.arg], frame.pop(), b))


@opcode("COMPARE_OP")
def compare_op(frame, inst):
    b = frame.pop()
    result = operators.binary(frame, COMPARE[inst.value], frame.pop(), b)
    if inst.arg & 16 and COMPARE_TO_BOOL and not asserts.is_asserted(frame, result):
        result = boolean(result.truth(frame))
    frame.push(result)


@opcode("TO_BOOL", since=(3, 13))
def to_bool(frame, inst):
    value = frame.pop()
    frame.push(value if asserts.is_asserted(frame, value) else operators.holds(frame, value))


@opcode("IS_OP")
def is_op(frame, inst):
    b = frame.pop()
    frame.push(boolean(operators.same(frame, frame.pop(), b) != bool(inst.arg)))


@opcode("CONTAINS_OP")
def contains_op(frame, inst):
    container = frame.pop()
    found = operators.contained(frame, container, frame.pop())
    frame.push(operators.unary(frame, operator.not_, found) if inst.arg else found)


# ------------------------------------------------------------------------------------------------- jumps
@opcode("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")
def jump(frame, inst):
    frame.jump(inst)


@opcode("POP_JUMP_IF_FALSE", "POP_JUMP_FORWARD_IF_FALSE", "POP_JUMP_BACKWARD_IF_FALSE")
def pop_jump_if_false(frame, inst):
    if not frame.pop().truth(frame):
        frame.jump(inst)


@opcode("POP_JUMP_IF_TRUE", "POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_BACKWARD_IF_TRUE")
def pop_jump_if_true(frame, inst):
    value = frame.pop()
    frame.pc -= 1  # (the jump itself is looked at)
    asserted = asserts.is_asserted(frame, value)
    frame.pc += 1
    if asserted:
        asserts.record(frame, value, frame.pc - 1)
    if asserted or value.truth(frame):
        frame.jump(inst)


@opcode("POP_JUMP_IF_NONE", "POP_JUMP_FORWARD_IF_NONE", "POP_JUMP_BACKWARD_IF_NONE")
def pop_jump_if_none(frame, inst):
    if operators.same(frame, frame.pop(), NONE):
        frame.jump(inst)


@opcode("POP_JUMP_IF_NOT_NONE", "POP_JUMP_FORWARD_IF_NOT_NONE", "POP_JUMP_BACKWARD_IF_NOT_NONE")
def pop_jump_if_not_none(frame, inst):
    if not operators.same(frame, frame.pop(), NONE):
        frame.jump(inst)


@opcode("JUMP_IF_FALSE_OR_POP", until=(3, 11))
def jump_if_false_or_pop(frame, inst):
    if frame.peek(1).truth(frame):
        frame.pop()
    else:
        frame.jump(inst)


@opcode("JUMP_IF_TRUE_OR_POP", until=(3, 11))
def jump_if_true_or_pop(frame, inst):
    if frame.peek(1).truth(frame):
        frame.jump(inst)
    else:
        frame.pop()
