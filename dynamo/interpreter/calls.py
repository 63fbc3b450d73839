"""Opcodes of calls, functions and returns."""

from __future__ import annotations

import types
from _operator import pos
from typing import Any

from dynamo.breaks import Raised
from dynamo.interpreter.containers import described
from dynamo.interpreter.frame import Yield
from dynamo.interpreter.loads import constant_of_code
from dynamo.interpreter.rules import VERSION, opcode
from dynamo.variables.base import METHOD, NULL, Variable
from dynamo.variables.constant import ConstantMethod
from dynamo.variables.exception import raise_exception
from dynamo.variables.function import ClosureVariable

# Classes of C whose objects look up attributes in a way of their own.
BINDS_ALWAYS = (type, super, types.MethodType, types.ModuleType, types.GenericAlias, types.UnionType)


def pop_callable(frame) -> tuple[Variable, list[Variable]]:
    """What a call finds below its arguments: the callable, and self for an unbound method."""
    first, second = frame.popn(2)
    for method, place in ((first, second), (second, first)):
        if place is METHOD and type(method) is ConstantMethod and (pair := as_loaded(frame, method)) is not None:
            return ConstantMethod(method.object, method.name, pair[0]), []
    if first is NULL or first is METHOD:
        return second, []
    if second is NULL or second is METHOD:
        return first, []
    return first, [second]


def as_loaded(frame, value: Variable) -> tuple[Any, Variable] | None:
    """(method, self) where loading a method of C to call it leaves these two: what it refuses is told in the method's own name."""
    if not isinstance(value, (frame.values.BoundMethod, frame.values.NativeMethod, ConstantMethod)):
        return None
    obj = value.object
    cls = obj.python_type()
    reads_itself = isinstance(frame.world.on_class(cls, "__getattribute__"), types.FunctionType)
    if issubclass(cls, BINDS_ALWAYS) or reads_itself or not frame.world.lacks(cls, "__getattr__"):
        return None
    method = getattr(value, "descriptor", None) or frame.world.on_class(cls, value.name)
    return (method, obj) if isinstance(method, (types.MethodDescriptorType, types.WrapperDescriptorType)) else None


@opcode("KW_NAMES", until=(3, 12))
def kw_names(frame, inst):
    frame.kw_names = inst.value


@opcode("CALL")
def call(frame, inst):
    args = frame.popn(inst.arg)
    names, frame.kw_names = frame.kw_names, ()
    function, self = pop_callable(frame)
    kwargs = dict(zip(names, args[len(args) - len(names) :])) if names else {}
    args = self + (args[: len(args) - len(names)] if names else args)
    frame.push(function.call(frame, args, kwargs))


@opcode("CALL_KW", since=(3, 13))
def call_kw(frame, inst):
    frame.kw_names = frame.pop().as_python()
    call(frame, inst)


@opcode("CALL_FUNCTION_EX")
def call_function_ex(frame, inst):
    kwargs = {}
    if VERSION >= (3, 14):
        (named,) = frame.popn(1)
        if named is not NULL:
            kwargs = mapping_of(frame, named, frame.peek(AT_CALLEE))
    elif inst.arg & 1:
        named = frame.pop()
        kwargs = mapping_of(frame, named, frame.peek(AT_CALLEE))
    given = frame.pop()
    function, self = pop_callable(frame)
    cls = given.python_type()
    if not frame.world.can_be_iterated(cls):
        text = f"{described(frame, function)} argument after * must be an iterable, not {given.type_name()}"
        raise raise_exception(frame, TypeError, text)
    frame.push(function.call(frame, self + given.unpack(frame), kwargs))


AT_CALLEE = 2 if VERSION < (3, 13) else 3  # how far down the callable of f(*a, **k) lies, its keywords taken
CALLS_CODE = (types.FunctionType, types.MethodType)


def mapping_of(frame, value: Variable, function: Variable) -> dict[str, Variable]:
    """The keyword arguments of function(**value)."""
    from dynamo.variables.mapping import DictVariable

    if not isinstance(value, DictVariable):
        new = DictVariable()
        new.merge(frame, value)
        value = new
    kwargs = {}
    for key, v in value.pairs(frame):
        name = key.as_python()
        if not isinstance(name, str):
            if not issubclass(function.python_type(), CALLS_CODE):  # C has words of its own where it takes no keywords at all
                raise function.unsupported("a call with keywords that are no strings")
            raise raise_exception(frame, TypeError, "keywords must be strings")
        kwargs[name] = v
    return kwargs


@opcode("MAKE_FUNCTION")
def make_function(frame, inst):
    code = frame.pop().as_python()
    function = ClosureVariable(code, frame.globals)
    if VERSION < (3, 13):
        if inst.arg & 8:
            set_function_part(frame, function, 8, frame.pop())
        for flag in (4, 2, 1):
            if inst.arg & flag:
                set_function_part(frame, function, flag, frame.pop())
    frame.push(function)


@opcode("SET_FUNCTION_ATTRIBUTE", since=(3, 13))
def set_function_attribute(frame, inst):
    function = frame.pop()
    set_function_part(frame, function, inst.arg, frame.pop())
    frame.push(function)


def set_function_part(frame, function: ClosureVariable, flag: int, value: Any) -> None:
    if flag == 1:
        function.default_values = value.unpack(frame)
    elif flag == 2:
        function.kwdefault_values = {k.as_python(): v for k, v in value.pairs(frame)}
    elif flag == 4:
        function.annotations = annotations_dict(frame, value)
    elif flag == 8:
        function.cell_list = list(value.items)
    elif flag == 16:
        function.annotate = value


def annotations_dict(frame, value: Any):
    """The `__annotations__` of a function: bytecode has a tuple of names and values in turn."""
    if not isinstance(value, frame.values.TupleVariable):
        return value
    parts = value.unpack(frame)
    return frame.values.dict_(zip(parts[::2], parts[1::2]))


@opcode("RETURN_VALUE")
def return_value(frame, inst):
    frame.result = frame.pop_unread()
    frame.finished = True


@opcode("RETURN_CONST", since=(3, 12))
def return_const(frame, inst):
    frame.result = constant_of_code(frame, inst.value)
    frame.finished = True


# -------------------------------------------------------------------------------------------- generators
@opcode("YIELD_VALUE")
def yield_value(frame, inst):
    raise Yield(frame.pop())


@opcode("GET_YIELD_FROM_ITER")
def get_yield_from_iter(frame, inst):
    frame.push(frame.pop().iterate(frame))


@opcode("SEND")
def send(frame, inst):
    from dynamo.variables.base import Exhausted
    from dynamo.variables.constant import NONE
    from dynamo.variables.iterator import GeneratorVariable

    sent = frame.pop()
    iterator = frame.peek(1)
    try:
        if isinstance(iterator, GeneratorVariable):
            value = iterator.resume(frame, sent)
        elif sent.is_same(NONE):
            value = iterator.next(frame)
        else:
            value = iterator.method(frame, "send", [sent], {})
    except Exhausted as e:
        if VERSION < (3, 12):
            frame.pop()
        frame.push(e.value if e.value is not None else NONE)
        frame.pc = inst.target
        return
    frame.push(value)


@opcode("CLEANUP_THROW")
def cleanup_throw(frame, inst):
    value = frame.pop()
    if not issubclass(value.cls, StopIteration):
        raise Raised(value)
    frame.popn(2)
    from dynamo.variables.constant import NONE

    if VERSION >= (3, 12):
        frame.push(NONE)
    frame.push(value.args[0] if value.args else NONE)


# -------------------------------------------------------------------------------------------- intrinsics
@opcode("CALL_INTRINSIC_1", since=(3, 12))
def call_intrinsic_1(frame, inst):
    from dynamo import breaks

    if inst.arg == 3:  # StopIteration raised in a generator is a RuntimeError
        value = frame.pop()
        if issubclass(value.cls, StopIteration):
            value = frame.values.iterator.stopped(frame, value).value
        frame.push(value)
    elif inst.arg == 5:
        frame.push(frame.ops.unary(frame, pos, frame.pop()))
    elif inst.arg == 6:
        list_to_tuple(frame, inst)
    else:
        raise breaks.Unsupported(breaks.UNKNOWN_OPCODE, f"CALL_INTRINSIC_1 {inst.arg}")


@opcode("LIST_TO_TUPLE", until=(3, 11))
def list_to_tuple(frame, inst):
    from dynamo.variables.sequence import TupleVariable

    frame.push(TupleVariable(frame.pop().unpack(frame)))
