"""Opcodes that build containers and strings, and those of match statements."""

from __future__ import annotations

from typing import Any

from dynamo.breaks import Raised
from dynamo.interpreter import operators
from dynamo.interpreter.rules import VERSION, opcode
from dynamo.real_objects import MAPPING, SEQUENCE
from dynamo.variables import logged
from dynamo.variables.base import Variable
from dynamo.variables.constant import NONE, ConstantVariable, boolean
from dynamo.variables.exception import raise_exception
from dynamo.variables.mapping import MISSING, DictVariable
from dynamo.variables.sequence import ListVariable, SliceVariable, TupleVariable


@opcode("BUILD_TUPLE")
def build_tuple(frame, inst):
    frame.push(TupleVariable(frame.pop_moved(inst.arg)))


@opcode("BUILD_LIST")
def build_list(frame, inst):
    frame.push(ListVariable(frame.pop_moved(inst.arg)))


@opcode("BUILD_SET")
def build_set(frame, inst):
    frame.push(frame.values.set_of(frame, frame.popn(inst.arg)))


@opcode("BUILD_MAP")
def build_map(frame, inst):
    items = frame.popn(2 * inst.arg)
    new = DictVariable()
    for key, value in zip(items[::2], items[1::2]):
        new.setitem(frame, key, value)
    frame.push(new)


@opcode("BUILD_CONST_KEY_MAP")
def build_const_key_map(frame, inst):
    keys = frame.pop().unpack(frame)
    frame.push(DictVariable.of(zip(keys, frame.popn(inst.arg))))


@opcode("BUILD_SLICE")
def build_slice(frame, inst):
    parts = frame.popn(inst.arg)
    frame.push(SliceVariable(parts if len(parts) == 3 else [*parts, NONE]))


@opcode("LIST_APPEND")
def list_append(frame, inst):
    value = frame.pop()
    frame.peek(inst.arg).append(frame, value)


@opcode("LIST_EXTEND")
def list_extend(frame, inst):
    values = frame.pop()
    cls = values.python_type()
    if not frame.world.can_be_iterated(cls):
        raise frame.ops.refused(frame, lambda v: [*v], values)
    frame.peek(inst.arg).extend(frame, values)


@opcode("SET_ADD")
def set_add(frame, inst):
    value = frame.pop()
    frame.peek(inst.arg).method(frame, "add", [value], {})


@opcode("SET_UPDATE")
def set_update(frame, inst):
    values = frame.pop()
    frame.peek(inst.arg).method(frame, "update", [values], {})


@opcode("MAP_ADD")
def map_add(frame, inst):
    key, value = frame.popn(2)
    frame.peek(inst.arg).setitem(frame, key, value)


@opcode("DICT_UPDATE")
def dict_update(frame, inst):
    other = frame.pop()
    check_mapping(frame, other)
    frame.peek(inst.arg).merge(frame, other)


@opcode("DICT_MERGE")
def dict_merge(frame, inst):
    other = frame.pop()
    target = frame.peek(inst.arg)
    check_keywords(frame, frame.peek(inst.arg + CALLABLE), other)
    new = DictVariable()
    new.merge(frame, other)
    for key, value in new.pairs(frame):
        if target.lookup(frame, key) is not MISSING:
            function = described(frame, frame.peek(inst.arg + CALLABLE))
            text = f"{function} got multiple values for keyword argument '{key.as_python()}'"
            raise raise_exception(frame, TypeError, text)
        target.setitem(frame, key, value)


def check_mapping(frame, value) -> None:
    """Raise TypeError in the program unless `{**value}` is possible."""
    if not isinstance(value, DictVariable) and not value.hasattr(frame, "keys"):
        raise frame.ops.refused(frame, lambda v: {**v}, value)


def check_keywords(frame, function, value) -> None:
    """The same for `function(**value)`."""
    if not isinstance(value, DictVariable) and not value.hasattr(frame, "keys"):
        text = f"{described(frame, function)} argument after ** must be a mapping, not {value.type_name()}"
        raise raise_exception(frame, TypeError, text)


def described(frame, function) -> str:
    """A callable as TypeErrors about its arguments name it."""
    if not function.hasattr(frame, "__qualname__"):
        return operators.text(frame, function).value
    module = function.getattr(frame, "__module__").as_python() if function.hasattr(frame, "__module__") else None
    prefix = "" if module in (None, "builtins") else f"{module}."
    return f"{prefix}{function.getattr(frame, '__qualname__').as_python()}()"


# ----------------------------------------------------------------------------------------------- strings
@opcode("BUILD_STRING")
def build_string(frame, inst):
    frame.push(logged.joined(frame.pop_moved(inst.arg)))


CALLABLE = 3 if VERSION >= (3, 13) else 2  # how far below the keywords of a call its callable lies
CONVERT = {0: None, 1: str, 2: repr, 3: ascii}


@opcode("FORMAT_VALUE", until=(3, 12))
def format_value(frame, inst):
    spec = frame.pop() if inst.arg & 4 else ConstantVariable("")
    frame.push(formatted(frame, frame.pop(), CONVERT[inst.arg & 3], spec))


@opcode("CONVERT_VALUE", since=(3, 13))
def convert_value(frame, inst):
    frame.push(formatted(frame, frame.pop(), CONVERT[inst.arg], ConstantVariable("")))


@opcode("FORMAT_SIMPLE", since=(3, 13))
def format_simple(frame, inst):
    value = frame.pop_unread()
    frame.push(value if value.moves_unread else formatted(frame, value, None, ConstantVariable("")))


@opcode("FORMAT_WITH_SPEC", since=(3, 13))
def format_with_spec(frame, inst):
    spec = frame.pop()
    frame.push(formatted(frame, frame.pop(), None, spec))


def formatted(frame, value, convert, spec) -> Variable:
    """format(convert(value), spec)."""
    from dynamo.variables import text

    delayed = logged.delayed_text(frame, value.realize(frame), convert, spec.as_python())
    if delayed is not None:
        return delayed
    if convert is not None:
        value = operators.text(frame, value, convert)
    return ConstantVariable(text.formatted(frame, value, spec.as_python()))


# ------------------------------------------------------------------------------------------------- match
@opcode("GET_LEN")
def get_len(frame, inst):
    frame.push(frame.peek(1).length(frame))


@opcode("MATCH_SEQUENCE")
def match_sequence(frame, inst):
    cls = frame.peek(1).python_type()
    frame.push(boolean(frame.world.matches_as(cls, SEQUENCE)))


@opcode("MATCH_MAPPING")
def match_mapping(frame, inst):
    frame.push(boolean(frame.world.matches_as(frame.peek(1).python_type(), MAPPING)))


NO_VALUE = object()  # what `get` gives for a key that a pattern asks for in vain


@opcode("MATCH_KEYS")
def match_keys(frame, inst):
    keys, mapping = frame.peek(1), frame.peek(2)
    wanted = keys.unpack(frame)
    seen: set = set()
    for key in wanted:
        hashed = operators.key(frame, key)
        if hashed in seen:
            text = f"mapping pattern checks duplicate key ({operators.text(frame, key, repr).value})"
            raise raise_exception(frame, ValueError, text)
        seen.add(hashed)
    if not wanted:
        frame.push(TupleVariable([]))
        return
    get, missing = mapping.getattr(frame, "get"), frame.world.known(NO_VALUE)  # as Python: never `__getitem__`
    values = []
    for key in wanted:
        value = get.call(frame, [key, missing], {})
        if operators.same(frame, value, missing):
            frame.push(NONE)
            return
        values.append(value)
    frame.push(TupleVariable(values))


@opcode("MATCH_CLASS")
def match_class(frame, inst):
    names = frame.pop().as_python()
    cls = frame.pop()
    subject = frame.pop()
    if not issubclass(cls.python_type(), type):
        raise raise_exception(frame, TypeError, "called match pattern must be a class")
    if not frame.world.known(isinstance).call(frame, [subject, cls], {}).truth(frame):
        frame.push(NONE)
        return
    values: list = []
    seen: set[str] = set()
    for name in [*_positional(frame, cls, inst.arg), *names]:
        if name in seen:
            text = f"{cls.as_python().__name__}() got multiple sub-patterns for attribute {name!r}"
            raise raise_exception(frame, TypeError, text)
        seen.add(name)
        try:
            values.append(subject if name is ITSELF else subject.getattr(frame, name))
        except Raised as r:
            if not issubclass(r.value.cls, AttributeError):
                raise
            frame.push(NONE)
            return
    frame.push(TupleVariable(values))


SELF_MATCH = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
ITSELF: Any = object()  # in the place of an attribute's name: the subject


def _positional(frame, cls, count: int) -> list:
    """The names of the attributes that `count` patterns without a name are for."""
    if not count:
        return []
    python_class = cls.as_python()
    label, allowed = python_class.__name__, 1
    names: Any = [ITSELF]
    try:
        declared = cls.getattr(frame, "__match_args__")
    except Raised as r:
        if not issubclass(r.value.cls, AttributeError):
            raise
        if not issubclass(python_class, SELF_MATCH):
            names, allowed = [], 0
    else:
        if not issubclass(declared.python_type(), tuple):
            text = f"{label}.__match_args__ must be a tuple (got {declared.type_name()})"
            raise raise_exception(frame, TypeError, text)
        items = declared.unpack(frame)
        names, allowed = items, len(items)
    if allowed < count:
        text = f"{label}() accepts {allowed} positional sub-pattern{'' if allowed == 1 else 's'} ({count} given)"
        raise raise_exception(frame, TypeError, text)
    for k, name in enumerate(names[:count]):
        if name is ITSELF:
            continue
        if name.python_type() is not str:
            text = f"__match_args__ elements must be strings (got {name.type_name()})"
            raise raise_exception(frame, TypeError, text)
        names[k] = name.as_python()
    return list(names[:count])
