"""Operators on values of any kinds: the left one is asked, then the right one, then TypeError."""

from __future__ import annotations

import operator

from dynamo import guards
from dynamo.graph_break import NotConstant, Unsupported
from dynamo.variables.base import Variable
from dynamo.variables.constant import ConstantVariable, boolean
from dynamo.variables.exception import raise_exception

SYMBOLS = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/", operator.floordiv: "//",
    operator.mod: "%", operator.pow: "** or pow()", operator.matmul: "@", operator.and_: "&", operator.or_: "|",
    operator.xor: "^", operator.lshift: "<<", operator.rshift: ">>",
    operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">=", operator.eq: "==", operator.ne: "!=",
}  # fmt: skip
INPLACE = {
    operator.iadd: operator.add, operator.isub: operator.sub, operator.imul: operator.mul, operator.imod: operator.mod,
    operator.itruediv: operator.truediv, operator.ifloordiv: operator.floordiv, operator.ipow: operator.pow,
    operator.imatmul: operator.matmul, operator.iand: operator.and_, operator.ior: operator.or_,
    operator.ixor: operator.xor, operator.ilshift: operator.lshift, operator.irshift: operator.rshift,
}  # fmt: skip
COMPARE = {
    "<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
SWAPPED = {
    operator.lt: operator.gt, operator.gt: operator.lt, operator.le: operator.ge, operator.ge: operator.le,
    operator.eq: operator.eq, operator.ne: operator.ne,
}  # fmt: skip
BINARY = [
    operator.add, operator.and_, operator.floordiv, operator.lshift, operator.matmul, operator.mul, operator.mod,
    operator.or_, operator.pow, operator.rshift, operator.sub, operator.truediv, operator.xor,
    operator.iadd, operator.iand, operator.ifloordiv, operator.ilshift, operator.imatmul, operator.imul, operator.imod,
    operator.ior, operator.ipow, operator.irshift, operator.isub, operator.itruediv, operator.ixor,
]  # fmt: skip


def binary(frame, op, a: Variable, b: Variable) -> Variable:
    """op(a, b) for a function of `operator`, in-place and comparing ones included."""
    result = a.binary(frame, op, b)
    if result is not None:
        return result
    if op in INPLACE:
        return binary(frame, INPLACE[op], a, b)
    result = b.binary(frame, SWAPPED[op], a) if op in SWAPPED else b.reflected(frame, op, a)
    if result is not None:
        return result
    if op in (operator.eq, operator.ne):
        return boolean(same(frame, a, b) == (op is operator.eq))
    names = a.python_type().__name__, b.python_type().__name__
    if op in SWAPPED:
        text = f"'{SYMBOLS[op]}' not supported between instances of '{names[0]}' and '{names[1]}'"
    else:
        text = f"unsupported operand type(s) for {SYMBOLS.get(op, op.__name__)}: '{names[0]}' and '{names[1]}'"
    raise raise_exception(frame, TypeError, text)


def equals(frame, a: Variable, b: Variable) -> bool:
    """a is b or a == b, as containers compare."""
    return a is b or binary(frame, operator.eq, a, b).truth(frame)


def same(frame, a: Variable, b: Variable) -> bool:
    """a is b. For two objects from outside the answer is guarded."""
    try:
        answer = a.is_same(b)
    except NotConstant:
        raise a.unsupported("the identity") from None
    if not answer and a.source is not None and b.source is not None and not (a.is_constant() or b.is_constant()):
        frame.output.guard(guards.Distinct((a.source, b.source)))
    return answer


def unary(frame, op, a: Variable) -> Variable:
    if op is operator.not_:
        return boolean(not a.truth(frame))
    return a.unary(frame, op)


def contains(frame, container: Variable, item: Variable) -> bool:
    """item in container."""
    try:
        found = container.contains(frame, item)
    except NotConstant:
        return any(equals(frame, v, item) for v in container.unpack(frame))
    return found.truth(frame)


def text(frame, value: Variable, function=str) -> ConstantVariable:
    """str(value) or repr(value), for what is known while tracing."""
    from dynamo.variables import text as texts

    return ConstantVariable(texts.text(frame, value, function))


__all__ = ["BINARY", "COMPARE", "Unsupported", "binary", "contains", "equals", "same", "text", "unary"]
