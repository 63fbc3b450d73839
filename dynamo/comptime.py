"""`comptime`: functions of the user's that run while the code around them is compiled, and look at what is known there."""

from __future__ import annotations

import sys
import time
import types
from collections.abc import Callable
from typing import Any, TextIO

from aten.meta import Meta
from aten.transforms.tracer import Level
from dynamo import breaks, trace_rules
from dynamo.breaks import NotConstant, Unsupported
from dynamo.variables.base import NULL
from dynamo.variables.constant import NONE
from dynamo.variables.function import ClosureVariable


class ComptimeVar:
    """A value of the compiled program, as far as it is known while compiling."""

    def __init__(self, frame: Any, variable: Any):
        self._frame = frame
        self._variable = variable.realize(frame)

    def is_proxy(self) -> bool:
        """Whether it is a tensor or number of the graph."""
        return getattr(self._variable, "node", None) is not None

    def as_proxy(self) -> Any:
        """An fx.Proxy of it; a constant as it is, lists and tuples with Proxies in them. What is done with a Proxy is recorded in
        the graph, as if the program did it here. Raises NotConstant for what is neither a constant nor of the graph.
        """
        from dynamo.comptime_proxy import Recorder  # here: few look at a graph in this way

        return Recorder(self._frame).proxy_of(self._variable)

    def as_fake(self) -> Any:
        """A tensor without data, of the dtype, device, sizes and strides that are known."""
        meta = self._variable.as_meta()
        return Level().make(None, meta) if type(meta) is Meta else meta

    def size(self, dim: int | None = None) -> Any:
        """The size of a tensor at `dim`, all of them for None: ints and symbols."""
        sizes = self._variable.as_meta().sizes
        return sizes if dim is None else sizes[dim]

    def python_type(self) -> type:
        """The class that the value has at run time."""
        return self._variable.python_type()

    def is_python(self) -> bool:
        """Whether it is a constant."""
        return self._variable.is_constant()

    def as_python_constant(self) -> Any:
        """The constant. Raises NotConstant for what is known only at run time."""
        return self._variable.as_python()

    def is_dynamic(self) -> bool:
        """Whether it is a symbol: a size or number that differs between calls of the same graph."""
        return self.is_symbolic(self._variable)

    @staticmethod
    def is_symbolic(variable: Any) -> bool:
        try:
            return hasattr(variable.as_meta(), "expr")
        except NotConstant:
            return False

    def force_static(self) -> None:
        """Make a symbol a constant: the graph is for this value only."""
        if self.is_dynamic():
            int(self._variable.as_meta())

    def __repr__(self) -> str:
        try:
            return repr(self._variable.as_python())
        except NotConstant:
            pass
        try:
            return str(self._variable.as_meta())
        except NotConstant:
            return self._variable.describe()


class ComptimeContext:
    """What a comptime function is given: the frame that is being compiled."""

    def __init__(self, frame: Any):
        self._frame = frame

    def _at(self, stacklevel: int) -> Any:
        frame = self._frame
        for _ in range(stacklevel):
            if frame.parent is None:
                raise IndexError(f"the inlined call has no caller at stacklevel {stacklevel}")
            frame = frame.parent
        return frame

    def parent(self) -> ComptimeContext:
        """The context of the call that the frame was inlined into."""
        return ComptimeContext(self._at(1))

    def get_local(self, name: str, *, stacklevel: int = 0) -> ComptimeVar:
        """The local variable of that name. Raises KeyError if there is none."""
        frame = self._at(stacklevel)
        value = frame.locals[name]
        if hasattr(value, "content"):  # a cell
            value = value.load(frame)
        return ComptimeVar(frame, value)

    def graph(self) -> Any:
        """The graph so far."""
        return self._frame.output.graph

    def graph_break(self, msg: str = "comptime.graph_break") -> None:
        """End the graph here."""
        raise Unsupported(breaks.ASKED_FOR, msg)

    def assert_static(self, value: ComptimeVar) -> None:
        """Raises AssertionError if the value is a symbol."""
        assert not value.is_dynamic(), f"expected static but got dynamic: {value!r}"

    def print(self, value: Any, *, file: TextIO | None = None) -> None:
        """Print what is known of a value."""
        print(repr(value), file=file or sys.stdout)

    def print_graph(self, *, verbose: bool = True, file: TextIO | None = None) -> None:
        """Print the graph so far. verbose: with types and the user's lines."""
        graph = self.graph()
        print(str(graph) if verbose else "\n".join(map(str, graph.nodes)), file=file or sys.stdout)

    def print_disas(self, *, file: TextIO | None = None, stacklevel: int = 0) -> None:
        """Print the bytecode of the frame, with an arrow at the instruction being compiled."""
        import dis

        frame = self._at(stacklevel)
        for inst in dis.get_instructions(frame.code):
            arrow = "-->" if inst.offset == frame.current.offset else "   "
            print(f"{arrow} +{inst.offset:<4} {inst.opname:<24} {inst.argrepr}", file=file or sys.stdout)

    def print_value_stack(self, *, file: TextIO | None = None, stacklevel: int = 0) -> None:
        """Print what is known of the values on the stack."""
        frame = self._at(stacklevel)
        for value in frame.stack:
            if value is not NULL:
                print(f"- {ComptimeVar(frame, value)!r}", file=file or sys.stdout)

    def print_locals(self, *, file: TextIO | None = None, stacklevel: int = 0) -> None:
        """Print what is known of the local variables."""
        frame = self._at(stacklevel)
        for name in frame.locals:
            print(f"{name} = {self.get_local(name, stacklevel=stacklevel)!r}", file=file or sys.stdout)

    def print_bt(self, *, file: TextIO | None = None, stacklevel: int = 0) -> None:
        """Print the traced calls that lead here, outermost first."""
        lines, frame = [], self._at(stacklevel)
        while frame is not None:
            lines.append(f'  File "{frame.code.co_filename}", line {frame.current.line}, in {frame.code.co_name}')
            frame = frame.parent
        print("\n".join(reversed(lines)), file=file or sys.stdout)

    def print_guards(self, *, file: TextIO | None = None) -> None:
        """Print the guards so far."""
        print("\n".join(map(str, self._frame.output.guards)), file=file or sys.stdout)


class Comptime:
    """`@comptime def _(ctx): …` in compiled code runs the function while compiling; elsewhere it does nothing.

    The methods are those of ComptimeContext that need no function of one's own.
    """

    def __call__(self, fn: Callable, fallback_fn: Callable = lambda: None) -> Any:
        """fn(ctx) while compiling; fallback_fn() where nothing is compiled."""
        return fallback_fn()

    def graph_break(self) -> None:
        """End the graph here."""

    def print(self, e: Any) -> None:
        """Print what is known of a value while compiling; the value where nothing is compiled."""
        print(e)

    def print_graph(self) -> None:
        """Print the graph so far."""

    def print_disas(self) -> None:
        """Print the bytecode, with an arrow at the instruction being compiled."""

    def print_value_stack(self) -> None:
        """Print what is known of the values on the stack."""

    def print_value_stack_and_return(self, e: Any) -> Any:
        """The same in the middle of an expression: returns e."""
        return e

    def print_locals(self) -> None:
        """Print what is known of the local variables."""

    def print_bt(self) -> None:
        """Print the traced calls that lead here."""

    def print_guards(self) -> None:
        """Print the guards so far."""

    def assert_static(self, e: Any) -> None:
        """Raises AssertionError if a size or number is a symbol."""

    def force_static(self, e: Any) -> None:
        """Make a symbol a constant."""

    def sleep(self, sec: float) -> None:
        """Wait that many seconds while compiling."""


comptime = Comptime()


@trace_rules.handle(Comptime.__call__, comptime)
def _run(frame: Any, args: list, kwargs: dict) -> Any:
    given = [a for a in args if not (a.is_constant() and a.as_python() is comptime)]
    given[0].realize(frame)
    _python_function(given[0].realize(frame))(ComptimeContext(frame))
    return NONE


def _python_function(variable: Any) -> Callable:
    """The function itself; one defined in compiled code is made, if it has no free variables."""
    if not isinstance(variable, ClosureVariable):
        return variable.as_python()
    if variable.cell_list:
        raise Unsupported(breaks.NOT_CONSTANT, "a comptime function with free variables")
    defaults = tuple(v.as_python() for v in variable.default_values)
    return types.FunctionType(variable.code, variable.globals, None, defaults or None)


def _context_method(name: str) -> None:
    @trace_rules.handle(Comptime.__dict__[name])
    def rule(frame: Any, args: list, kwargs: dict) -> Any:
        values = [ComptimeVar(frame, a) for a in (*args[1:], *kwargs.values())]
        getattr(ComptimeContext(frame), name)(*values)
        return NONE


for _name in "graph_break print print_graph print_disas print_value_stack print_locals print_bt print_guards assert_static".split():
    _context_method(_name)


@trace_rules.handle(Comptime.print_value_stack_and_return)
def _print_stack(frame: Any, args: list, kwargs: dict) -> Any:
    ComptimeContext(frame).print_value_stack()
    return args[1]


@trace_rules.handle(Comptime.force_static)
def _force_static(frame: Any, args: list, kwargs: dict) -> Any:
    ComptimeVar(frame, args[1]).force_static()
    return NONE


@trace_rules.handle(Comptime.sleep)
def _sleep(frame: Any, args: list, kwargs: dict) -> Any:
    time.sleep(args[1].as_python())
    return NONE
