"""What a frame's new code does at a graph break: it runs its own copy up to there, and tails hand over to resume functions.

`resume.py` says how the two share a frame.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Collection
from typing import Any

from . import _eval_frame, breaks
from .bytecode.assemble import Copy
from .bytecode.emit import Emitter
from .bytecode.handled import ENTERED, handled_slots
from .bytecode.instruction import ENDS, UNCONDITIONAL, VERSION, Decoded
from .bytecode.items import Copied, Instr, Label, TryBegin, TryEnd
from .bytecode.liveness import assigned_before, live_before
from .guard_program import argument_names
from .outcome import Handled, Null
from .reraise import TRACEBACK
from .resume import (
    RESULT,
    STACK,
    Exit,
    Point,
    Unresumable,
    changes,
    enclosing_heads,
    exits_of,
    forget_unbound,
    forward,
    mark_unbound,
    resume_code,
    spill,
    where_paths_join,
)

_CALLS = ("CALL", "CALL_KW", "CALL_FUNCTION_EX")
_WORK = ("CALL", "BINARY", "COMPARE", "UNARY", "CONTAINS")  # how the names of instructions begin that compute
_BINDS = ("DELETE_FAST", "STORE_FAST", "STORE_FAST_STORE_FAST", "STORE_FAST_LOAD_FAST")  # which locals there are
# What FOR_ITER skips at the place it jumps to when the iterator is exhausted.
_FOR_ENDS = {(3, 11): [], (3, 12): ["END_FOR"], (3, 13): ["END_FOR", "POP_TOP"], (3, 14): ["END_FOR", "POP_ITER"]}[VERSION]


class BreakWriter:
    """Prepares the copy inside the new code of a frame for a break, and writes its tails."""

    def __init__(
        self, code: types.CodeType, copy: Copy, decoded: Decoded, ending: Any, numbers: Collection[str] = (), rerun: bool = False
    ):
        """numbers: the locals that hold numbers which only the graph knew, other ones in each call. rerun: whether the copy may run
        from its beginning, because the graph refused its data, and come to the break on another path than the traced one."""
        self.code = code
        self.copy = copy
        self.decoded = decoded
        self.handled = handled_slots(code)
        self.entered = len(_eval_frame.record(code).get(ENTERED, ()))  # except blocks that whoever called it leaves
        self.ending = ending
        self.label = Label()  # where the restored frame goes on
        self.first = 0  # index of the breaking instruction
        self.rerun = rerun
        self.comes_back = False  # whether the copy may come to the break, from a loop around it or from its beginning
        self.pending: list[tuple[Label, list[str], Point]] = []  # tails to write: label, instructions to begin with
        self.heads: dict[int, Label] = {}  # where the tails go on at the head of a loop
        self.waiting: list[tuple[int, tuple[bool, ...]]] = []  # heads not written yet, with the stack there
        self.stack_needed = len(ending.stack) + len(ending.locals) + 8
        self.numbers = numbers
        self.always: frozenset[str] = frozenset()  # the locals that are assigned at the break on all paths from the beginning
        self.drawn: tuple[Point, str] | None = None  # where a random number is handed on, and as which argument

    def prepare(self) -> None:
        """Mark the breaking instruction, and make control leave the copy right after it."""
        first, last = self.decoded.step(self.decoded.index_of[self.ending.offset])
        self.first = first
        if self.rerun:
            arguments = frozenset(argument_names(self.code))
            self.always = assigned_before(self.decoded, 0, arguments)[first] or frozenset()
        self.comes_back = self.rerun or bool(enclosing_heads(self.decoded, first))
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
            self.copy.insert_after(last, [Instr("JUMP_FORWARD", label, inst.line)])
            for i in range(first, last + 1):
                self._bind_method(i)
            self.pending.append((label, [], self._point(last + 1, after)))
            if self.ending.reason is not None and self.ending.reason.reason is breaks.RANDOM_STATE and inst.name in _CALLS:
                self.drawn = self.pending[-1][2], f"{STACK}{len(after) - 1}"
        if self.comes_back:
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
        e = Emitter(line=self.copy.items[at].line)
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
        arg = item.arg if VERSION < (3, 12) else item.arg & ~1
        name = "LOAD_ATTR" if item.name == "LOAD_METHOD" else item.name
        self.copy.items[at] = Copied(name, arg, item.location)
        e = Emitter(line=item.line)
        e.push_null()
        if VERSION < (3, 13):
            e.instr("SWAP", 2)
        return e.out

    def _bind_methods(self, last: int) -> None:
        """The frame comes to the break by way of the copy: with the stack that the tails expect, which do not see what the
        break itself calls."""
        called = self.decoded.callee(last)
        for i in range(last - 1, self.decoded.body() - 1, -1):
            if called is None or self.decoded.depths[i] != called + 1:
                self._bind_method(i)

    def _redirect_jump(self, last: int, nulls: list[bool]) -> None:
        inst = self.decoded.instructions[last]
        label = Label()
        item = self.copy.items[self.copy.position[last]]
        self.copy.items[self.copy.position[last]] = Instr(forward(item.name), label, item.location)
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
        if not self.comes_back:
            return Point(index, nulls, self._in_order(live & known))
        # The copy comes here with other locals assigned.
        if self.rerun:
            known &= self.always
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
        if self.drawn is not None and point is self.drawn[0]:
            changes(made, self.drawn[1])
        for name in self.numbers:
            if name in there.locals:
                changes(made, name)
        cells = self.code.co_cellvars + self.code.co_freevars
        spill(e, point.nulls)
        for name in point.unsure:
            mark_unbound(e, name)
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
            _leave_excepts(e, handled, self.entered)
            e.return_value()
        e.label(failed)
        _forget_frame(e)
        _leave_excepts(e, handled, self.entered)
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
                _leave_excepts(e, handled, self.entered)
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
            forget_unbound(e, name)
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


def _leave_excepts(e: Emitter, handled: tuple[int, ...], entered: int = 0) -> None:
    """Let the thread handle what it did before these exceptions, but for the first `entered`, if a resume function has not seen to
    it. The frame forgets them all: it may stand in their tracebacks, which would hold it for ever."""
    if handled[entered:]:
        e.instr("LOAD_FAST", f"{STACK}{handled[entered]}")
        e.instr("POP_EXCEPT")
    for i in handled:
        e.delete_local(f"{STACK}{i}")


def _forget_frame(e: Emitter) -> None:
    """Take this frame out of the traceback of the exception on the stack: the function that goes on with it is there."""
    exception = lambda: e.instr("COPY", 3)  # below the function that is called, and its empty slot

    def below() -> None:
        e.call(lambda: e.load_const(TRACEBACK.__get__), [exception])
        e.load_attr("tb_next")

    e.call(lambda: e.load_const(TRACEBACK.__set__), [exception, below])
    e.pop()
