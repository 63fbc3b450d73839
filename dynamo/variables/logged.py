"""Calls that only tell somebody something: put behind the graph (`config.reorderable_logging_functions`), or left out
(`config.ignore_logger_methods`)."""

from __future__ import annotations

import types
import warnings
from typing import Any

from aten import errors
from aten.op import registry
from aten.scalar.unpatched import functools
from dynamo import breaks, config, history, outcome, trace_rules
from dynamo.breaks import Unsupported
from dynamo.variables import text as texts
from dynamo.variables.base import Variable
from dynamo.variables.constant import FALSE, NONE, ConstantVariable
from dynamo.variables.sequence import SizeVariable, TupleVariable
from dynamo.variables.symint import SymbolicVariable
from dynamo.variables.tensor import TensorVariable


class LoggedCall:
    """A call that is made behind the graph, in order with all that the program does to objects from outside. `copies` has the
    tensors among its arguments, each beside a copy as of the call: what is written behind the call is not shown by it."""

    source = None
    comes_from_outside = True

    def __init__(
        self,
        function: Any,
        args: list[Variable],
        kwargs: dict[str, Variable],
        copies: dict[TensorVariable, TensorVariable] | None = None,
    ):
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.copies = copies or {}

    def replay(self, emit) -> None:
        for tensor, copy in list(self.copies.items()):
            if not history.written_behind(copy.node, tensor.node):
                del self.copies[tensor]
                if not copy.node.users:
                    emit.output.graph.erase_node(copy.node)
        args = tuple(self.recipe(emit, a) for a in self.args)
        kwargs = tuple((k, self.recipe(emit, v)) for k, v in self.kwargs.items())
        emit.after(outcome.Do(outcome.Call(outcome.Const(self.function), args, kwargs)))

    def recipe(self, emit, value: Variable) -> Any:
        if type(value) is TupleVariable:
            return outcome.Build("tuple", tuple(self.recipe(emit, item.realize(emit.output.current)) for item in value.items))
        if isinstance(value, DelayedText):
            return value.recipe(emit, self.recipe)
        return emit.value(self.copies.get(value, value) if isinstance(value, TensorVariable) else value)


class DelayedText(Variable):
    """The text of values that are known once the graph has run: of strings and (value, format) pairs."""

    __slots__ = ("parts",)

    def __init__(self, parts: list):
        super().__init__()
        self.parts = parts

    def python_type(self):
        return str

    def recipe(self, emit, of=None):
        """`of(emit, value)` gives the recipes of what it is the text of."""
        parts = [self.part(emit, p, of) for p in self.parts]
        return outcome.Call(outcome.Const("".join), (outcome.Build("list", tuple(parts)),))

    @staticmethod
    def part(emit, part: Any, of: Any) -> Any:
        if isinstance(part, str):
            return outcome.Const(part)
        value, convert, spec = part
        made = emit.value(value) if of is None else of(emit, value)
        if convert is not None:
            made = outcome.Call(outcome.Const(convert), (made,))
        return outcome.Call(outcome.Const(format), (made, outcome.Const(spec)))


class SizeText(DelayedText):
    """The text of sizes that differ between calls. Where the program looks at it, it is that of this call, and guarded; where it
    is only handed on, it is made at run time."""

    __slots__ = ("output",)
    moves_unread = True

    def __init__(self, parts: list, output: Any):
        super().__init__(parts)
        self.output = output

    def realize(self, frame):
        return ConstantVariable(self.as_python())

    def as_python(self):
        return "".join([part if isinstance(part, str) else self._now(*part) for part in self.parts])

    def _now(self, value: Variable, convert: Any, spec: str) -> str:
        frame = self.output.current
        if convert is not None:
            value = ConstantVariable(texts.text(frame, value, convert))
        return texts.formatted(frame, value, spec)


def delayed_text(frame: Any, value: Variable, convert: Any, spec: str) -> DelayedText | None:
    """format(convert(value), spec) if that is made at run time: of a tensor, where calls are put behind the graph that may want
    it, or of sizes. Else None."""
    if config.reorderable_logging_functions and (hasattr(value, "node") or type(value) is DelayedText):
        return DelayedText([(value, convert, spec)])
    sizes = value.unpack(frame) if type(value) is SizeVariable else [value]
    if any(isinstance(size, SymbolicVariable) for size in sizes) and is_any_number_shown(value, convert, spec):
        return SizeText([(value, convert, spec)], frame.output)
    return None


def is_any_number_shown(value: Variable, convert: Any, spec: str) -> bool:
    """Whether format() takes the format whatever the number is: what it refuses is refused in the line of the program."""
    if not spec:
        return True
    if type(value) is SizeVariable or spec.endswith("c"):
        return convert is not None
    try:
        format("" if convert is not None else value.python_type()(1), spec)
    except (ValueError, TypeError):
        return False
    return True


def joined(parts: list[Variable]) -> Variable:
    """"".join(parts), where some are delayed."""
    delayed = [p for p in parts if isinstance(p, DelayedText)]
    if not delayed:
        return ConstantVariable("".join(p.as_python() for p in parts))
    found = [x for p in parts for x in (p.parts if isinstance(p, DelayedText) else [p.as_python()])]
    of_sizes = [p for p in delayed if isinstance(p, SizeText)]
    return SizeText(found, of_sizes[0].output) if len(of_sizes) == len(delayed) else DelayedText(found)


def logged(frame, function: Any, args: list[Variable], kwargs: dict[str, Variable]) -> Variable | None:
    """The rule of a call of `function` if a setting names it, else None."""
    if config.reorderable_logging_functions and is_one_of(function, config.reorderable_logging_functions):
        return put_behind(frame, function, [a.realize(frame) for a in args], {k: v.realize(frame) for k, v in kwargs.items()})
    if config.ignore_logger_methods and is_one_of(function, config.ignore_logger_methods):
        return NONE
    if function is warnings.warn and frame.globals.get("__name__", "").partition(".")[0] in ("weft", "aten"):
        return own_warning(frame, *args, **kwargs)
    if function is errors.warn_caller:
        return callers_warning(frame, *args, **kwargs)
    if function is errors.warn_once and "about" not in kwargs:
        return own_warning(frame, *args, **kwargs, once=True)
    return None


def put_behind(frame, function: Any, args: list[Variable], kwargs: dict[str, Variable]) -> Variable:
    """The call, made behind the graph with its arguments as they are now. A break where one may change until then."""
    copies: dict[TensorVariable, TensorVariable] = {}
    waiting = [*args, *kwargs.values()]
    while waiting:
        value = waiting.pop()
        if type(value) is TupleVariable:
            waiting += [item.realize(frame) for item in value.items]
        elif isinstance(value, DelayedText):
            waiting += [part[0] for part in value.parts if not isinstance(part, str)]
        elif isinstance(value, TensorVariable):
            if value not in copies:
                copies[value] = frame.output.record(frame, registry["clone"], [value], {})
        elif not (value.is_constant() or isinstance(value, (SizeVariable, SymbolicVariable))):
            name = trace_rules.name_of(function)
            raise Unsupported(breaks.OUTSIDE_WORLD, f"{name} is put behind the graph, and {value.describe()} may change until then")
    frame.output.side_effects.dirty[LoggedCall(function, args, kwargs, copies)] = None
    return NONE


def own_warning(
    frame, message: Variable, category: Variable | None = None, stacklevel: Variable | None = None, once: bool = False
) -> Variable | None:
    """The rule of a warning of weft's own: behind the graph, as of the line that Python would name. None where that is beyond
    what is captured, or the text is not known. `once` is `warn_once`, whose own frame is the first level."""
    kind = UserWarning if category is None else getattr(category.realize(frame), "value", None)
    level = ConstantVariable(3 if once else 1) if stacklevel is None else stacklevel.realize(frame)
    message = message.realize(frame)
    if not all(isinstance(v, ConstantVariable) for v in (message, level)) or not isinstance(kind, type):
        return None
    for _ in range(level.as_python() - (2 if once else 1)):
        frame = frame.parent
        if frame is None:
            return None
    place = frame.code.co_filename, frame.current.line, frame.globals
    warn = functools.partial(warn_of, message.as_python(), kind, *place)
    call = LoggedCall(functools.partial(errors.say_once, message.as_python(), warn) if once else warn, [], {})
    frame.output.side_effects.dirty[call] = None
    return NONE


def warn_of(message: str, category: type[Warning], filename: str, line: int, globals: dict) -> None:
    """What warnings.warn does in code at this line."""
    registry = globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(message, category, filename, line, globals.get("__name__"), registry)


def callers_warning(frame, text: Variable, category: Variable | None = None, once: Variable = FALSE) -> Variable | None:
    """The rule of `warn_caller`. None where the text is not known."""
    given = [v.realize(frame) for v in (text, category or ConstantVariable(None), once)]
    if not isinstance(given[0], ConstantVariable):
        return None
    kind = getattr(given[1], "value", None) or UserWarning
    tell_behind(frame, given[0].as_python(), kind, given[2].as_python())
    return NONE


def heard_while_captured(rule: types.FrameType, text: str, category: type[Warning], once: bool) -> bool:
    """A warning that the shape rule of an op gives while the op is captured (`rule`: the frame of `result_of`): the captured
    program gives it, in the line of the program."""
    output, frame = rule.f_locals["output"], rule.f_locals["frame"]
    same = len(output.graph.nodes), text  # (a rule may run twice for an op)
    if output.heard != same:
        output.heard = same
        tell_behind(frame, text, category, once)
    return True


def tell_behind(frame, text: str, category: type[Warning] = UserWarning, once: bool = False) -> None:
    """A warning behind the graph, of the line of the program that is traced."""
    while frame.parent is not None and errors.is_ours(frame.globals, frame.code):
        frame = frame.parent
    warn = functools.partial(warn_of, text, category, frame.code.co_filename, frame.current.line, frame.globals)
    call = LoggedCall(functools.partial(errors.say_once, text, warn) if once else warn, [], {})
    frame.output.side_effects.dirty[call] = None


def is_one_of(function: Any, functions: set) -> bool:
    return any(f is function for f in functions)


def ignored_method(function: Any, owner: Any) -> bool:
    """Whether a setting names the method of this very object."""
    return any(
        getattr(f, "__func__", None) is function and getattr(f, "__self__", None) is owner for f in config.ignore_logger_methods
    )
