"""The instructions of a code object as plain data, for analyses: targets as indices, handlers, stack depths."""

from __future__ import annotations

import dis
import types
from typing import NamedTuple

from .. import _eval_frame

JUMPS = frozenset(dis.opname[op] for op in (*dis.hasjrel, *dis.hasjabs))
# Control never goes on to the next instruction.
ENDS = frozenset(("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"))
UNCONDITIONAL = frozenset(("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_NO_INTERRUPT", "JUMP"))


class Instruction(NamedTuple):
    """`index` counts instructions without caches and extended arguments, as the bytecode library's lists do."""

    index: int
    offset: int
    name: str
    opcode: int
    arg: int | None
    value: object  # what the argument names
    target: int | None  # index jumped to
    line: int | None


class Handler(NamedTuple):
    """Instructions first .. last - 1 are protected by the one at `target`."""

    first: int
    last: int
    target: int
    depth: int
    lasti: bool


class Decoded:
    """A code object taken apart. `index_of` maps byte offsets to indices."""

    def __init__(self, code: types.CodeType):
        raw = [i for i in dis.get_instructions(code) if i.opname not in ("CACHE", "EXTENDED_ARG")]
        self.code = code
        self.index_of: dict[int, int] = {}
        start = 0
        for n, i in enumerate(raw):  # an extended argument's offset means the instruction it belongs to
            for offset in range(start, i.offset + 2, 2):
                self.index_of[offset] = n
            start = i.offset + 2
        self.end_offset = start
        self.instructions: list[Instruction] = []
        for n, i in enumerate(raw):
            target = self.index_of[i.argval] if i.opname in JUMPS else None
            line = i.positions.lineno if i.positions else None
            self.instructions.append(Instruction(n, i.offset, i.opname, i.opcode, i.arg, i.argval, target, line))
        self.handlers = self._read_handlers(code)
        self._depths: list[int | None] | None = None

    def _read_handlers(self, code: types.CodeType) -> list[Handler]:
        n = len(self.instructions)
        found = []
        for entry in dis.Bytecode(code).exception_entries:  # type: ignore[attr-defined]
            first = self.index_of[entry.start]
            last = self.index_of.get(entry.end, n)
            found.append(Handler(first, last, self.index_of[entry.target], entry.depth, entry.lasti))
        return found

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
        if inst.target is not None:
            found.append(inst.target)
        return found

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
                if inst.target is not None:
                    pending.append((inst.target, depth + self.effect(index, True)))
                if inst.name in ENDS or inst.name in UNCONDITIONAL:
                    break
                depth += self.effect(index, False)
                index += 1
        return depths[:-1]


def decode(code: types.CodeType) -> Decoded:
    """Decoded(code), made once and kept as long as the code object lives."""
    record = _eval_frame.record(code)
    found = record.get("decoded")
    if found is None:
        found = record["decoded"] = Decoded(code)
    return found
