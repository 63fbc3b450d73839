"""The rest of a frame after a graph break, as functions that are captured in their turn.

The frame's new code holds a full copy of the original instructions. It runs up to and including the breaking
instruction there, inside its own try ranges, and then jumps to a *tail* behind all of them, which calls a *resume
function* with the stack and the live locals and returns what that returns. A resume function is again a full copy,
entered at the place after the break; all cells come by its closure.

Inside a loop a tail would nest one frame an iteration. There the resume function is a *segment*: at a jump back to the
head of a loop that encloses the break it returns (stack there, locals…, number of the head), at the function's end
(value, 0), and the tail goes on at that head. The stack at the head (iterators, mostly) is the bottom of the stack at the
break.
"""

from __future__ import annotations

import types
from typing import NamedTuple

from . import _eval_frame
from .bytecode.assemble import STACK_MARGIN, Copy, assemble_function
from .bytecode.emit import Emitter
from .bytecode.handled import ENTERED, handled_slots
from .bytecode.instruction import LASTI_IS_OBJECT, VERSION, Decoded, decode
from .bytecode.items import Instr, Label, TryBegin, TryEnd
from .bytecode.liveness import KEPT, assigned_before, keep_locals, live_before

STACK = "___stack"
HANDLED = "___handled"  # of a function that goes on inside an except block: the exception that the thread is handling
RESULT = "___result"
NOTHING = "___null"
ORIGIN = "copy of"


class _Unbound:
    """Stands for a local that has no value, where locals travel in tuples."""

    def __repr__(self):
        return "<unbound>"


UNBOUND = _Unbound()


class Origin(NamedTuple):
    """Of what a resume function is a copy."""

    code: types.CodeType
    shift: int  # instruction i of the code is instruction i + shift of the copy


class Unresumable(Exception):
    """The frame cannot be continued behind this break: it must run eager as a whole."""


class Point(NamedTuple):
    """A place to go on at: instruction index, the stack there (True for NULL), the live locals.

    Those of `unsure` may have no value: they are handed over as UNBOUND then.
    """

    index: int
    nulls: tuple[bool, ...]
    locals: tuple[str, ...]
    unsure: tuple[str, ...] = ()

    @property
    def sure(self) -> frozenset[str]:
        return frozenset(self.locals).difference(self.unsure)


class Exit(NamedTuple):
    """How a segment comes back to the head of an enclosing loop."""

    number: int
    head: int
    nulls: tuple[bool, ...]
    locals: tuple[str, ...]  # those live at the head, by name
    unsure: frozenset[str]  # of them, those that may have no value

    @property
    def handed(self) -> list[str]:
        """The locals of the tail that it gets: the stack at the head, and the frame's own."""
        return [f"{STACK}{i}" for i, null in enumerate(self.nulls) if not null] + list(self.locals)


# ------------------------------------------------------------------------------------ resume functions
def enclosing_heads(decoded: Decoded, index: int) -> list[int]:
    """Where control, going on from `index`, jumps back to `index` or before: heads of loops around it, outermost first.

    (Not every jump backwards is a loop: except blocks stand at the end of the code and jump back behind their try.)
    """
    heads, seen, pending = set(), set(), [index]
    while pending:
        i = pending.pop()
        if i in seen or i >= len(decoded):
            continue
        seen.add(i)
        handler = decoded.handler_of(i)
        if handler is not None:
            pending.append(handler.target)
        for s in decoded.successors(i):
            if s <= index and s <= i:
                heads.add(s)
            else:
                pending.append(s)
    return sorted(heads)


def exits_of(code: types.CodeType, point: Point) -> list[Exit]:
    decoded = decode(code)
    heads = enclosing_heads(decoded, point.index)
    if not heads:
        return []
    live = live_before(code)
    assigned = assigned_before(decoded, point.index, point.sure)
    exits = []
    for number, head in enumerate(heads, 1):
        depth = decoded.depths[head]
        if depth is None or depth > len(point.nulls):
            raise Unresumable("a loop whose stack is not part of the stack at the break")
        names = tuple(sorted(live[head]))
        sure: frozenset[str] | None = None
        for i in decoded.instructions:
            known = assigned[i.index]
            if i.target == head and i.index >= head and known is not None:
                sure = known if sure is None else sure & known
        exits.append(Exit(number, head, point.nulls[:depth], names, frozenset(names).difference(sure or ())))
    return exits


def resume_code(code: types.CodeType, point: Point, exits: list[Exit]) -> types.CodeType:
    """The resume function's code: arguments are the stack (without NULLs), then the locals. Made once."""
    record = _eval_frame.record(code)
    made = record.setdefault("resume", {})
    found = made.get(point)
    if found is None:
        found = made[point] = _make_resume_code(code, point, exits)
        _eval_frame.continues(found)
        if KEPT in record:
            keep_locals(found)
        record = _eval_frame.record(found)
        record["continues at"] = decode(code).instructions[point.index].line
        shift = _shift(code, found)
        if shift is not None and not exits:
            record[ORIGIN] = Origin(code, shift)
        handled = handled_slots(code)[point.index]
        if handled:
            record[ENTERED] = handled
            record["trace"] = {"handling": HANDLED}
    return found


def changes(code: types.CodeType, argument: str) -> None:
    """A number that stands at an argument of a resume function is another one in each call: a symbol at once."""
    seen = _eval_frame.record(code).setdefault("trace", {}).setdefault("numbers", {})
    seen.update({(argument, int): None, (argument, float): None})  # as of a first call with another one


def _shift(code: types.CodeType, copy: types.CodeType) -> int | None:
    """How much further behind the instructions of `code` stand in its `copy`; None if they are not the same ones there."""
    original, copied = decode(code), decode(copy)
    names = [i.name for i in original.instructions[original.body() :]]
    shift = len(copied) - len(original)
    same = names == [i.name for i in copied.instructions[original.body() + shift :]]
    return shift if same and code.co_cellvars + code.co_freevars == copy.co_freevars else None


def where_paths_join(code: types.CodeType, point: Point) -> tuple[types.CodeType, Point]:
    """The place in the function that the user wrote, if `code` is a plain copy of that one which starts elsewhere.

    Resume functions belong to it then: however control came to a place, through one break or several, what follows is
    captured once. (Else n branches one after the other, each with a break on either side, would make 2^n functions.)
    """
    record = _eval_frame.record(code)
    origin = record.get(ORIGIN)
    if origin is None or KEPT in record or handled_slots(code)[point.index]:
        return code, point
    original, index = origin.code, point.index - origin.shift
    names = original.co_varnames
    if index <= 0 or not set(point.locals) <= set(names) or KEPT in _eval_frame.record(original):
        return code, point
    ordered = [tuple(v for v in names if v in some) for some in (point.locals, point.unsure)]
    return original, Point(index, point.nulls, *ordered)


def _make_resume_code(code: types.CodeType, point: Point, exits: list[Exit]) -> types.CodeType:
    decoded = decode(code)
    copy = Copy(code)
    copy.spell_out_cells(code)
    body = decoded.body()
    free = code.co_cellvars + code.co_freevars
    line = decoded.instructions[point.index].line
    stubs: list = []
    if exits:
        _leave_loops(decoded, copy, point, exits, stubs)
    label = copy.label_before(point.index)
    items = copy.items[copy.position[body - 1] + 1 :]  # behind RESUME
    e = Emitter(freevars=free, line=line)
    if free:
        e.instr("COPY_FREE_VARS", len(free))
    e.instr("RESUME", 0)
    names = []
    for i, null in enumerate(point.nulls):
        if null:
            e.push_null()
            continue
        names.append(f"{STACK}{i}")
        e.instr("LOAD_FAST", names[-1])
    for name in names:
        e.delete_local(name)
    if handled_slots(code)[point.index]:
        e.delete_local(HANDLED)  # only tracing looks at it
    for name in point.unsure:
        forget_unbound(e, name)
    e.jump(label)
    items = e.out + items + stubs
    argnames = names + list(point.locals)
    if handled_slots(code)[point.index]:
        argnames.append(HANDLED)
    extra = STACK_MARGIN + len(point.nulls) + max((len(x.handed) for x in exits), default=0)
    return assemble_function(code, items, argnames, free, code.co_stacksize + extra)


def _leave_loops(decoded: Decoded, copy: Copy, point: Point, exits: list[Exit], stubs: list) -> None:
    """Turn jumps back to enclosing heads, and returns, into returns of a tuple."""
    assigned = assigned_before(decoded, point.index, point.sure)
    by_head = {x.head: x for x in exits}
    for i in reversed(decoded.instructions):
        if assigned[i.index] is None:
            continue  # never reached from the place of resumption
        item = copy.items[copy.position[i.index]]
        if i.target in by_head and i.index >= i.target:
            label = Label()
            copy.replace(i.index, [Instr(forward(item.name), label, item.location)])
            stubs.append(label)
            stubs += _exit_stub(by_head[i.target], assigned[i.index], i.line)
        elif i.name in ("RETURN_VALUE", "RETURN_CONST"):
            e = Emitter(line=i.line)
            if i.name == "RETURN_CONST":
                e.load_const(i.value)
            e.load_const(0)
            e.build("tuple", 2)
            e.return_value()
            copy.replace(i.index, e.out)


def forward(name: str) -> str:
    """The same jump, forward."""
    if name in ("JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"):
        return "JUMP_FORWARD"
    return name.replace("_BACKWARD_", "_FORWARD_")


def _exit_stub(x: Exit, assigned: frozenset[str], line: int | None) -> list:
    """stack → return (stack at the head…, locals…, number)"""
    e = Emitter(line=line)
    spill(e, x.nulls)
    for name in x.locals:
        if name not in assigned:
            mark_unbound(e, name)
    for name in x.handed:
        e.instr("LOAD_FAST", name)
    e.load_const(x.number)
    e.build("tuple", len(x.handed) + 1)
    e.return_value()
    return e.out


def mark_unbound(e: Emitter, name: str) -> None:
    """A local that may have no value becomes UNBOUND if so. The stack is empty here."""
    handler, done = Label(), Label()
    begin = TryBegin(handler, push_lasti=False, stack_depth=0)
    e.out.append(begin)
    e.instr("LOAD_FAST" if VERSION < (3, 12) else "LOAD_FAST_CHECK", name)
    e.out.append(TryEnd(begin))
    e.jump(done)
    e.label(handler)
    e.instr("PUSH_EXC_INFO")
    e.pop()
    e.instr("POP_EXCEPT")
    e.load_const(UNBOUND)
    e.label(done)
    e.instr("STORE_FAST", name)


def forget_unbound(e: Emitter, name: str) -> None:
    """A local that is UNBOUND has no value."""
    bound = Label()
    e.instr("LOAD_FAST", name)
    e.load_const(UNBOUND)
    e.is_(negated=True)
    e.instr("POP_JUMP_FORWARD_IF_TRUE" if VERSION < (3, 12) else "POP_JUMP_IF_TRUE", bound)
    e.delete_local(name)
    e.label(bound)


def spill(e: Emitter, nulls: tuple[bool, ...]) -> None:
    """Move the whole stack to locals, top first. (A NULL may be stored, but not popped; from 3.14 on it may, and has to be, for
    it can stand for a number without an object.)"""
    for i in range(len(nulls) - 1, -1, -1):
        if nulls[i] and not LASTI_IS_OBJECT:
            e.pop()
        else:
            e.instr("STORE_FAST", NOTHING if nulls[i] else f"{STACK}{i}")
