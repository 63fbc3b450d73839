"""The instructions of a code object as plain data: targets as indices, handlers, lines, stack depths.

Read once, for the symbolic interpreter, the analyses and the writers of bytecode alike. `dis` makes an object with a
printed form of every argument; the bytes are read natively (eval_frame/instructions.cpp), which first calls feel.
"""

from __future__ import annotations

import dis
import opcode
import sys
import types
from typing import Any, NamedTuple

from aten.scalar.unpatched import itertools

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
SUBSCRIPT = next((i for i, (name, _) in enumerate(opcode._nb_ops) if name == "NB_SUBSCR"), -1)  # type: ignore[attr-defined]  # 3.14
UNCONDITIONAL = frozenset(("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_NO_INTERRUPT", "JUMP"))


class Instruction(NamedTuple):
    """`index` counts instructions without caches and extended arguments."""

    index: int
    offset: int
    name: str
    opcode: int
    arg: int
    value: Any  # what the argument names: a constant, a name (a pair of them for two locals), an operator; else None
    target: int  # index jumped to, -1 if the instruction does not jump
    line: int  # that of the instruction before, where the compiler gave none


class Handler(NamedTuple):
    """Instructions first .. last - 1 are protected by the one at `target`."""

    first: int
    last: int
    target: int
    depth: int
    lasti: bool


_TABLES = {"consts": 0, "names": 1, "slots": 2, "comparisons": 3, "common": 4, "special": 5}  # what arguments name items of
_NOTHING, _ITSELF, _TWO_SLOTS, _ITEM = range(4)  # `Names` of eval_frame/instructions.cpp


def _opcodes() -> tuple:
    """What eval_frame/instructions.cpp knows of opcodes: their names; what the argument names, of which table, behind how many
    bits; whether they jump (2: backward); those that are no instructions."""
    named, of, shift = bytearray(256), bytearray(256), bytearray(256)

    def declare(ops: Any, table: str, bits: int = 0) -> None:
        for op in ops:
            if op < 256:
                named[op], of[op], shift[op] = _ITEM, _TABLES[table], bits

    declare(dis.hasconst, "consts")
    declare(dis.hasname, "names")
    declare((*dis.haslocal, *dis.hasfree), "slots")
    declare(dis.hascompare, "comparisons", {(3, 11): 0, (3, 12): 4}.get(VERSION, 5))
    shifted = {"LOAD_GLOBAL": 1} | ({"LOAD_ATTR": 1, "LOAD_SUPER_ATTR": 2} if VERSION >= (3, 12) else {})
    for name, bits in shifted.items():  # bits below the index of the name
        declare([dis.opmap[name]], "names", bits)
    for op, name in enumerate(NAMES[:256]):
        if name in ("LOAD_FAST_LOAD_FAST", "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST"):
            named[op], of[op] = _TWO_SLOTS, _TABLES["slots"]
    if "KW_NAMES" in dis.opmap:
        declare([dis.opmap["KW_NAMES"]], "consts")
    if VERSION >= (3, 14):
        named[dis.opmap["LOAD_SMALL_INT"]] = _ITSELF
        declare([dis.opmap["LOAD_COMMON_CONSTANT"]], "common")
        declare([dis.opmap["LOAD_SPECIAL"]], "special")
    jumps = bytes([2 if op in BACKWARD else op in JUMPS for op in range(256)])
    return tuple(NAMES[:256]), bytes(named), bytes(of), bytes(shift), jumps, CACHE, EXTENDED_ARG


OPCODES = _opcodes()
COMMON = tuple(getattr(dis, "_common_constants", ()))
SPECIAL = tuple(getattr(dis, "_special_method_names", ()))
COMPARISONS = tuple(dis.cmp_op)
REAL = bytes(opcode not in (CACHE, EXTENDED_ARG) for opcode in range(256))


_WITH = ["COPY", "LOAD_SPECIAL", "SWAP", "SWAP", "LOAD_SPECIAL", "CALL"]


class Decoded:
    """A code object taken apart."""

    def __init__(self, code: types.CodeType):
        raw = self._raw = code.co_code
        slots = code.co_varnames
        if code.co_cellvars or code.co_freevars:
            slots = (*slots, *(c for c in code.co_cellvars if c not in slots), *code.co_freevars)
        tables = (code.co_consts, code.co_names, slots, COMPARISONS, COMMON, SPECIAL)
        self.instructions: list[Instruction]
        self.handlers: list[Handler]
        self.instructions, self.handlers = _eval_frame.decoded(Instruction, Handler, code, raw, tables, OPCODES)
        self._index_of: dict[int, int] | None = None
        self._depths: list[int | None] | None = None
        self._joined: frozenset[int] | None = None

    def __len__(self) -> int:
        return len(self.instructions)

    @property
    def index_of(self) -> dict[int, int]:
        """Byte offset → index. A cache or an extended argument means the instruction behind it."""
        if self._index_of is None:
            real = itertools.accumulate(self._raw[::2].translate(REAL), initial=0)
            self._index_of = dict(zip(range(0, len(self._raw) + 2, 2), real))
        return self._index_of

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
