"""Write bytecode, one value at a time, the same way on every version of Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .instruction import SUBSCRIPT, VERSION
from .items import Cell, Instr, Label

_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...))
_CODE = type(compile("0", "", "eval"))


class Box:
    """Holds a constant that code objects cannot hold themselves: they hash their constants and merge equal ones."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __repr__(self):
        return f"Box({self.value!r})"


class Emitter:
    """A list of instructions in the making. Names are resolved for the frame of `code`: fast local, cell or free."""

    def __init__(self, cellvars=(), freevars=(), line: int | None = None):
        self.out: list = []
        self.cellvars = frozenset(cellvars)
        self.freevars = frozenset(freevars)
        self.line = line

    def instr(self, name: str, arg: Any = 0) -> None:
        self.out.append(Instr(name, arg, self.line))

    def label(self, label: Label) -> None:
        self.out.append(label)

    # ------------------------------------------------------------------------------------- values
    def load_const(self, value: Any) -> None:
        if _is_plain(value) or (callable(value) and type(value).__hash__ is object.__hash__):
            self.instr("LOAD_CONST", value)
        else:
            self.instr("LOAD_CONST", Box(value))
            self.load_attr("value")

    def load_local(self, name: str) -> None:
        """A local variable, which may live in a cell."""
        if name in self.cellvars or name in self.freevars:
            self.load_deref(name)
        else:
            self.instr("LOAD_FAST", name)

    def store_local(self, name: str) -> None:
        if name in self.cellvars or name in self.freevars:
            self.store_deref(name)
        else:
            self.instr("STORE_FAST", name)

    def delete_local(self, name: str) -> None:
        self.instr("DELETE_FAST", name)

    def load_deref(self, name: str) -> None:
        self.instr("LOAD_DEREF", Cell(name))

    def store_deref(self, name: str) -> None:
        self.instr("STORE_DEREF", Cell(name))

    def delete_deref(self, name: str) -> None:
        self.instr("DELETE_DEREF", Cell(name))

    def load_cell(self, name: str) -> None:
        """The cell itself."""
        self.instr("LOAD_CLOSURE" if VERSION < (3, 13) else "LOAD_FAST", Cell(name))

    def load_global(self, name: str) -> None:
        self.instr("LOAD_GLOBAL", (False, name))

    def store_global(self, name: str) -> None:
        self.instr("STORE_GLOBAL", name)

    def delete_global(self, name: str) -> None:
        self.instr("DELETE_GLOBAL", name)

    def load_attr(self, name: str) -> None:
        self.instr("LOAD_ATTR", name if VERSION < (3, 12) else (False, name))

    def store_attr(self, name: str) -> None:
        """value, object →"""
        self.instr("STORE_ATTR", name)

    def delete_attr(self, name: str) -> None:
        self.instr("DELETE_ATTR", name)

    def subscript(self) -> None:
        """object, key → object[key]"""
        if VERSION < (3, 14):
            self.instr("BINARY_SUBSCR")
        else:
            self.instr("BINARY_OP", SUBSCRIPT)

    def store_subscript(self) -> None:
        """value, object, key →"""
        self.instr("STORE_SUBSCR")

    def build(self, kind: str, n: int) -> None:
        """A tuple, list, set, string or slice of the n top values; a dict of n pairs."""
        self.instr({"dict": "BUILD_MAP", "str": "BUILD_STRING"}.get(kind, f"BUILD_{kind.upper()}"), n)

    # -------------------------------------------------------------------------------------- calls
    def call(self, function: Callable[[], Any], args: list[Callable[[], Any]], kwargs=()) -> None:
        """function(*args, **kwargs): each given as a thunk that pushes it; kwargs are pairs (name, thunk)."""
        if VERSION < (3, 13):
            self.instr("PUSH_NULL")
            function()
        else:
            function()
            self.instr("PUSH_NULL")
        for push in args:
            push()
        for _, push in kwargs:
            push()
        n = len(args) + len(kwargs)
        names = tuple(name for name, _ in kwargs)
        if names and VERSION >= (3, 13):
            self.instr("LOAD_CONST", names)
            self.instr("CALL_KW", n)
            return
        if names:
            self.instr("KW_NAMES", names)
        if VERSION < (3, 12):
            self.instr("PRECALL", n)
        self.instr("CALL", n)

    def call_function(self, function: Any, push_args: Callable[[], Any], n: int) -> None:
        """Call a known function on n values, which one thunk pushes."""
        self.call(lambda: self.load_const(function), [push_args, *[_nothing] * (n - 1)] if n else [])

    def make_function(self, code: Any, cells: tuple[str, ...]) -> None:
        """A function of `code` in this frame's globals whose closure is this frame's cells of these names."""
        if cells:
            for name in cells:
                self.load_cell(name)
            self.instr("BUILD_TUPLE", len(cells))
        self.instr("LOAD_CONST", code)
        if VERSION < (3, 13):
            self.instr("MAKE_FUNCTION", 8 if cells else 0)
            return
        self.instr("MAKE_FUNCTION")
        if cells:
            self.instr("SET_FUNCTION_ATTRIBUTE", 8)

    # -------------------------------------------------------------------------------------- control
    def pop(self) -> None:
        self.instr("POP_TOP")

    def push_null(self) -> None:
        self.instr("PUSH_NULL")

    def return_value(self) -> None:
        self.instr("RETURN_VALUE")

    def jump(self, label: Label, backward: bool = False) -> None:
        self.instr("JUMP_BACKWARD" if backward else "JUMP_FORWARD", label)

    def jump_if_false(self, label: Label) -> None:
        """Forward, if the bool on the stack is False."""
        self.instr("POP_JUMP_FORWARD_IF_FALSE" if VERSION < (3, 12) else "POP_JUMP_IF_FALSE", label)

    def is_(self, negated: bool = False) -> None:
        """left, right → left is right"""
        self.instr("IS_OP", int(negated))


def _nothing() -> None:
    pass


def _is_plain(value: Any) -> bool:
    cls = type(value)
    return cls in _PLAIN or cls is _CODE or (cls is tuple and all(map(_is_plain, value)))
