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

import sys
import types
from typing import Any, NamedTuple

from bytecode import CellVar, FreeVar, Instr, Label, TryBegin, TryEnd

from . import _eval_frame
from .bytecode.assemble import STACK_MARGIN, Copy, assemble_function
from .bytecode.emit import Emitter
from .bytecode.handled import ENTERED, handled_slots
from .bytecode.instruction import ENDS, LASTI_IS_OBJECT, UNCONDITIONAL, VERSION, Decoded, decode
from .bytecode.liveness import KEPT, assigned_before, keep_locals, live_before
from .outcome import Handled, Null

STACK = "___stack"
HANDLED = "___handled"  # of a function that goes on inside an except block: the exception that the thread is handling
RESULT = "___result"
NOTHING = "___null"
ORIGIN = "copy of"
_CALLS = ("CALL", "CALL_KW", "CALL_FUNCTION_EX")
_WORK = ("CALL", "BINARY", "COMPARE", "UNARY", "CONTAINS")  # how the names of instructions begin that compute
_BINDS = ("DELETE_FAST", "STORE_FAST", "STORE_FAST_STORE_FAST", "STORE_FAST_LOAD_FAST")  # which locals there are
# What FOR_ITER skips at the place it jumps to when the iterator is exhausted.
_FOR_ENDS = {(3, 11): [], (3, 12): ["END_FOR"], (3, 13): ["END_FOR", "POP_TOP"], (3, 14): ["END_FOR", "POP_ITER"]}[VERSION]


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
        _forget_unbound(e, name)
    e.jump(label)
    items = [_free(i, frozenset(code.co_cellvars)) for i in e.out + items + stubs]
    argnames = names + list(point.locals)
    if handled_slots(code)[point.index]:
        argnames.append(HANDLED)
    extra = STACK_MARGIN + len(point.nulls) + max((len(x.handed) for x in exits), default=0)
    return assemble_function(code, items, argnames, free, code.co_stacksize + extra)


def _free(item: Any, cellvars: frozenset[str]) -> Any:
    """Cells of the original frame are free variables of the function that continues it."""
    if not isinstance(item, Instr):
        return item
    if isinstance(item.arg, CellVar):
        return Instr(item.name, FreeVar(item.arg.name), location=item.location)
    if item.name == "LOAD_FAST" and isinstance(item.arg, str) and item.arg in cellvars:  # 3.13: the cell of an argument
        return Instr(item.name, FreeVar(item.arg), location=item.location)
    return item


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
            copy.replace(i.index, [Instr(_forward(item.name), label, location=item.location)])
            stubs.append(label)
            stubs += _exit_stub(by_head[i.target], assigned[i.index], i.line)
        elif i.name in ("RETURN_VALUE", "RETURN_CONST"):
            e = Emitter(line=i.line)
            if i.name == "RETURN_CONST":
                e.load_const(item.arg)
            e.load_const(0)
            e.build("tuple", 2)
            e.return_value()
            copy.replace(i.index, e.out)


def _forward(name: str) -> str:
    """The same jump, forward."""
    if name in ("JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"):
        return "JUMP_FORWARD"
    return name.replace("_BACKWARD_", "_FORWARD_")


def _exit_stub(x: Exit, assigned: frozenset[str], line: int | None) -> list:
    """stack → return (stack at the head…, locals…, number)"""
    e = Emitter(line=line)
    _spill(e, x.nulls)
    for name in x.locals:
        if name not in assigned:
            _mark_unbound(e, name)
    for name in x.handed:
        e.instr("LOAD_FAST", name)
    e.load_const(x.number)
    e.build("tuple", len(x.handed) + 1)
    e.return_value()
    return e.out


def _mark_unbound(e: Emitter, name: str) -> None:
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


def _forget_unbound(e: Emitter, name: str) -> None:
    """A local that is UNBOUND has no value."""
    bound = Label()
    e.instr("LOAD_FAST", name)
    e.load_const(UNBOUND)
    e.is_(negated=True)
    e.instr("POP_JUMP_FORWARD_IF_TRUE" if VERSION < (3, 12) else "POP_JUMP_IF_TRUE", bound)
    e.delete_local(name)
    e.label(bound)


def _spill(e: Emitter, nulls: tuple[bool, ...]) -> None:
    """Move the whole stack to locals, top first. (A NULL may be stored, but not popped; from 3.14 on it may, and has to be, for
    it can stand for a number without an object.)"""
    for i in range(len(nulls) - 1, -1, -1):
        if nulls[i] and not LASTI_IS_OBJECT:
            e.pop()
        else:
            e.instr("STORE_FAST", NOTHING if nulls[i] else f"{STACK}{i}")


def _leave_excepts(e: Emitter, handled: tuple[int, ...]) -> None:
    """Let the thread handle what it did before these exceptions, if a resume function has not seen to it."""
    if handled:
        e.instr("LOAD_FAST", f"{STACK}{handled[0]}")
        e.instr("POP_EXCEPT")


def _forget_frame(e: Emitter) -> None:
    """Take this frame out of the traceback of the exception on the stack: the function that goes on with it is there."""
    e.instr("COPY", 1)
    e.instr("COPY", 1)
    e.load_attr("__traceback__")
    e.load_attr("tb_next")
    e.instr("SWAP", 2)
    e.store_attr("__traceback__")


# ------------------------------------------------------------------------------------------- breaks
class BreakWriter:
    """Prepares the copy inside the new code of a frame for a break, and writes its tails."""

    def __init__(self, code: types.CodeType, copy: Copy, decoded: Decoded, ending: Any):
        self.code = code
        self.copy = copy
        self.decoded = decoded
        self.handled = handled_slots(code)
        self.entered = len(_eval_frame.record(code).get(ENTERED, ()))  # except blocks that whoever called it leaves
        self.ending = ending
        self.label = Label()  # where the restored frame goes on
        self.first = 0  # index of the breaking instruction
        self.in_loop = False
        self.pending: list[tuple[Label, list[str], Point]] = []  # tails to write: label, instructions to begin with
        self.heads: dict[int, Label] = {}  # where the tails go on at the head of a loop
        self.waiting: list[tuple[int, tuple[bool, ...]]] = []  # heads not written yet, with the stack there
        self.stack_needed = len(ending.stack) + len(ending.locals) + 8

    def prepare(self) -> None:
        """Mark the breaking instruction, and make control leave the copy right after it."""
        first, last = self._group(self.decoded.index_of[self.ending.offset])
        self.first = first
        self.in_loop = bool(enclosing_heads(self.decoded, first))
        inst = self.decoded.instructions[last]
        depth = len(self.ending.stack)
        if self.decoded.depths[first] != depth:
            raise Unresumable(f"the stack at {inst.name} holds {self.decoded.depths[first]} values, not {depth}")
        self._refuse(first)
        nulls = [isinstance(r, Null) for r in self.ending.stack]
        if inst.target >= 0:
            self._redirect_jump(last, nulls)
        if inst.name not in ENDS and inst.name not in UNCONDITIONAL:
            after = self._after(first, last, nulls)
            label = Label()
            self.copy.insert_after(last, [Instr("JUMP_FORWARD", label, lineno=inst.line)])
            for i in range(first, last + 1):
                self._bind_method(i)
            self.pending.append((label, [], self._point(last + 1, after)))
        if self.in_loop:
            self._bind_methods(first)
        self.copy.insert(first, [self.label])

    def _refuse(self, index: int) -> None:
        instructions = self.decoded.instructions
        for i in instructions[self.decoded.body() :]:
            if i.name == "MAKE_CELL":
                raise Unresumable("a comprehension whose variable is captured by a function")
        raised = [i for i, r in enumerate(self.ending.stack) if isinstance(r, Handled)]
        slots = self.handled[index]
        if raised != list(slots[len(slots) - len(raised) :]):
            raise Unresumable("a break in the middle of leaving an except block")
        if instructions[index].name == "LOAD_GLOBAL" and instructions[index].arg & 1:
            raise Unresumable("a break at LOAD_GLOBAL")

    def _group(self, index: int) -> tuple[int, int]:
        """(first, last) of the instructions that make one step."""
        first = last = index
        while last + 1 in self.decoded.joined:
            last += 1
        while first in self.decoded.joined:
            first -= 1
        return first, last

    def _after(self, first: int, last: int, nulls: list[bool]) -> tuple[bool, ...]:
        """The stack behind the instructions, when they do not jump."""
        depth = len(nulls) + sum(self.decoded.effect(i, False) for i in range(first, last + 1))
        name = self.decoded.instructions[last].name
        kept = depth - 1 if name in _CALLS else depth
        after = [i < len(nulls) and i < kept and nulls[i] for i in range(depth)]
        if self._loads_method(last):
            after[-2 if VERSION < (3, 13) else -1] = True
        if any(self._loads_exit(i) for i in range(first, last)):
            after[-2] = True  # below what __enter__ returns
        return tuple(after)

    def _loads_method(self, index: int) -> bool:
        """Whether the instruction pushes a function and its object, or a value and NULL."""
        inst = self.decoded.instructions[index]
        if inst.name == "LOAD_METHOD":
            return True
        return VERSION >= (3, 12) and inst.name in ("LOAD_ATTR", "LOAD_SUPER_ATTR") and bool(inst.arg & 1)

    def _loads_exit(self, index: int) -> bool:
        """Whether the instruction pushes the `__exit__` of a context manager, and its object or NULL."""
        inst = self.decoded.instructions[index]
        return inst.name == "LOAD_SPECIAL" and inst.value == "__exit__"

    def _bind_method(self, index: int) -> None:
        """If the instruction loads a method, load it as a bound one, so that the form of the stack behind it is known."""
        if self._loads_exit(index):
            self.copy.insert_after(index, self._bind_exit(index))
        elif self._loads_method(index):
            self.copy.insert_after(index, self._bind_attribute(index))

    def _bind_exit(self, index: int) -> list:
        """What comes after the load of `__exit__`."""
        at = self.copy.position[index]
        e = Emitter(line=self.copy.items[at].lineno)
        e.load_const(_eval_frame.exit_method)
        e.instr("SWAP", 2)
        e.push_null()
        e.instr("SWAP", 2)
        e.instr("CALL", 1)
        e.push_null()
        self.copy.items[at] = e.out[0]
        return e.out[1:]

    def _bind_attribute(self, index: int) -> list:
        """The same for the load of an attribute."""
        at = self.copy.position[index]
        item = self.copy.items[at]
        arg = item.arg if VERSION < (3, 12) else (False, *item.arg[1:])
        name = "LOAD_ATTR" if item.name == "LOAD_METHOD" else item.name
        self.copy.items[at] = Instr(name, arg, location=item.location)
        e = Emitter(line=item.lineno)
        e.push_null()
        if VERSION < (3, 13):
            e.instr("SWAP", 2)
        return e.out

    def _bind_methods(self, last: int) -> None:
        """The loop comes to the break again by way of the copy: with the stack that the tails expect."""
        for i in range(last - 1, self.decoded.body() - 1, -1):
            self._bind_method(i)

    def _redirect_jump(self, last: int, nulls: list[bool]) -> None:
        inst = self.decoded.instructions[last]
        label = Label()
        item = self.copy.items[self.copy.position[last]]
        self.copy.items[self.copy.position[last]] = Instr(_forward(item.name), label, location=item.location)
        target, begin = inst.target, []
        if inst.name == "FOR_ITER":
            target += len(_FOR_ENDS)
            begin = _FOR_ENDS
            depth = len(nulls) - 1
        else:
            depth = len(nulls) + self.decoded.effect(last, True)
        after = tuple(i < len(nulls) and nulls[i] for i in range(depth))
        self.pending.append((label, begin, self._point(target, after)))

    def _point(self, index: int, nulls: tuple[bool, ...]) -> Point:
        if index >= len(self.decoded):
            raise Unresumable("a break at the end of the code")
        live = live_before(self.code)[index]
        known = frozenset(self.ending.locals)
        if self.decoded.instructions[self.first].name in _BINDS:
            known = assigned_before(self.decoded, self.first, known)[index] or known
        if not self.in_loop:
            return Point(index, nulls, self._in_order(live & known))
        # The loop comes here again with other locals assigned.
        sure = assigned_before(self.decoded, self.first, known)[index] or frozenset()
        return Point(index, nulls, self._in_order(live), self._in_order(live - sure))

    def _in_order(self, names: frozenset[str]) -> tuple[str, ...]:
        """Locals in the order of the original frame, which locals() shows."""
        return tuple(v for v in self.code.co_varnames if v in names)

    # --------------------------------------------------------------------------------------- tails
    def tails(self) -> list:
        """What stands behind the copy: for each way out of the break, the call of its resume function."""
        out: list = []
        for label, begin, point in self.pending:
            e = Emitter(self.code.co_cellvars, self.code.co_freevars, line=self.decoded.instructions[point.index].line)
            e.label(label)
            for name in begin:
                e.instr(name)
            self._call_resume(e, point)
            out += e.out
        while self.waiting:
            head, nulls = self.waiting.pop(0)
            out += self._at_head(head, nulls)
        return out

    def _at_head(self, head: int, nulls: tuple[bool, ...]) -> list:
        """Where segments come back to: one more step of the loop, or what follows the loop."""
        inst = self.decoded.instructions[head]
        e = Emitter(self.code.co_cellvars, self.code.co_freevars, line=inst.line)
        e.label(self.heads[head])
        if inst.name != "FOR_ITER":
            self._go_on(e, head, nulls)
            return e.out
        done = Label()
        handler = self.decoded.handler_of(head)
        if handler is not None:  # an error of the iterator belongs to the try block around the loop
            begin = TryBegin(self.copy.label_before(handler.target), handler.lasti, handler.depth)
            e.out.append(begin)
        e.instr("FOR_ITER", done)
        if handler is not None:
            e.out.append(TryEnd(begin))
        self._go_on(e, head + 1, (*nulls, False))
        e.label(done)
        for name in _FOR_ENDS:
            e.instr(name)
        self._call_resume(e, self._point(inst.target + len(_FOR_ENDS), nulls[:-1]))
        return e.out

    def _go_on(self, e: Emitter, index: int, nulls: tuple[bool, ...]) -> None:
        """On to the break: in the copy if nothing worth capturing lies before it, else in a segment."""
        between = self.decoded.instructions[index : self.first]
        if any(i.name.startswith(_WORK) for i in between):
            self._call_resume(e, self._point(index, nulls))
        else:
            e.jump(self.copy.label_before(index), backward=True)

    def _call_resume(self, e: Emitter, point: Point) -> None:
        exits = exits_of(self.code, point)
        original, there = where_paths_join(self.code, point)
        made = resume_code(original, there, exits if original is self.code else exits_of(original, there))
        cells = self.code.co_cellvars + self.code.co_freevars
        _spill(e, point.nulls)
        for name in point.unsure:
            _mark_unbound(e, name)
        names = [f"{STACK}{i}" for i, null in enumerate(point.nulls) if not null] + list(there.locals)
        self.stack_needed = max(self.stack_needed, len(names) + len(cells) + 8)

        handled = self.handled[point.index]
        kept = {f"{STACK}{i}" for i in handled}

        def push(name: str) -> None:
            # The frame forgets what it hands over, so that the resume function can free it.
            if name in kept:
                e.instr("LOAD_FAST", name)
            elif VERSION >= (3, 12):
                e.instr("LOAD_FAST_AND_CLEAR", name)
            else:
                e.instr("LOAD_FAST", name)
                e.delete_local(name)

        failed = Label()
        begin = TryBegin(failed, push_lasti=False, stack_depth=0)
        e.out.append(begin)
        pushes: list = [lambda n=n: push(n) for n in names]
        if handled:
            pushes.append(lambda: e.call(lambda: e.load_const(sys.exception), []))
        e.call(lambda: e.make_function(made, cells), pushes)
        e.out.append(TryEnd(begin))
        if exits:
            self._dispatch(e, exits, handled)
        else:
            _leave_excepts(e, handled[self.entered :])
            e.return_value()
        e.label(failed)
        _forget_frame(e)
        _leave_excepts(e, handled[self.entered :])
        e.instr("RERAISE", 0)

    def _dispatch(self, e: Emitter, exits: list[Exit], handled: tuple[int, ...]) -> None:
        """result of a segment → return its value, or go on at the head of a loop"""
        e.instr("STORE_FAST", RESULT)
        for x in [None, *exits]:
            other = Label()
            e.instr("LOAD_FAST", RESULT)
            e.load_const(-1)
            e.subscript()
            e.load_const(x.number if x else 0)
            e.is_()
            e.jump_if_false(other)
            if x is None:
                _leave_excepts(e, handled[self.entered :])
                e.instr("LOAD_FAST", RESULT)
                e.load_const(0)
                e.subscript()
                e.return_value()
            else:
                _leave_excepts(e, handled[len(self.handled[x.head]) :])
                self._enter_head(e, x)
            e.label(other)
        e.instr("LOAD_CONST", None)  # not reached: every number was tried
        e.return_value()

    def _enter_head(self, e: Emitter, x: Exit) -> None:
        n = len(x.handed) + 1
        self.stack_needed = max(self.stack_needed, n + len(x.nulls) + 8)
        e.instr("LOAD_FAST", RESULT)
        e.delete_local(RESULT)
        e.instr("UNPACK_SEQUENCE", n)
        for name in x.handed:
            e.instr("STORE_FAST", name)
        e.pop()
        for name in sorted(x.unsure):
            _forget_unbound(e, name)
        for i, null in enumerate(x.nulls):
            if null:
                e.push_null()
            else:
                e.instr("LOAD_FAST", f"{STACK}{i}")
                e.delete_local(f"{STACK}{i}")
        new = x.head not in self.heads
        if new:
            self.heads[x.head] = Label()
            self.waiting.append((x.head, x.nulls))
        e.jump(self.heads[x.head], backward=not any(head == x.head for head, _ in self.waiting))
