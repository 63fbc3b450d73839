"""Exceptions of the traced program, and the bridge from exceptions that run while tracing."""

from __future__ import annotations

from dynamo import outcome
from dynamo.graph_break import NotConstant, Raised, Unsupported
from dynamo.variables.base import Variable


class ExceptionVariable(Variable):
    """An exception object: its class and arguments. Attributes set on it are kept here."""

    __slots__ = ("cls", "args", "attributes")

    def __init__(self, cls: type, args: list[Variable], source=None):
        super().__init__(source)
        self.cls = cls
        self.args = args
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
        if name in ("__cause__", "__context__", "__traceback__"):
            return NONE
        if name == "__class__":
            from dynamo.variables.object import ClassVariable

            return ClassVariable(self.cls)
        if name == "value" and issubclass(self.cls, StopIteration):
            return self.args[0] if self.args else NONE
        from dynamo.variables.object import class_attribute

        return class_attribute(frame, self, self.cls, name)

    def setattr(self, frame, name, value):
        self.attributes[name] = value

    def truth(self, frame):
        return True

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
            for name, value in self.attributes.items():
                emit.after(outcome.SetAttr(temp, name, emit.value(value)))

        return emit.shared(self, make, fill)

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
