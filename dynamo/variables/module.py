"""nn.Module: an ordinary object, with short cuts for its `__getattr__`, `__setattr__` and `__call__`."""

from __future__ import annotations

import sys
import types
from typing import Any

from dynamo import guards
from dynamo.source import Attr, Item
from dynamo.variables.base import Variable
from dynamo.variables.constant import ConstantVariable
from dynamo.variables.mapping import MISSING, DictVariable
from dynamo.variables.object import ObjectVariable, lookup

STORES = ("_parameters", "_buffers", "_modules")
HOOKS = ("_forward_pre_hooks", "_forward_hooks", "_backward_hooks", "_backward_pre_hooks")


def module_class() -> type | None:
    """weft.nn.Module, if it was imported."""
    found = sys.modules.get("weft.nn.module")
    return None if found is None else getattr(found, "Module", None)


def is_module(value: Any) -> bool:
    cls = module_class()
    return cls is not None and isinstance(value, cls)


class ModuleObject(ObjectVariable):
    """A module from outside."""

    __slots__ = ()

    def inherits(self, name: str) -> bool:
        """Whether the class leaves this method as nn.Module has it."""
        cls = module_class()
        return cls is not None and lookup(self.cls, name) is cls.__dict__[name]

    def store(self, frame, name: str) -> dict | DictVariable | None:
        """`_parameters`, `_buffers` or `_modules`: the real dict while nothing was traced through it."""
        if frame.output.side_effects.attribute(self, name) is not None:
            value = self.own_attribute(frame, name)
            return value if isinstance(value, DictVariable) else None
        real = self.instance_dict().get(name)
        known = frame.output.by_id.get(id(real))
        return known if isinstance(known, DictVariable) else real

    def missing_attribute(self, frame, name):
        if self.value is not None and self.inherits("__getattr__"):
            found = self.stored(frame, name)
            if found is not None:
                return found
        return super().missing_attribute(frame, name)

    def stored(self, frame, name: str) -> Variable | None:
        """A parameter, buffer or sub-module."""
        from dynamo.variables import track

        for where in STORES:
            values = self.store(frame, where)
            if isinstance(values, DictVariable):
                found = values.lookup(frame, ConstantVariable(name))
                if found is not MISSING:
                    return found
            elif values and name in values:
                return track.wrap(frame, values[name], Item(Attr(self.source, where), name))
        return None

    def setattr(self, frame, name, value):
        from dynamo.variables.constant import NONE
        from dynamo.variables.tensor import TensorVariable

        if self.value is None or not self.inherits("__setattr__"):
            super().setattr(frame, name, value)
            return
        buffers = self.store(frame, "_buffers")
        is_buffer = name in (buffers if isinstance(buffers, dict) else {k.as_python() for k in buffers.unpack(frame)})
        if is_buffer and (isinstance(value, TensorVariable) or value.is_same(NONE)):
            self.own_attribute(frame, "_buffers").setitem(frame, ConstantVariable(name), value)
        elif self.stored(frame, name) is None and not self.registers(value):
            self.generic_setattr(frame, name, value)
        else:
            super().setattr(frame, name, value)

    def registers(self, value: Variable) -> bool:
        """Whether assigning the value files it as a parameter or sub-module."""
        import aten

        cls = value.python_type()
        return issubclass(cls, aten.Parameter) or issubclass(cls, module_class() or ())

    def call(self, frame, args, kwargs):
        if self.value is None or not self.inherits("__call__") or any(self.value.__dict__[h] for h in HOOKS):
            return super().call(frame, args, kwargs)
        for hooks in HOOKS:
            frame.output.guard(guards.LengthIs(Attr(self.source, hooks), 0))
        forward = lookup(self.cls, "forward")
        if isinstance(forward, types.FunctionType) and "forward" not in self.value.__dict__:
            frame.output.guard_lacks_instance_attribute(self.source, "forward")
            return self.special(frame, "forward").call(frame, args, kwargs)
        return self.getattr(frame, "forward").call(frame, args, kwargs)
