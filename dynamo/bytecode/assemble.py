"""Code objects taken apart into lists of instructions and put together again.

A copied instruction keeps its argument as a number: the tables of new code (constants, names, locals) begin with those of
the old, so that most numbers stay true. Only slots move, which one table says. The bytes are written natively
(eval_frame/encode.cpp), for each compilation waits for them.
"""

from __future__ import annotations

import dis
import opcode
import types
from typing import Any

from .. import _eval_frame
from .emit import Emitter
from .implicit import bare_supers
from .instruction import BACKWARD, CACHE, EXTENDED_ARG, HAS_DOCSTRING, LASTI_IS_OBJECT, VERSION, decode
from .items import Cell, Copied, Instr, Label, TryBegin, TryEnd
from .liveness import cells_assigned

UNBOUND_LOCAL = "cannot access local variable '{}' where it is not associated with a value"
STACK_MARGIN = 16  # for what is put around copied instructions, beyond the values it pushes

_entries: Any = opcode._inline_cache_entries  # type: ignore[attr-defined]  # by opcode (3.11, 3.12) or by name
_CACHES = bytes(
    (_entries.get(dis.opname[op], 0) if isinstance(_entries, dict) else _entries[op]) if op < len(dis.opname) else 0
    for op in range(256)
)
_ENCODING = (_CACHES, bytes(op in BACKWARD for op in range(256)), CACHE, EXTENDED_ARG)
_MOVES = frozenset(dis.opname[op] for op in (*dis.haslocal, *dis.hasfree))  # the argument is a slot
_CONSTS = frozenset([*(dis.opname[op] for op in dis.hasconst), "KW_NAMES"])
# Instructions of two locals (Python 3.13), as the two that they stand for; they have four bits for each.
PAIRS = {
    "LOAD_FAST_LOAD_FAST": ("LOAD_FAST", "LOAD_FAST"),
    "STORE_FAST_LOAD_FAST": ("STORE_FAST", "LOAD_FAST"),
    "STORE_FAST_STORE_FAST": ("STORE_FAST", "STORE_FAST"),
}


class Copy:
    """A copy of the instructions of `code`.

    `items[position[i]]` is the instruction that `decode(code)` numbers i.
    """

    def __init__(self, code: types.CodeType):
        record = _eval_frame.record(code)
        found = record.get("items")
        if found is None:
            found = record["items"] = _items(code)
        self.items: list = found[0].copy()
        self.position: list[int] = found[1].copy()
        self._spell_out_supers(code)

    def _spell_out_supers(self, code: types.CodeType) -> None:
        """super() looks for its arguments in the frame, where a function that continues another has them elsewhere."""
        decoded = decode(code)
        for index in bare_supers(code, decoded):
            item, around = self.items[self.position[index]], self._range_around(index)
            first = code.co_varnames[0]
            loads = (
                (
                    Instr("LOAD_DEREF", Cell(first), item.location)
                    if first in code.co_cellvars
                    else Instr("LOAD_FAST" if VERSION < (3, 12) else "LOAD_FAST_CHECK", first, item.location),
                    "super(): arg[0] deleted",
                ),
                (Instr("LOAD_DEREF", Cell("__class__"), item.location), "super(): empty __class__ cell"),
            )
            depth = decoded.depths[index]
            if depth is None:
                continue  # it is never reached
            new = [item for i, (load, text) in enumerate(loads) for item in _loaded_or_refused(load, depth + i, text, around)]
            new.append(Instr("SWAP", 2, item.location))
            call = Instr(item.name, 2, item.location)
            self.replace(index, [*new, call] if around is None else self._cut(around, new, call))
            if item.name == "PRECALL":
                after = self.items[self.position[index + 1]]
                self.replace(index + 1, [Instr(after.name, 2, after.location)])

    def spell_out_cells(self, code: types.CodeType) -> None:
        """A variable of the function's own that has no value is told as a local one, though its cell now comes by the closure."""
        decoded = decode(code)
        read = [i for i in decoded.instructions if i.name in ("LOAD_DEREF", "DELETE_DEREF") and i.value in code.co_cellvars]
        known = cells_assigned(code, decoded) if read else []
        for inst in read:
            assigned, depth, around = known[inst.index], decoded.depths[inst.index], self._range_around(inst.index)
            if assigned is None or inst.value in assigned or depth is None:
                continue
            item, text = self.items[self.position[inst.index]], UNBOUND_LOCAL.format(inst.value)
            new = _loaded_or_refused(Instr(item.name, Cell(inst.value), item.location), depth, text, around, UnboundLocalError)
            self.replace(inst.index, new if around is None else self._cut(around, new, Instr("NOP", 0, item.location)))

    def _range_around(self, index: int) -> TryBegin | None:
        """The protected range in which an instruction stands."""
        for item in reversed(self.items[: self.position[index]]):
            if isinstance(item, TryBegin | TryEnd):
                return item if isinstance(item, TryBegin) else None
        return None

    def _cut(self, around: TryBegin, unprotected: list, rest: Instr) -> list:
        """Instructions that a protected range leaves out, and the first of those with which it goes on."""
        begin = _again(around)
        at = next(i for i, item in enumerate(self.items) if isinstance(item, TryEnd) and item.entry is around)
        self.items[at] = TryEnd(begin)
        return [TryEnd(around), *unprotected, begin, rest]

    def label_before(self, index: int) -> Label:
        """A label in front of instruction `index`."""
        label = Label()
        self.insert(index, [label])
        return label

    def insert(self, index: int, items: list) -> None:
        """Put `items` in front of instruction `index` (behind the labels that stand before it)."""
        at = self.position[index]
        self.items[at:at] = items
        for i in range(index, len(self.position)):
            self.position[i] += len(items)

    def insert_after(self, index: int, items: list) -> None:
        at = self.position[index] + 1
        self.items[at:at] = items
        for i in range(index + 1, len(self.position)):
            self.position[i] += len(items)

    def replace(self, index: int, items: list) -> None:
        """Put `items` in the place of instruction `index`; its position is then that of the first of them."""
        at = self.position[index]
        self.items[at : at + 1] = items
        for i in range(index + 1, len(self.position)):
            self.position[i] += len(items) - 1


def _again(around: TryBegin) -> TryBegin:
    return TryBegin(around.target, around.push_lasti, around.stack_depth)


def _loaded_or_refused(load: Instr, depth: int, text: str, around: TryBegin | None, error: type = RuntimeError) -> list:
    """Load a variable (or delete it); where it has no value, raise error(text) within the range `around`, as super() would."""
    e = Emitter(line=load.location)
    unset, loaded = Label(), Label()
    begin = TryBegin(unset, False, depth)
    e.out += [begin, load, TryEnd(begin)]
    e.jump(loaded)
    e.label(unset)
    e.instr("PUSH_EXC_INFO")
    e.pop()
    e.instr("POP_EXCEPT")
    protected = None if around is None else _again(around)
    e.out += [protected] if protected else []
    e.call_function(error, lambda: e.load_const(text), 1)
    e.instr("RAISE_VARARGS", 1)
    e.out += [TryEnd(protected)] if protected else []
    e.label(loaded)
    return e.out


def _items(code: types.CodeType) -> tuple[list, list[int]]:
    """The instructions of `code` with labels and ranges, and where each stands. Of Python 3.14: a copy owns what it loads (the
    compiler borrows where it saw that the local outlives the value, in its own code)."""
    decoded = decode(code)
    positions = list(code.co_positions())
    labels: dict[int, Label] = {}
    for i in decoded.instructions:
        if i.target >= 0 and i.target not in labels:
            labels[i.target] = Label()
    begins: dict[int, TryBegin] = {}
    ends: dict[int, TryBegin] = {}
    for h in decoded.handlers:
        if h.first < h.last:
            begin = TryBegin(labels.setdefault(h.target, Label()), h.lasti, h.depth)
            begins[h.first] = ends[h.last] = begin
    items: list = []
    position: list[int] = []
    for index, offset, name, _, arg, _, target, _ in decoded.instructions:
        if index in ends:
            items.append(TryEnd(ends[index]))
        if index in labels:
            items.append(labels[index])
        if index in begins:
            items.append(begins[index])
        position.append(len(items))
        if name == "LOAD_SUPER_ATTR":  # (3.12 and later) bit 1: its arguments are on the stack, not to be looked for
            arg |= 2
        elif name == "RERAISE" and not LASTI_IS_OBJECT:
            arg = 0
        items.append(Copied(name, labels[target] if target >= 0 else arg, positions[offset // 2]))
    n = len(decoded)
    if n in ends:
        items.append(TryEnd(ends[n]))
    if n in labels:
        items.append(labels[n])
    return items, position


class _Tables:
    """What the arguments of new instructions are looked up in: constants and names of `code` first, then what they bring."""

    def __init__(self, code: types.CodeType, varnames: list[str], cellvars: tuple[str, ...], freevars: tuple[str, ...]):
        self.consts: list = list(code.co_consts)
        self.names = {name: i for i, name in enumerate(code.co_names)}
        self.varnames = {name: i for i, name in enumerate(varnames)}
        self.cellvars, self.freevars = cellvars, freevars
        self._const_at = {id(value): i for i, value in enumerate(self.consts)}
        self._cells: dict[str, int] | None = None

    def add_locals(self, items: list) -> None:
        """Locals that only new instructions have come behind the others: all slots are known then."""
        for item in items:
            if type(item) is Instr and type(item.arg) is str and item.name in _MOVES:
                self.varnames.setdefault(item.arg, len(self.varnames))
        cells = [c for c in self.cellvars if c not in self.varnames]
        behind = len(self.varnames) + len(cells)
        self._cells = {c: len(self.varnames) + i for i, c in enumerate(cells)}
        self._cells |= {c: self.varnames[c] for c in self.cellvars if c in self.varnames}
        self._cells |= {c: behind + i for i, c in enumerate(self.freevars)}

    def slot_of(self, cell: str) -> int:
        assert self._cells is not None
        return self._cells[cell]

    def slots_of(self, code: types.CodeType) -> list[int]:
        """For each slot of `code`, where it is now."""
        own = frozenset(code.co_cellvars)
        # (An argument in a cell has one slot; it is a cell here, or comes by the closure.)
        slots = [self.slot_of(v) if v in own else self.varnames[v] for v in code.co_varnames]
        others = [c for c in code.co_cellvars if c not in code.co_varnames]
        return slots + [self.slot_of(c) for c in (*others, *code.co_freevars)]

    def number(self, item: Instr) -> int:
        """The argument of a new instruction."""
        name, arg = item.name, item.arg
        cls = type(arg)
        if name in _CONSTS:
            return self._const(arg)
        if cls is Cell:
            return self.slot_of(arg)
        if cls is str:
            return self.varnames[arg] if name in _MOVES else self._name(arg)
        if cls is tuple:  # whether NULL is pushed beside
            return self._name(arg[1]) << 1 | arg[0]
        return int(arg)

    def _const(self, value: Any) -> int:
        found = self._const_at.get(id(value))
        if found is None:
            found = self._const_at[id(value)] = len(self.consts)
            self.consts.append(value)
        return found

    def _name(self, name: str) -> int:
        return self.names.setdefault(name, len(self.names))


def _resolved(code: types.CodeType, items: list, tables: _Tables) -> tuple[list, list]:
    """(opcode, argument, index jumped to or -1, location) of each instruction, and the handlers of protected ranges."""
    tables.add_locals(items)
    slots = tables.slots_of(code)
    moved = slots != list(range(len(slots)))
    out: list = []
    at: dict[Label, int] = {}
    begun: dict[TryBegin, int] = {}
    handlers: list = []
    opmap = dis.opmap
    for item in items:
        cls = type(item)
        if cls is Copied:
            name, arg = item.name, item.arg
            if type(arg) is Label:
                out.append((opmap[name], 0, arg, item.location))
            elif not moved or name not in _MOVES:
                out.append((opmap[name], arg, None, item.location))
            elif name in PAIRS:
                pair = slots[arg >> 4], slots[arg & 15]
                if max(pair) < 16:
                    out.append((opmap[name], pair[0] << 4 | pair[1], None, item.location))
                else:
                    out += [(opmap[n], slot, None, item.location) for n, slot in zip(PAIRS[name], pair)]
            else:
                out.append((opmap[name], slots[arg], None, item.location))
        elif cls is Instr:
            arg = item.arg
            if type(arg) is Label:
                out.append((opmap[item.name], 0, arg, item.location))
            else:
                out.append((opmap[item.name], tables.number(item), None, item.location))
        elif cls is Label:
            at[item] = len(out)
        elif cls is TryBegin:
            begun[item] = len(out)
        elif begun[item.entry] < len(out):
            begin = item.entry
            handlers.append((begun[begin], len(out), begin.target, begin.stack_depth, begin.push_lasti))
    return (
        [(op, arg, -1 if label is None else at[label], location) for op, arg, label, location in out],
        [(first, last, at[target], depth, lasti) for first, last, target, depth, lasti in handlers],
    )


def assemble_like(code: types.CodeType, items: list, stacksize: int) -> types.CodeType:
    """A code object that can stand in a frame of `code`: same arguments, cells, free variables, flags and names."""
    # Locals of its own behind the others: locals() has its keys in this order.
    tables = _Tables(code, list(code.co_varnames), code.co_cellvars, code.co_freevars)
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
    return _code(code, items, tables, counts, stacksize, code.co_flags & ~HAS_DOCSTRING)


def assemble_function(
    code: types.CodeType, items: list, argnames: list[str], freevars: tuple[str, ...], stacksize: int
) -> types.CodeType:
    """A code object of a function of positional arguments that continues `code`; all cells come by its closure.

    It has the name of `code`, so that tracebacks read as if nothing had been taken apart.
    """
    own = frozenset([*argnames, *code.co_cellvars])
    tables = _Tables(code, [*argnames, *(v for v in code.co_varnames if v not in own)], (), freevars)
    flags = (code.co_flags & ~0x0C & ~HAS_DOCSTRING) | (0x10 if freevars else 0)  # no *args and **kwargs; nested
    return _code(code, items, tables, (len(argnames), 0, 0), stacksize, flags)


def _code(
    code: types.CodeType, items: list, tables: _Tables, counts: tuple[int, int, int], stacksize: int, flags: int
) -> types.CodeType:
    instructions, handlers = _resolved(code, items, tables)
    raw, lines, exceptions = _eval_frame.encoded(instructions, handlers, code.co_firstlineno, _ENCODING)
    return code.replace(
        co_argcount=counts[0],
        co_posonlyargcount=counts[1],
        co_kwonlyargcount=counts[2],
        co_nlocals=len(tables.varnames),
        co_stacksize=stacksize,
        co_flags=flags,
        co_code=raw,
        co_consts=tuple(tables.consts),
        co_names=tuple(tables.names),
        co_varnames=tuple(tables.varnames),
        co_freevars=tables.freevars,
        co_cellvars=tables.cellvars,
        co_linetable=lines,
        co_exceptiontable=exceptions,
    )
