"""str(), repr() and format() of values that are known while tracing."""

from __future__ import annotations

from dynamo.graph_break import NotConstant
from dynamo.variables.base import Variable
from dynamo.variables.constant import ConstantVariable
from dynamo.variables.exception import ExceptionVariable, run_python
from dynamo.variables.mapping import DictVariable, SetVariable
from dynamo.variables.object import ObjectVariable
from dynamo.variables.sequence import ListVariable, SizeVariable, TupleVariable
from dynamo.variables.symint import SymbolicVariable


def text(frame, value: Variable, function=str) -> str:
    """function(value) for str, repr or ascii; a symbolic size is read and guarded."""
    if isinstance(value, ObjectVariable):
        method = (function is str and value.special(frame, "__str__")) or value.special(frame, "__repr__")
        if method:
            return method.call(frame, [], {}).as_python()
        raise value.unsupported(f"{function.__name__}()")
    if isinstance(value, ExceptionVariable):
        real = [as_python(frame, a) for a in value.args]
        return run_python(frame, function, value.cls(*real))
    return run_python(frame, function, as_python(frame, value))


def formatted(frame, value: Variable, spec: str) -> str:
    """format(value, spec)."""
    if isinstance(value, ObjectVariable) and value.special(frame, "__format__") is None:
        return format(text(frame, value), spec)
    if isinstance(value, ObjectVariable):
        return value.special(frame, "__format__").call(frame, [ConstantVariable(spec)], {}).as_python()
    if isinstance(value, ExceptionVariable):
        return format(text(frame, value), spec)
    return run_python(frame, format, as_python(frame, value), spec)


def as_python(frame, value: Variable):
    """A Python object whose text is that of the value at run time."""
    if isinstance(value, SymbolicVariable):
        return value.specialize()
    if isinstance(value, (ListVariable, SizeVariable)) or type(value) is TupleVariable:
        return value.cls([as_python(frame, v) for v in value.unpack(frame)])
    if isinstance(value, DictVariable):
        return value.cls((as_python(frame, k), as_python(frame, v)) for k, v in value.pairs(frame))
    if isinstance(value, SetVariable) and len(value.entries) == 1:
        return value.python_type()(as_python(frame, v) for v in value.unpack(frame))
    try:
        return value.as_python()
    except NotConstant:
        raise value.unsupported("the text") from None
