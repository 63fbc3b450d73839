"""A frame being traced: stack, variables, position, exceptions; and the inlining of calls."""

from __future__ import annotations

import types
from itertools import islice
from typing import Any

from aten.errors import DataDependentError
from dynamo import breaks
from dynamo.breaks import NotConstant, Raised, Unsupported
from dynamo.bytecode.implicit import looks_at_variables
from dynamo.bytecode.instruction import LASTI_IS_OBJECT, Instruction, decode
from dynamo.bytecode.liveness import keeps_locals
from dynamo.interpreter import operators
from dynamo.interpreter.rules import RULES
from dynamo.reraise import Step
from dynamo.source import Local
from dynamo.variables import values
from dynamo.variables.base import NULL, Variable
from dynamo.variables.constant import NONE, ConstantVariable
from dynamo.variables.exception import CALLERS_EXCEPTION, ExceptionVariable, HandledBefore
from dynamo.variables.function import CellVariable
from dynamo.variables.lazy import Lazy

GENERATOR, COROUTINES = 0x20, 0x80 | 0x100 | 0x200
MAX_DEPTH = 400
HANDED = "___stack"  # resume functions (dynamo/resume.py) get the stack in arguments of these names


class Yield(Exception):
    """A generator's frame has come to a yield."""

    def __init__(self, value: Variable):
        super().__init__()
        self.value = value


class Frame:
    """A Python frame while tracing.

    `locals` holds the fast locals as CPython does: a variable that is a cell holds its CellVariable. `globals` is the
    real dict; `function` the function object called, if it exists; `maker` the ClosureVariable if not.

    Kinds of value find what they need of each other here: `values` makes values, `ops` applies operators, `world` looks
    at what lies outside.
    """

    values = values
    ops = operators
    joined: frozenset[int] | None = None  # of the frame that is captured: the instructions that belong to a step begun before

    def __init__(self, output, code: types.CodeType, globals: dict, parent: Frame | None, function=None, maker=None):
        self.output = output
        self.world = output.world
        self.code = code
        self.globals = globals
        self.parent = parent
        self.function = function
        self.maker = maker
        self.depth = 0 if parent is None else parent.depth + 1
        decoded = decode(code)
        self.instructions = decoded.instructions
        self.handlers = decoded.handlers
        self.stack: list[Variable] = []
        self.locals: dict[str, Variable] = {}
        self.free_cells: list[CellVariable] = []
        self.pc = 0
        self.current: Instruction = self.instructions[0]
        self.result: Variable | None = None
        self.kw_names: tuple[str, ...] = ()
        # The exception that a bare `raise` means.
        self.handling: Variable = CALLERS_EXCEPTION if parent is None else parent.handling
        self.finished = False

    # --------------------------------------------------------------------------------------------- stack
    def push(self, value: Variable) -> None:
        self.stack.append(value)

    def pop(self) -> Variable:
        value = self.stack.pop()
        return value if value.is_settled else value.realize(self)

    def pop_unread(self) -> Variable:
        """The top value, to be put elsewhere: texts of sizes are not looked at for that."""
        value = self.stack.pop()
        return value if value.is_settled or value.moves_unread else value.realize(self)

    def peek(self, n: int) -> Variable:
        """The n-th value from the top, which stays."""
        value = self.stack[-n] = self.stack[-n].realize(self)
        return value

    def pop_moved(self, n: int) -> list[Variable]:
        """The top n values, bottom first, the same way."""
        if n == 0:
            return []
        values = [v if v.is_settled or v.moves_unread else v.realize(self) for v in self.stack[-n:]]
        del self.stack[-n:]
        return values

    def popn(self, n: int) -> list[Variable]:
        """The top n values, bottom first."""
        if n == 0:
            return []
        values = [v if v.is_settled else v.realize(self) for v in self.stack[-n:]]
        del self.stack[-n:]
        return values

    # ----------------------------------------------------------------------------------------- variables
    def load_fast(self, name: str) -> Variable:
        value = self.locals.get(name)
        if value is None:
            raise self.unbound(name)
        if value.is_settled or value.moves_unread or name.startswith(HANDED):  # what only passes through is not looked at
            return value
        real = value.realize(self)
        if real is not value:
            self.locals[name] = real
        return real

    def unbound(self, name: str) -> Raised:
        from dynamo.variables.exception import raise_exception

        return raise_exception(
            self, UnboundLocalError, f"cannot access local variable '{name}' where it is not associated with a value"
        )

    def cell(self, name: str) -> CellVariable:
        cell = self.locals[name]
        assert isinstance(cell, CellVariable)
        return cell

    # --------------------------------------------------------------------------------------------- running
    def run(self) -> Variable:
        """Run to the return. Raises Raised and Unsupported."""
        while not self.finished:
            self.advance()
        self.output.took(len(self.instructions))
        assert self.result is not None
        return self.result

    def at_break(self) -> bool:
        """Whether tracing is to end before the current instruction, which is a step or the beginning of one."""
        return False

    def advance(self) -> None:
        """Run to the return (or the break), or up to an exception and into its handler."""
        instructions, joined = self.instructions, self.joined
        try:
            while not self.finished:
                inst = self.current = instructions[self.pc]
                if joined is not None and self.at_break():
                    return
                self.pc += 1
                RULES[inst.opcode](self, inst)
        except Raised as raised:
            if not self.unwind(raised):
                raise  # (not from a frame that holds it: such circles keep the values of the call alive)
            breaks.let_go(raised)  # nor do the frames of the rule that made it, and the callers' below those
        except Unsupported as e:
            e.places.append(self.place())
            raise
        except NotConstant as e:
            raise self.unknown(e) from e
        except RecursionError as e:  # of a rule that walks a value which is nested too deep, or in itself
            broke = Unsupported(breaks.TOO_DEEP)
            broke.places.append(self.place())
            raise broke from e
        except DataDependentError as e:
            broke = Unsupported(breaks.BRANCH_ON_VALUE, str(e))
            broke.places.append(self.place())
            raise broke from e

    def unwind(self, raised: Raised) -> bool:
        """Go to the handler of the exception raised by the current instruction; False if the frame has none."""
        at = self.pc - 1
        self.note_raise(raised)
        for first, last, target, depth, lasti in self.handlers:
            if first <= at < last:
                gone = self.stack[depth:]
                del self.stack[depth:]
                for value in gone:
                    self.dropped(value)
                if lasti:
                    self.push(ConstantVariable(self.current.offset) if LASTI_IS_OBJECT else NULL)
                self.push(raised.value)
                self.pc = target
                self.kw_names = ()
                return True
        return False

    def is_caught(self) -> bool:
        """Whether an exception of the current instruction has a handler in the frame or its callers."""
        frame: Frame | None = self
        while frame is not None:
            if frame.handlers:
                at = frame.pc - 1
                if any(h.first <= at < h.last for h in frame.handlers):
                    return True
            frame = frame.parent
        return False

    def dropped(self, value: Variable) -> None:
        """A value has left a variable or the stack."""

    def note_raise(self, raised: Raised) -> None:
        """Remember for the traceback that the exception came through here; one raised again has been here already."""
        self.note_context(raised)
        if self.raises_again():
            return
        if not self.is_polyfill():
            raised.value.trace.append(Step(self.code, self.current.line))
        if self.output.suspended:  # of which some may end with these variables
            raised.value.held.append(self.locals)

    def raises_again(self) -> bool:
        """Whether the current instruction raises what is being handled."""
        return self.current.name == "RERAISE" or (self.current.name == "RAISE_VARARGS" and not self.current.arg)

    def note_context(self, raised: Raised) -> None:
        """An exception just raised has what is being handled as its context."""
        new = not raised.noted and not self.raises_again()
        raised.noted = True
        if new:
            raised.value.note_raised(self)
        if new and self.handling is not raised.value and isinstance(self.handling, ExceptionVariable):
            raised.value.set_context(self, self.handling)

    def is_polyfill(self) -> bool:
        return str(self.globals.get("__name__")).startswith("dynamo.")

    def jump(self, inst: Instruction) -> None:
        """Go to the instruction's target; loops are counted."""
        target = inst.target
        if target <= self.pc:
            self.output.took(self.pc - target)
        self.pc = target

    def unknown(self, e: NotConstant) -> Unsupported:
        """The break for a value that had to be a constant and is none."""
        found = Unsupported(breaks.NOT_CONSTANT, e.args[0].describe())
        found.places.append(self.place())
        return found

    def place(self) -> breaks.Place:
        """File, line, function and columns of the current instruction."""
        columns = next(islice(self.code.co_positions(), self.current.offset // 2, None))
        return breaks.Place(self.code.co_filename, self.current.line, self.code.co_qualname, columns)

    # -------------------------------------------------------------------------------------------- inlining
    def inline(self, code, function, globals: dict, cells: list[CellVariable], local: dict[str, Variable], maker=None):
        """Trace a call into the same graph. Returns its result; a GeneratorVariable for a generator function."""
        if self.depth >= MAX_DEPTH:
            raise Unsupported(breaks.TOO_DEEP)
        if looks_at_variables(code):
            raise Unsupported(breaks.VARIABLES_SEEN, code.co_qualname)
        child = Frame(self.output, code, globals, self, function, maker)
        child.locals = local
        child.free_cells = cells
        if code.co_flags & COROUTINES:
            raise Unsupported(breaks.SUSPENDED, f"{code.co_qualname} is a coroutine")
        if code.co_flags & GENERATOR:
            from dynamo.variables.iterator import GeneratorVariable

            child.enter_generator()
            return GeneratorVariable(child)
        return self.output.run_inlined(child)

    def enter_generator(self) -> None:
        """Run the prologue (cells) up to RETURN_GENERATOR, so that the first resumption starts behind it."""
        for n, inst in enumerate(self.instructions):
            if inst.name == "RETURN_GENERATOR":
                self.pc = n + 1
                return
            RULES[inst.opcode](self, inst)

    def resumed_within(self, handling: Variable) -> bool:
        """A generator handles what its caller does, beneath its own exceptions. Says whether it has any."""
        lowest = next((v for v in self.stack if isinstance(v, HandledBefore)), None)
        if lowest is None:
            self.handling = handling
            return False
        lowest.value = handling
        return True

    def note_thrown(self, raised: Raised, own: bool) -> None:
        """What is thrown into a generator has what that handles as its context, and not what the caller does."""
        value = raised.value
        if own:
            self.note_context(raised)
        elif not raised.noted:
            raised.noted = True
            if value.source is None and value.context is None and not value.raised:
                value.context = NONE
            value.note_raised(self)

    def resume_generator(self, sent: Variable, raised: Raised | None, started: bool) -> Variable | None:
        """Run to the next yield: what it yields, or None at the return (then `result` is set)."""
        own = self.resumed_within(self.parent.handling)
        self.push(sent)  # the first one is popped by the POP_TOP behind RETURN_GENERATOR
        try:
            if raised is not None:
                self.note_thrown(raised, own)
                if not started or not self.unwind(raised):
                    raise raised
            self.output.run_inlined(self)
        except Yield as y:
            return y.value
        finally:
            raised = None
        return None


class RootFrame(Frame):
    """The frame that is captured. It stops before the instruction where tracing met something unsupported last time."""

    def __init__(self, output, code, globals, function, break_step: int | None):
        super().__init__(output, code, globals, None, function)
        self.step = 0
        self.group_step = 0
        self.break_step = break_step
        self.broken = False
        self.entered_handling: Variable = CALLERS_EXCEPTION  # known for functions that go on inside an except block
        self.kept = keeps_locals(code)
        self.joined: frozenset[int] = decode(code).joined
        self.handed: dict[int, Any] = {}  # what a frame that goes on behind a break was handed, by id: it may be all that holds it

    def holds(self, real: Any) -> bool:
        """Whether a local or the stack holds an object that is not made while tracing."""
        return any(getattr(v, "value", None) is real for v in (*self.locals.values(), *self.stack))

    def dropped(self, value: Variable) -> None:
        """A generator of Python's that only this frame holds ends where it is dropped, which may run code: Python does that."""
        if type(value.source) is not Local:
            return
        real = getattr(value, "value", None)
        if type(real) is types.GeneratorType:
            if not self.holds(real):
                raise Unsupported(breaks.SUSPENDED, f"{value.source}, which is dropped")
        elif self.kept and isinstance(value, Lazy):
            self.output.guard_type(value.source, type(real))

    def note_raise(self, raised: Raised) -> None:
        self.note_context(raised)
        if not self.raises_again():
            raised.value.trace.append(Step(self.code, self.current.line))

    def at_break(self) -> bool:
        if self.pc not in self.joined:
            self.group_step = self.step
            if self.step == self.break_step:
                self.broken = True
                return True
        self.step += 1
        return False

    def run_to_break(self) -> Variable | None:
        """Run to the return, or to the step to break at (then `broken` is true and the state is that before it)."""
        while not (self.finished or self.broken):
            self.advance()
        return self.result


__all__ = ["Frame", "NULL", "RootFrame", "Yield"]
