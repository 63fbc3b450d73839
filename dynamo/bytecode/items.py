"""What lists of instructions are made of: instructions, labels, and the ends of protected ranges."""

from __future__ import annotations

from typing import Any


class Label:
    """A place in a list of instructions: that of the next one behind it."""

    __slots__ = ()


class Cell(str):
    """The name of a variable in a cell: one of the frame's own or one that comes by its closure."""

    __slots__ = ()


class Instr:
    """An instruction: its name, its argument as a value (a name, a Cell, a constant, a Label, a number), its location (a line
    or None, or the four numbers of `co_positions`)."""

    __slots__ = ("name", "arg", "location")

    def __init__(self, name: str, arg: Any = 0, location: Any = None):
        self.name = name
        self.arg = arg
        self.location = location

    @property
    def line(self) -> int | None:
        return self.location[0] if type(self.location) is tuple else self.location

    def __repr__(self):
        return f"{type(self).__name__}({self.name}, {self.arg!r})"


class Copied(Instr):
    """An instruction of a code object that stands in another: a number as argument means what it means in the first."""

    __slots__ = ()


class TryBegin:
    """What stands from here to the TryEnd of it is protected by the handler at `target`, which finds `stack_depth` values on
    the stack, below `lasti` (if `push_lasti`) and the exception. Such ranges do not overlap."""

    __slots__ = ("target", "push_lasti", "stack_depth")

    def __init__(self, target: Label, push_lasti: bool, stack_depth: int):
        self.target = target
        self.push_lasti = push_lasti
        self.stack_depth = stack_depth


class TryEnd:
    __slots__ = ("entry",)

    def __init__(self, entry: TryBegin):
        self.entry = entry
