"""super()."""

from __future__ import annotations

from dynamo.variables.base import Variable
from dynamo.variables.constant import NONE, literal
from dynamo.variables.exception import ExceptionVariable, raise_exception
from dynamo.variables.function import FunctionVariable, MethodVariable
from dynamo.variables.object import C_DESCRIPTORS, ClassVariable, ObjectVariable, bind_raw


class SuperVariable(Variable):
    """super(cls, obj)."""

    __slots__ = ("start", "object")

    def __init__(self, start: Variable, object: Variable):
        super().__init__()
        self.start = start
        self.object = object

    def python_type(self):
        return super

    def getattr(self, frame, name):
        start = self.start.as_python()
        is_class = isinstance(self.object, ClassVariable)
        cls = self.object.value if is_class else self.object.python_type()
        if is_class and start not in cls.__mro__:  # super() in a method of the metaclass
            return self.of_metaclass(frame, start, name)
        mro = cls.__mro__
        for c in mro[mro.index(start) + 1 :]:
            if name in c.__dict__:
                return self.bound(frame, c.__dict__[name], c, cls, name)
        raise raise_exception(frame, AttributeError, f"'super' object has no attribute '{name}'")

    def of_metaclass(self, frame, start: type, name: str) -> Variable:
        """An attribute of the class as an instance of its metaclass."""
        from dynamo.variables.construct import construct_plain
        from dynamo.variables.function import CallableVariable

        meta = type(self.object.as_python())
        for c in meta.__mro__[meta.__mro__.index(start) + 1 :]:
            raw = c.__dict__.get(name)
            if raw is type.__call__:
                return CallableVariable(raw, lambda f, args, kwargs: construct_plain(f, self.object, args, kwargs))
            if raw is not None:
                return bind_raw(frame, raw, self.object, c, name)
        raise raise_exception(frame, AttributeError, f"'super' object has no attribute '{name}'")

    def bound(self, frame, raw, found_on: type, cls: type, name: str) -> Variable:
        obj = self.object
        if isinstance(obj, ClassVariable):
            if isinstance(raw, staticmethod) or name == "__new__":
                inner = raw.__func__ if isinstance(raw, staticmethod) else raw
                return literal(frame, inner)
            if isinstance(raw, classmethod):
                return MethodVariable(FunctionVariable(raw.__func__), obj)
            return literal(frame, raw)
        if isinstance(raw, C_DESCRIPTORS):
            return NativeSuper(obj, name)
        return bind_raw(frame, raw, obj, found_on, name)


class NativeSuper(Variable):
    """super().name where a class written in C has the method."""

    __slots__ = ("object", "name")

    def __init__(self, object: Variable, name: str):
        super().__init__()
        self.object = object
        self.name = name

    def call(self, frame, args, kwargs):
        obj = self.object
        if isinstance(obj, ObjectVariable):
            return obj.native_method(frame, self.name, args, kwargs)
        if isinstance(obj, ExceptionVariable) and self.name == "__init__":
            obj.args = list(args)
            return NONE
        if isinstance(obj, ExceptionVariable) and self.name == "__setattr__":
            obj.attributes[args[0].as_python()] = args[1]
            return NONE
        return obj.method(frame, self.name, args, kwargs)
