"""Exceptions of the traced program, and the bridge from exceptions that run while tracing."""

from __future__ import annotations

from dynamo import graph_break, outcome
from dynamo.graph_break import NotConstant, Raised, Unsupported
from dynamo.variables.base import TrueVariable, Variable


class ExceptionVariable(TrueVariable):
    """An exception object: its class and arguments. Attributes set on it are kept here."""

    __slots__ = ("cls", "args", "attributes", "context", "trace", "line", "raised")

    def __init__(self, cls: type, args: list[Variable], source=None):
        super().__init__(source)
        self.cls = cls
        self.args = args
        self.context: Variable | None = None  # what was being handled when it was raised, if that is known
        self.trace: list[tuple] = []  # the inlined calls it came through, as reraise.Step, innermost first
        self.line: int | None = None  # and the line of the root frame
        self.raised = False  # while tracing; one from outside may only be raised again, as it is
        self.attributes: dict[str, Variable] = {}

    def python_type(self):
        return self.cls

    def describe(self):
        return f"an exception {self.cls.__name__}({', '.join(_text(a) for a in self.args)})"

    def getattr(self, frame, name):
        from dynamo.variables.constant import NONE
        from dynamo.variables.sequence import TupleVariable

        if name in self.attributes:
            return self.attributes[name]
        if name == "args":
            return TupleVariable(list(self.args))
        if self.source is not None and name not in ("args", "__class__", "with_traceback"):
            raise Unsupported(graph_break.RUNNING_EXCEPTION, name)
        if name == "__cause__":
            return NONE
        if name == "__context__" and self.context is not None:
            return self.context
        if name in ("__context__", "__traceback__"):
            from dynamo import trace_rules

            if not trace_rules.is_library_name(str(frame.globals.get("__name__"))):
                raise Unsupported(graph_break.RUNNING_EXCEPTION, name)
            return NONE  # contextlib puts them right where they came out wrong
        if name == "__class__":
            from dynamo.variables.object import ClassVariable

            return ClassVariable(self.cls)
        if name == "value" and issubclass(self.cls, StopIteration):
            return self.args[0] if self.args else NONE
        from dynamo.variables.object import class_attribute

        return class_attribute(frame, self, self.cls, name)

    def setattr(self, frame, name, value):
        self.attributes[name] = value

    def method(self, frame, name, args, kwargs):
        if name == "with_traceback":
            return self
        return super().method(frame, name, args, kwargs)

    def recipe(self, emit):
        if self.source is not None:
            return emit.load(self.source)

        def make():
            return outcome.Call(outcome.Const(self.cls), tuple(emit.value(a) for a in self.args))

        def fill(temp):
            if self.context is not None:
                emit.after(outcome.SetAttr(temp, "__context__", emit.value(self.context)))
            for name, value in self.attributes.items():
                emit.after(outcome.SetAttr(temp, name, emit.value(value)))

        return emit.shared(self, make, fill)


class CallersException(Variable):
    """What is being handled as the traced frame is called: nothing or an exception of a caller."""

    __slots__ = ()

    def describe(self):
        return "what the caller handles"


CALLERS_EXCEPTION = CallersException()


def being_handled(frame) -> Variable:
    """What `sys.exception()` gives. For libraries, which mend contexts with it, an exception of a caller is none."""
    from dynamo import trace_rules
    from dynamo.variables.constant import NONE

    if frame.handling is not CALLERS_EXCEPTION:
        return frame.handling
    if trace_rules.is_library_name(str(frame.globals.get("__name__"))):
        return NONE
    raise Unsupported(graph_break.RUNNING_EXCEPTION, "sys.exc_info()")


class HandledBefore(Variable):
    """What PUSH_EXC_INFO pushes: the exception that was being handled until then."""

    __slots__ = ("value",)

    def __init__(self, value: Variable):
        super().__init__()
        self.value = value

    def describe(self):
        return "what was handled before an exception"


def _text(value: Variable) -> str:
    try:
        return repr(value.as_python())
    except (NotConstant, Unsupported):
        return value.describe()


def raise_exception(frame, cls: type, *args: str) -> Raised:
    """The Raised of cls(*args), to be raised by the caller."""
    from dynamo.variables.constant import literal

    return Raised(ExceptionVariable(cls, [literal(frame, a) for a in args]))


def run_python(frame, function, *args, **kwargs):
    """function(*args, **kwargs) now, on real values; what it raises is raised by the traced program."""
    try:
        return function(*args, **kwargs)
    except (Raised, Unsupported):
        raise
    except Exception as e:
        raise as_raised(frame, e) from e


def as_raised(frame, e: Exception) -> Raised:
    """The Raised that stands for a real exception."""
    from dynamo.variables.constant import PLAIN, ConstantVariable, literal

    args = [literal(frame, a) if isinstance(a, (*PLAIN, tuple, list)) else ConstantVariable(str(a)) for a in e.args]
    return Raised(ExceptionVariable(type(e), args))


def raises(frame, cls: type, function) -> bool:
    """Whether function() raises `cls` in the traced program."""
    try:
        function()
    except Raised as r:
        if issubclass(r.value.cls, cls):
            return True
        raise
    return False
