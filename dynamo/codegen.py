"""The new code of a captured frame: call the graph, run the statements, then return or go on at the break.

What it writes is planned by tracing (`outcome.py`); this file turns recipes and statements into bytecode. The original
instructions stay behind the new ones: a break continues in them, and so does a frame whose graph refuses its data.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from aten.symbolic.symint import SYMBOLIC

from . import _eval_frame
from . import outcome as o
from .break_writer import BreakWriter
from .bytecode.assemble import STACK_MARGIN, Copy, assemble_like
from .bytecode.emit import Emitter
from .bytecode.instruction import decode
from .bytecode.items import Label, TryBegin, TryEnd
from .guard_program import argument_names
from .reraise import CONTEXT, raiser

GRAPH = "___graph"  # the tuple that the graph returned
TEMP = "___temp"


class FrameWriter:
    """Writes the code that replaces `code` for one `Traced`.

    compiled: the graph, called as compiled(*inputs) -> tuple, or None. check_failed: the exception class with which it
    refuses its data before any effect; the frame then runs its original instructions.
    """

    def __init__(self, code: types.CodeType, traced: o.Traced, compiled: Callable | None, check_failed: type | None):
        self.code = code
        self.traced = traced
        self.compiled = compiled
        self.check_failed = check_failed
        self.copy = Copy(code)
        self.decoded = decode(code)
        self.e = Emitter(code.co_cellvars, code.co_freevars, line=code.co_firstlineno)
        self.temps: dict[str, None] = {}
        self.deepest = 0

    def write(self) -> types.CodeType:
        """The new code object. Raises resume.Unresumable when the frame cannot be continued behind its break."""
        body = self.decoded.body()
        ending = self.traced.ending
        epilogue: list = []
        breaks = None
        if isinstance(ending, o.Break):
            numbers, rerun = self._unforeseen(ending), self.compiled is not None
            breaks = BreakWriter(self.code, self.copy, self.decoded, ending, numbers, rerun)
            breaks.prepare()
        original = Label()
        self.copy.insert_after(body - 1, [original])
        if self.compiled is not None:
            self._call_graph(original, epilogue)
        for statement in self.traced.statements:
            self._statement(statement)
        if breaks is not None:
            self._restore(ending)
            self.e.jump(breaks.label)
        else:
            self._value(ending.value)
            self.e.return_value()
        tails = breaks.tails() if breaks is not None else []
        at = self.copy.items.index(original)
        items = self.copy.items[:at] + self.e.out + self.copy.items[at:] + tails + epilogue
        margin = STACK_MARGIN + self.deepest + len(self.traced.inputs)
        if breaks is not None:
            margin += breaks.stack_needed
        return assemble_like(self.code, items, self.code.co_stacksize + margin)

    def _unforeseen(self, ending: o.Break) -> list[str]:
        """The locals that hold numbers which only the graph knew."""
        given = self.traced.graph.graph.outputs if self.traced.graph is not None else ()
        numbers = [type(v) in SYMBOLIC and v.hint is None for v in given]
        return [name for name, recipe in ending.locals.items() if isinstance(recipe, o.Output) and numbers[recipe.index]]

    # -------------------------------------------------------------------------------------- graph
    def _call_graph(self, original: Label, epilogue: list) -> None:
        e = self.e
        inputs: list[Callable[[], Any]] = [lambda s=s: s.emit(e) for s in self.traced.inputs]
        if self.check_failed is None:
            e.call(lambda: e.load_const(self.compiled), inputs)
        else:
            handler = Label()
            begin = TryBegin(handler, push_lasti=False, stack_depth=0)
            e.out.append(begin)
            e.call(lambda: e.load_const(self.compiled), inputs)
            e.out.append(TryEnd(begin))
            epilogue += self._refused(handler, original)
        e.instr("STORE_FAST", GRAPH)
        self.temps[GRAPH] = None

    def _refused(self, handler: Label, original: Label) -> list:
        """except check_failed: run the original instructions, outside of the handler."""
        e = Emitter(line=self.e.line)
        other = Label()
        e.label(handler)
        e.instr("PUSH_EXC_INFO")
        e.load_const(self.check_failed)
        e.instr("CHECK_EXC_MATCH")
        e.jump_if_false(other)
        e.pop()
        e.instr("POP_EXCEPT")
        e.jump(original, backward=True)
        e.label(other)
        e.instr("SWAP", 2)
        e.instr("POP_EXCEPT")
        e.instr("RERAISE", 0)
        return e.out

    def _restore(self, ending: o.Break) -> None:
        """The stack and the locals as the breaking instruction expects them. All is read before anything is stored."""
        if ending.handling is not None:
            self._value(ending.handling)
            self.e.instr("POP_EXCEPT")
        for n, recipe in enumerate(ending.stack):
            if isinstance(recipe, o.Handled):
                self._handle(recipe, n)
            else:
                self._value(recipe)
        names = list(ending.locals)
        for name in names:
            self._value(ending.locals[name])
        self.deepest += len(ending.stack) + len(names)
        for name in reversed(names):
            self.e.instr("STORE_FAST", name)
        for temp in self.temps:
            self.e.delete_local(temp)
        for name in argument_names(self.code):  # dead or deleted: eager may free them here
            if name not in ending.locals and name not in self.code.co_cellvars:
                self.e.delete_local(name)

    def _handle(self, r: o.Handled, depth: int) -> None:
        """Raise an exception and begin to handle it, above `depth` values. Leaves what was handled before."""
        e, handler = self.e, Label()
        begin = TryBegin(handler, push_lasti=False, stack_depth=depth)
        e.out.append(begin)
        line, e.line = e.line, r.line or e.line
        if r.again:
            self._value(r.value, depth + 1)
            e.instr("RERAISE", 0)
        elif r.trace:
            raising = _eval_frame.Uncaptured(raiser(r.trace))

            def held() -> None:
                self._value(r.value, depth + 3)
                e.build("list", 1)

            e.call(lambda: e.load_const(raising), [held])
        else:
            self._value(r.value, depth + 1)
            e.instr("RAISE_VARARGS", 1)
        e.line = line
        e.out.append(TryEnd(begin))
        e.label(handler)
        e.instr("PUSH_EXC_INFO")
        if r.context is not None:  # what it was raised in need not be handled any more
            context = lambda: self._value(r.context, depth + 6)
            e.call(lambda: e.load_const(CONTEXT.__set__), [lambda: e.instr("COPY", 3), context])
            e.pop()
        e.pop()

    # ------------------------------------------------------------------------------------- recipes
    def _value(self, r: Any, depth: int = 1) -> None:
        """Push the value of a recipe."""
        self.deepest = max(self.deepest, depth)
        _RECIPES[type(r)](self, r, depth)

    def _output(self, r: o.Output, depth: int) -> None:
        self.e.instr("LOAD_FAST", GRAPH)
        self.e.load_const(r.index)
        self.e.subscript()

    def _temp(self, r: o.Temp, depth: int) -> None:
        self.e.instr("LOAD_FAST", f"{TEMP}{r.index}")

    def _build(self, r: o.Build, depth: int) -> None:
        n = len(r.items)
        if r.kind == "slice":
            # None for a missing bound is an item like any other.
            for i, item in enumerate(r.items):
                self._value(item, depth + i)
            self.e.instr("BUILD_SLICE", n)
            return
        for i, item in enumerate(r.items):
            self._value(item, depth + i)
        self.e.build(r.kind, n // 2 if r.kind == "dict" else n)

    def _call(self, r: o.Call, depth: int) -> None:
        at = depth + 2
        args: list[Callable[[], Any]] = []
        for i, a in enumerate(r.args):
            args.append(lambda a=a, i=i: self._value(a, at + i))
        at += len(args)
        kwargs = [(name, lambda a=a, i=i: self._value(a, at + i)) for i, (name, a) in enumerate(r.kwargs)]
        self.deepest = max(self.deepest, at + len(kwargs) + 1)
        self.e.call(lambda: self._value(r.function, depth + 1), args, kwargs)

    def _get_attr(self, r: o.GetAttr, depth: int) -> None:
        self._value(r.object, depth)
        self.e.load_attr(r.name)

    def _get_item(self, r: o.GetItem, depth: int) -> None:
        self._value(r.object, depth)
        self._value(r.key, depth + 1)
        self.e.subscript()

    # ---------------------------------------------------------------------------------- statements
    def _statement(self, s: Any) -> None:
        _STATEMENTS[type(s)](self, s)

    def _assign(self, s: o.Assign) -> None:
        name = f"{TEMP}{s.temp}"
        self._value(s.value)
        self.e.instr("STORE_FAST", name)
        self.temps[name] = None

    def _do(self, s: o.Do) -> None:
        self._value(s.value)
        self.e.pop()

    def _set_attr(self, s: o.SetAttr) -> None:
        self._value(s.value)
        self._value(s.object, 2)
        self.e.store_attr(s.name)

    def _del_attr(self, s: o.DelAttr) -> None:
        self._value(s.object)
        self.e.delete_attr(s.name)

    def _set_item(self, s: o.SetItem) -> None:
        self._value(s.value)
        self._value(s.object, 2)
        self._value(s.key, 3)
        self.e.store_subscript()

    def _set_global(self, s: o.SetGlobal) -> None:
        self._value(s.value)
        self.e.store_global(s.name)

    def _del_global(self, s: o.DelGlobal) -> None:
        self.e.delete_global(s.name)

    def _set_cell(self, s: o.SetCell) -> None:
        if s.value is None:
            # Deleting needs a value to delete: the cell may be empty already.
            self.e.load_const(None)
            self.e.store_deref(s.name)
            self.e.delete_deref(s.name)
            return
        self._value(s.value)
        self.e.store_deref(s.name)


_RECIPES: dict[type, Callable] = {
    o.Load: lambda w, r, depth: r.source.emit(w.e),
    o.Output: FrameWriter._output,
    o.Temp: FrameWriter._temp,
    o.Const: lambda w, r, depth: w.e.load_const(r.value),
    o.Cell: lambda w, r, depth: w.e.load_cell(r.name),
    o.Build: FrameWriter._build,
    o.Call: FrameWriter._call,
    o.GetAttr: FrameWriter._get_attr,
    o.GetItem: FrameWriter._get_item,
    o.Null: lambda w, r, depth: w.e.push_null(),
}
_STATEMENTS: dict[type, Callable] = {
    o.Assign: FrameWriter._assign,
    o.Do: FrameWriter._do,
    o.SetAttr: FrameWriter._set_attr,
    o.DelAttr: FrameWriter._del_attr,
    o.SetItem: FrameWriter._set_item,
    o.SetGlobal: FrameWriter._set_global,
    o.DelGlobal: FrameWriter._del_global,
    o.SetCell: FrameWriter._set_cell,
}
