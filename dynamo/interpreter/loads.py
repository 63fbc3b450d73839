"""Opcodes that move values: variables, constants, attributes, globals, cells, the stack itself, imports."""

from __future__ import annotations

from typing import Any

from dynamo import breaks
from dynamo.breaks import Raised, Unsupported
from dynamo.interpreter.rules import VERSION, opcode
from dynamo.variables.base import METHOD, NULL, Variable
from dynamo.variables.constant import NONE, literal
from dynamo.variables.exception import raise_exception
from dynamo.variables.function import CellVariable
from dynamo.variables.super import SuperVariable


# ------------------------------------------------------------------------------------------------- stack
@opcode("NOP", "RESUME", "PRECALL", "NOT_TAKEN")
def nop(frame, inst):
    pass


@opcode("POP_TOP", "POP_ITER")
def pop_top(frame, inst):
    frame.dropped(frame.stack.pop())


@opcode("END_FOR", since=(3, 12))
def end_for(frame, inst):
    if VERSION == (3, 12):
        frame.popn(2)
    else:
        frame.pop()


@opcode("END_SEND", since=(3, 12))
def end_send(frame, inst):
    del frame.stack[-2]


@opcode("PUSH_NULL")
def push_null(frame, inst):
    frame.push(NULL)


@opcode("COPY")
def copy(frame, inst):
    frame.push(frame.stack[-inst.arg])


@opcode("SWAP")
def swap(frame, inst):
    stack = frame.stack
    stack[-1], stack[-inst.arg] = stack[-inst.arg], stack[-1]


# --------------------------------------------------------------------------------------- constants, locals
def constant_of_code(frame, value) -> Variable:
    """One of the constants of the code: a tuple among them is one object, each time."""
    return frame.world.known(value) if type(value) is tuple else literal(frame, value)


@opcode("LOAD_CONST")
def load_const(frame, inst):
    frame.push(constant_of_code(frame, inst.value))


@opcode("LOAD_SMALL_INT", "LOAD_COMMON_CONSTANT", since=(3, 14))
def load_known(frame, inst):
    frame.push(literal(frame, inst.value))


@opcode("LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK", "LOAD_CLOSURE")
def load_fast(frame, inst):
    value = frame.locals.get(inst.value)
    frame.stack.append(value if value is not None and value.is_settled else frame.load_fast(inst.value))


@opcode("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW", since=(3, 13))
def load_fast_load_fast(frame, inst):
    for name in inst.value:
        frame.push(frame.load_fast(name))


@opcode("LOAD_FAST_AND_CLEAR", since=(3, 12))
def load_fast_and_clear(frame, inst):
    frame.push(frame.locals.pop(inst.value, NULL))


def store_local(frame, name: str, value: Variable) -> None:
    old = frame.locals.get(name)
    if value is NULL:
        frame.locals.pop(name, None)
    else:
        frame.locals[name] = value
    if old is not None:
        frame.dropped(old)


@opcode("STORE_FAST")
def store_fast(frame, inst):
    store_local(frame, inst.value, frame.pop_unread())


@opcode("STORE_FAST_STORE_FAST", since=(3, 13))
def store_fast_store_fast(frame, inst):
    for name in inst.value:
        store_local(frame, name, frame.pop_unread())


@opcode("STORE_FAST_LOAD_FAST", since=(3, 13))
def store_fast_load_fast(frame, inst):
    store_local(frame, inst.value[0], frame.pop_unread())
    frame.push(frame.load_fast(inst.value[1]))


@opcode("DELETE_FAST")
def delete_fast(frame, inst):
    value = frame.locals.pop(inst.value, None)
    if value is None:
        raise frame.unbound(inst.value)
    frame.dropped(value)


# ------------------------------------------------------------------------------------------------- cells
@opcode("MAKE_CELL")
def make_cell(frame, inst):
    name = inst.value
    content = frame.locals.pop(name, None)
    frame.locals[name] = CellVariable(content, name=name if frame.parent is None else None)


@opcode("COPY_FREE_VARS")
def copy_free_vars(frame, inst):
    for name, cell in zip(frame.code.co_freevars, frame.free_cells):
        frame.locals[name] = cell


@opcode("LOAD_DEREF")
def load_deref(frame, inst):
    frame.push(read_cell(frame, inst.value))


def read_cell(frame, name: str) -> Variable:
    value = frame.cell(name).load(frame)
    if value is None:
        if name in frame.code.co_freevars:
            text = f"cannot access free variable '{name}' where it is not associated with a value in enclosing scope"
            raise name_error(frame, name, text)
        raise frame.unbound(name)
    return value


@opcode("STORE_DEREF")
def store_deref(frame, inst):
    frame.cell(inst.value).store(frame, frame.pop())


@opcode("DELETE_DEREF")
def delete_deref(frame, inst):
    read_cell(frame, inst.value)
    frame.cell(inst.value).store(frame, None)


# ----------------------------------------------------------------------------------------------- globals
def load_name(frame, name: str) -> Variable:
    """A global or builtin name."""
    stored = frame.output.side_effects.global_value(frame.globals, name)
    found = frame.world.global_name(frame, name) if stored is None else stored
    if found is None or found is NULL:
        raise name_error(frame, name, f"name '{name}' is not defined")
    return found


def name_error(frame, name: str, text: str) -> Raised:
    error = raise_exception(frame, NameError, text)
    error.value.about(frame, name=frame.values.const(name))
    return error


@opcode("LOAD_GLOBAL")
def load_global(frame, inst):
    value = load_name(frame, inst.value)
    if inst.arg & 1 and VERSION < (3, 13):
        frame.push(NULL)
    frame.push(value)
    if inst.arg & 1 and VERSION >= (3, 13):
        frame.push(NULL)


@opcode("STORE_GLOBAL")
def store_global(frame, inst):
    frame.output.side_effects.namespace(frame.globals).write(frame, inst.value, frame.pop())


@opcode("DELETE_GLOBAL")
def delete_global(frame, inst):
    if not frame.output.side_effects.namespace(frame.globals).delete(frame, inst.value):
        raise name_error(frame, inst.value, f"name '{inst.value}' is not defined")


# -------------------------------------------------------------------------------------------- attributes
def push_method(frame, value: Variable, place: Variable = METHOD) -> None:
    """A method ready to be called, as the version lays it out (the method is bound already)."""
    if VERSION >= (3, 13):
        frame.push(value)
        frame.push(place)
    else:
        frame.push(place)
        frame.push(value)


def attribute(frame, obj: Variable, name: str) -> Variable:
    """obj.name; an AttributeError learns what was not found, and where."""
    try:
        return obj.getattr(frame, name)
    except Raised as raised:
        if issubclass(raised.value.python_type(), AttributeError):
            raised.value.about(frame, name=frame.values.const(name), obj=obj)
        raise


@opcode("LOAD_METHOD", until=(3, 11))
def load_method(frame, inst):
    obj = frame.pop()
    push_method(frame, attribute(frame, obj, inst.value), NULL if isinstance(obj, SuperVariable) else METHOD)


@opcode("LOAD_ATTR")
def load_attr(frame, inst):
    obj = frame.pop()
    value = attribute(frame, obj, inst.value)
    if VERSION >= (3, 12) and inst.arg & 1:
        push_method(frame, value, NULL if isinstance(obj, SuperVariable) else METHOD)
    else:
        frame.push(value)


@opcode("LOAD_SUPER_ATTR", since=(3, 12))
def load_super_attr(frame, inst):
    function, cls, obj = frame.popn(3)
    shadowed = function.python_type() is not type or function.as_python() is not super
    value = function.call(frame, [] if shadowed and not inst.arg & 2 else [cls, obj], {}).getattr(frame, inst.value)
    if inst.arg & 1:
        push_method(frame, value, NULL)  # the instruction as it is at first, which binds the method
    else:
        frame.push(value)


@opcode("STORE_ATTR")
def store_attr(frame, inst):
    obj = frame.pop()
    obj.setattr(frame, inst.value, frame.pop())


@opcode("DELETE_ATTR")
def delete_attr(frame, inst):
    frame.pop().delattr(frame, inst.value)


@opcode("BINARY_SUBSCR")
def binary_subscr(frame, inst):
    key = frame.pop()
    frame.push(frame.pop().getitem(frame, key))


@opcode("BINARY_SLICE", since=(3, 12))
def binary_slice(frame, inst):
    from dynamo.variables.sequence import SliceVariable

    start, stop = frame.popn(2)
    frame.push(frame.pop().getitem(frame, SliceVariable([start, stop, NONE])))


@opcode("STORE_SLICE", since=(3, 12))
def store_slice(frame, inst):
    from dynamo.variables.sequence import SliceVariable

    start, stop = frame.popn(2)
    obj = frame.pop()
    obj.setitem(frame, SliceVariable([start, stop, NONE]), frame.pop())


@opcode("STORE_SUBSCR")
def store_subscr(frame, inst):
    key = frame.pop()
    obj = frame.pop()
    obj.setitem(frame, key, frame.pop())


@opcode("DELETE_SUBSCR")
def delete_subscr(frame, inst):
    key = frame.pop()
    frame.pop().delitem(frame, key)


# ----------------------------------------------------------------------------------------------- imports
@opcode("IMPORT_NAME")
def import_name(frame, inst):
    fromlist = frame.pop().as_python()
    level = frame.pop().as_python()
    frame.push(frame.world.imported(frame, inst.value, fromlist, level))


@opcode("IMPORT_FROM")
def import_from(frame, inst):
    module = frame.peek(1)
    try:
        frame.push(module.getattr(frame, inst.value))
    except Raised as r:
        if not issubclass(r.value.cls, AttributeError):
            raise
        found = frame.world.loaded(f"{module.as_python().__name__}.{inst.value}")
        if found is not None:
            frame.push(found)
        else:
            raise not_there(frame, module.as_python(), inst.value) from None


def not_there(frame, module: Any, name: str) -> Raised:
    """The ImportError of `from module import name`."""
    path = frame.world.globals_of(module).get("__file__")
    text = f"cannot import name '{name}' from '{module.__name__}' ({path or 'unknown location'})"
    error = raise_exception(frame, ImportError, text)
    about = {"name": module.__name__, "path": path} | ({"name_from": name} if VERSION >= (3, 12) else {})
    error.value.about(frame, **{k: frame.values.const(v) for k, v in about.items()})
    return error


@opcode("LOAD_BUILD_CLASS")
def load_build_class(frame, inst):
    raise Unsupported(breaks.UNKNOWN_OPCODE, "a class statement")
