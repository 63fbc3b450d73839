"""operator.itemgetter, attrgetter and methodcaller: callables that remember what they get."""

from __future__ import annotations

import _operator as operator

from dynamo import breaks, outcome, polyfills
from dynamo.breaks import Unsupported
from dynamo.variables.base import TrueVariable, Variable
from dynamo.variables.construct import CLASSES
from dynamo.variables.function import FunctionVariable


class GetterVariable(TrueVariable):
    """cls(*args, **kwargs)"""

    __slots__ = ("cls", "args", "kwargs")

    def __init__(self, cls: type, args: list[Variable], kwargs: dict[str, Variable]):
        super().__init__()
        self.cls = cls
        self.args = args
        self.kwargs = kwargs

    def python_type(self):
        return self.cls

    def call(self, frame, args, kwargs):
        if len(args) != 1 or kwargs:
            raise Unsupported(breaks.UNKNOWN_CALL, f"an {self.cls.__name__} with these arguments")
        return FunctionVariable(polyfills.GETTERS[self.cls]).call(frame, [args[0], *self.args], self.kwargs)

    def recipe(self, emit):
        def make():
            args = tuple(emit.value(a) for a in self.args)
            return outcome.Call(outcome.Const(self.cls), args, tuple((k, emit.value(v)) for k, v in self.kwargs.items()))

        return emit.shared(self, make)


def getters(cls: type):
    names = {operator.itemgetter: 0, operator.attrgetter: None, operator.methodcaller: 1}[cls]

    def rule(frame, args, kwargs):
        known = args and not (kwargs and cls is not operator.methodcaller)
        if not known or not all(a.is_constant() and type(a.as_python()) is str for a in args[:names]):
            raise Unsupported(breaks.UNKNOWN_CALL, f"{cls.__name__} with these arguments")
        return GetterVariable(cls, list(args), dict(kwargs))

    return rule


for _cls in polyfills.GETTERS:
    CLASSES[_cls] = getters(_cls)
