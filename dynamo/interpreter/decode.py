"""Code objects as the interpreter reads them: instructions with their rules, jump targets, handler ranges.

Decoded once per code object and kept as long as it lives.
"""

from __future__ import annotations

import dis
import sys
import types
import weakref
from bisect import bisect_right

from dynamo.graph_break import Place

VERSION = sys.version_info[:2]
HANDLERS: dict[str, object] = {}

_HAS_JUMP = frozenset(dis.hasjrel) | frozenset(dis.hasjabs)


def opcode(*names: str, since: tuple[int, int] = (3, 11), until: tuple[int, int] = (3, 13)):
    """Declare the rule of opcodes: rule(frame, inst). `since` and `until` are the Python versions it holds for."""

    def declare(rule):
        if since <= VERSION <= until:
            for name in names:
                if name in HANDLERS:
                    raise ValueError(f"two rules for {name}")
                HANDLERS[name] = rule
        return rule

    return declare


class Inst:
    """One instruction. `arg` is the raw argument, `value` what it names (a constant, a name), `target` the index of the
    instruction jumped to."""

    __slots__ = ("name", "arg", "value", "target", "offset", "run")

    def __init__(self, name, arg, value, target, offset, run):
        self.name = name
        self.arg = arg
        self.value = value
        self.target = target
        self.offset = offset
        self.run = run

    def __repr__(self):
        return f"{self.offset} {self.name} {self.value!r}"


class Decoded:
    """The instructions of a code object; `handlers` are (first, last + 1, target, depth, push lasti), by index."""

    __slots__ = ("instructions", "index", "handlers", "_lines", "__weakref__")

    def __init__(self, code: types.CodeType):
        found = [i for i in dis.get_instructions(code) if i.opname not in ("CACHE", "EXTENDED_ARG")]
        starts = [i.offset for i in found]
        self.index: dict[int, int] = {}
        previous = 0
        for n, offset in enumerate(starts):  # an EXTENDED_ARG before an instruction leads to it
            for o in range(previous, offset + 1, 2):
                self.index[o] = n
            previous = offset + 2
        self.instructions = [self._inst(code, i) for i in found]
        self.handlers = [
            (self._at(starts, e.start), self._at(starts, e.end), self.index[e.target], e.depth, e.lasti)
            for e in dis._parse_exception_table(code)  # type: ignore[attr-defined]
        ]
        self._lines: tuple[list, list] | None = None

    @staticmethod
    def _at(starts: list[int], offset: int) -> int:
        """The index of the first instruction at or after `offset`."""
        lo = bisect_right(starts, offset)
        return lo - 1 if lo and starts[lo - 1] == offset else lo

    def _inst(self, code, i) -> Inst:
        target = self.index[i.argval] if i.opcode in _HAS_JUMP else None
        value = code.co_consts[i.arg] if i.opname == "KW_NAMES" else i.argval
        return Inst(i.opname, i.arg, value, target, i.offset, HANDLERS.get(i.opname, unknown))

    def line(self, code: types.CodeType, offset: int) -> int:
        """The source line of the instruction at `offset`."""
        if self._lines is None:
            rows = [(start, line) for start, _, line in code.co_lines() if line is not None]
            self._lines = ([r[0] for r in rows], [r[1] for r in rows])
        starts, lines = self._lines
        at = bisect_right(starts, offset) - 1
        return lines[at] if at >= 0 else code.co_firstlineno

    def place(self, code: types.CodeType, offset: int) -> Place:
        """File, line, function and columns of the instruction at `offset`."""
        columns = None
        for n, position in enumerate(code.co_positions()):
            if n * 2 == offset:
                columns = position
                break
        return Place(code.co_filename, self.line(code, offset), code.co_qualname, columns)


def unknown(frame, inst) -> None:
    from dynamo import graph_break

    raise graph_break.Unsupported(graph_break.UNKNOWN_OPCODE, inst.name)


_by_id: dict[int, tuple] = {}


def decode(code: types.CodeType) -> Decoded:
    """The decoded form of `code`. Equal code objects may differ in position, so they are told apart by identity."""
    entry = _by_id.get(id(code))
    if entry is not None and entry[0]() is code:
        return entry[1]
    decoded = Decoded(code)
    key = id(code)
    _by_id[key] = (weakref.ref(code, lambda _: _by_id.pop(key, None)), decoded)
    return decoded
