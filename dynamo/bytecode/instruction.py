"""The instructions of a code object as plain data: targets as indices, handlers, lines, stack depths.

Read once, for the symbolic interpreter, the analyses and the writers of bytecode alike. `dis` makes an object with a
printed form of every argument; reading the bytes here takes a third of the time, which first calls feel.
"""

from __future__ import annotations

import dis
import functools
import itertools
import sys
import types
from collections.abc import Callable
from typing import Any, NamedTuple

from .. import _eval_frame

VERSION = sys.version_info[:2]
CACHE, EXTENDED_ARG = dis.opmap["CACHE"], dis.opmap["EXTENDED_ARG"]
# (END_ASYNC_FOR names a target from 3.14 on, for monitoring alone.)
JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs)).difference([dis.opmap["END_ASYNC_FOR"]])
BACKWARD = frozenset(op for op in JUMPS if "BACKWARD" in dis.opname[op])
# Control never goes on to the next instruction.
ENDS = frozenset(("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"))
# Opcodes of 3.14 that differ from others in who counts the references, which only the evaluator looks at: read as those.
PLAIN = {"LOAD_FAST_BORROW": "LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW": "LOAD_FAST_LOAD_FAST"}
NAMES = [PLAIN.get(name, name) for name in dis.opname]
# Whether what a handler with `lasti` finds below the exception is an object. In 3.14 it is a tagged number, which no variable
# can hold: an empty place stands for it, and nothing is lost but the line that a frame shows while it is left (RERAISE).
LASTI_IS_OBJECT = VERSION < (3, 14)
HAS_DOCSTRING = 0x4000000  # flag: the first constant is the docstring (3.14); not so of code that is made here
UNCONDITIONAL = frozenset(("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_NO_INTERRUPT", "JUMP"))


class Instruction(NamedTuple):
    """`index` counts instructions without caches and extended arguments, as the bytecode library's lists do."""

    index: int
    offset: int
    name: str
    opcode: int
    arg: int
    value: Any  # what the argument names: a constant, a name (a pair of them for two locals), an operator; else None
    target: int  # index jumped to, -1 if the instruction does not jump
    line: int  # that of the instruction before, where the compiler gave none


_instruction = functools.partial(tuple.__new__, Instruction)  # of a tuple of the fields: half the time of the class


class Handler(NamedTuple):
    """Instructions first .. last - 1 are protected by the one at `target`."""

    first: int
    last: int
    target: int
    depth: int
    lasti: bool


def _readers() -> dict[int, Callable[[types.CodeType, tuple[str, ...], int], Any]]:
    """What the argument of an opcode names: reader(code, names of the slots of locals and cells, argument)."""
    shifts = {"LOAD_GLOBAL": 1}  # bits below the index of the name
    if VERSION >= (3, 12):
        shifts |= {"LOAD_ATTR": 1, "LOAD_SUPER_ATTR": 2}
    compared = {(3, 11): 0, (3, 12): 4}.get(VERSION, 5)
    found: dict[int, Callable[[types.CodeType, tuple[str, ...], int], Any]] = {}
    for op in dis.hasconst:
        found[op] = lambda code, slots, arg: code.co_consts[arg]
    for op in dis.hasname:
        found[op] = lambda code, slots, arg, shift=shifts.get(dis.opname[op], 0): code.co_names[arg >> shift]
    for op in (*dis.haslocal, *dis.hasfree):
        found[op] = lambda code, slots, arg: slots[arg]
    for op, name in enumerate(NAMES):
        if name in ("LOAD_FAST_LOAD_FAST", "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST"):
            found[op] = lambda code, slots, arg: (slots[arg >> 4], slots[arg & 15])
    for op in dis.hascompare:
        found[op] = lambda code, slots, arg: dis.cmp_op[arg >> compared]
    if "KW_NAMES" in dis.opmap:
        found[dis.opmap["KW_NAMES"]] = lambda code, slots, arg: code.co_consts[arg]
    if VERSION >= (3, 14):
        found[dis.opmap["LOAD_SMALL_INT"]] = lambda code, slots, arg: arg
        found[dis.opmap["LOAD_COMMON_CONSTANT"]] = lambda code, slots, arg: dis._common_constants[arg]  # type: ignore[attr-defined]
        found[dis.opmap["LOAD_SPECIAL"]] = lambda code, slots, arg: dis._special_method_names[arg]  # type: ignore[attr-defined]
    return found


_found = _readers()
READERS = [_found.get(opcode) for opcode in range(256)]
REAL = bytes(opcode not in (CACHE, EXTENDED_ARG) for opcode in range(256))


def _lines(code: types.CodeType) -> list[int]:
    """The source line of each unit of two bytes; what has none has that of the unit before."""
    found: list[int] = []
    line = code.co_firstlineno
    for start, end, given in code.co_lines():
        line = given or line
        found += [line] * ((end - start) // 2)
    return found


def _jump(raw: bytes, offset: int, distance: int) -> int:
    """The offset that the jump at `offset` goes to; distances count from behind its caches."""
    offset += 2
    while offset < len(raw) and raw[offset] == CACHE:
        offset += 2
    return offset + 2 * distance


def _extended(opcodes: bytes, arguments: bytes) -> dict[int, int]:
    """What EXTENDED_ARG puts above the arguments of the units behind it."""
    found, high = {}, 0
    for unit, opcode in enumerate(opcodes):
        if opcode == EXTENDED_ARG:
            high = (high | arguments[unit]) << 8
        elif high:
            found[unit], high = high, 0
    return found


_WITH = ["COPY", "LOAD_SPECIAL", "SWAP", "SWAP", "LOAD_SPECIAL", "CALL"]


class Decoded:
    """A code object taken apart. `index_of` maps byte offsets to indices."""

    def __init__(self, code: types.CodeType):
        raw, lines = code.co_code, _lines(code)
        slots = (*code.co_varnames, *(c for c in code.co_cellvars if c not in code.co_varnames), *code.co_freevars)
        opcodes, arguments = raw[::2], raw[1::2]
        real = opcodes.translate(REAL)
        # A cache or an extended argument means the instruction behind it.
        self.index_of: dict[int, int] = dict(zip(range(0, len(raw) + 2, 2), itertools.accumulate(real, initial=0)))
        extended = _extended(opcodes, arguments) if EXTENDED_ARG in opcodes else {}
        self.instructions: list[Instruction] = []
        for index, unit in enumerate(itertools.compress(range(len(opcodes)), real)):
            opcode, arg = opcodes[unit], arguments[unit]
            if unit in extended:
                arg |= extended[unit]
            reader, target = READERS[opcode], -1
            value = None if reader is None else reader(code, slots, arg)
            if opcode in JUMPS:
                target = self.index_of[_jump(raw, 2 * unit, -arg if opcode in BACKWARD else arg)]
            self.instructions.append(_instruction((index, 2 * unit, NAMES[opcode], opcode, arg, value, target, lines[unit])))
        at = self.index_of
        self.handlers = [
            Handler(at[e.start], at[e.end], at[e.target], e.depth, e.lasti)
            for e in dis._parse_exception_table(code)  # type: ignore[attr-defined]
        ]
        self._depths: list[int | None] | None = None
        self._joined: frozenset[int] | None = None

    def __len__(self) -> int:
        return len(self.instructions)

    def handler_of(self, index: int) -> Handler | None:
        for h in self.handlers:
            if h.first <= index < h.last:
                return h
        return None

    def successors(self, index: int) -> list[int]:
        """Indices that control reaches from `index` without an exception: the next one first."""
        inst = self.instructions[index]
        found = [] if inst.name in ENDS or inst.name in UNCONDITIONAL else [index + 1]
        if inst.target >= 0:
            found.append(inst.target)
        return found

    @property
    def joined(self) -> frozenset[int]:
        """Indices of the instructions that make one step with the one before, which a break takes as a whole: those of a call
        that KW_NAMES or PRECALL begins, and of the beginning of a `with` (one instruction before 3.14)."""
        if self._joined is None:
            names = [i.name for i in self.instructions]
            found = {i + 1 for i, name in enumerate(names) if name in ("KW_NAMES", "PRECALL")}
            for i, inst in enumerate(self.instructions):
                if inst.name == "LOAD_SPECIAL" and names[i - 1 : i + 5] == _WITH:
                    found.update(range(i, i + 5))
            self._joined = frozenset(found)
        return self._joined

    def body(self) -> int:
        """Index of the first instruction after RESUME (and what precedes it: cells, free variables)."""
        for inst in self.instructions:
            if inst.name == "RESUME":
                return inst.index + 1
        return 0

    def effect(self, index: int, jump: bool) -> int:
        """How much the instruction changes the depth of the stack."""
        inst = self.instructions[index]
        arg = inst.arg if inst.opcode >= dis.HAVE_ARGUMENT else None
        return dis.stack_effect(inst.opcode, arg, jump=jump)

    def step(self, index: int) -> tuple[int, int]:
        """(first, last) of the instructions that make one step."""
        first = last = index
        while last + 1 in self.joined:
            last += 1
        while first in self.joined:
            first -= 1
        return first, last

    def callee(self, index: int) -> int | None:
        """The place in the stack of what the instruction calls, with the place for `self` beside; None if it is no call."""
        first, last = self.step(index)
        depth = self.depths[first]
        if depth is None or self.instructions[last].name not in ("CALL", "CALL_KW"):
            return None
        return depth + sum(self.effect(i, False) for i in range(first, last + 1)) - 1

    @property
    def depths(self) -> list[int | None]:
        """The depth of the stack before each instruction; None where control never comes."""
        if self._depths is None:
            self._depths = self._compute_depths()
        return self._depths

    def _compute_depths(self) -> list[int | None]:
        depths: list[int | None] = [None] * (len(self.instructions) + 1)
        pending = [(0, 0)]
        while pending:
            index, depth = pending.pop()
            while index < len(self.instructions) and depths[index] is None:
                depths[index] = depth
                inst = self.instructions[index]
                handler = self.handler_of(index)
                if handler is not None:
                    pending.append((handler.target, handler.depth + 1 + handler.lasti))
                if inst.target >= 0:
                    pending.append((inst.target, depth + self.effect(index, True)))
                if inst.name in ENDS or inst.name in UNCONDITIONAL:
                    break
                depth += self.effect(index, False)
                index += 1
        return depths[:-1]


def decode(code: types.CodeType) -> Decoded:
    """Decoded(code), made once and kept as long as the code object lives (which it must not refer to)."""
    record = _eval_frame.record(code)
    found = record.get("decoded")
    if found is None:
        found = record["decoded"] = Decoded(code)
    return found
